/**
 * The client's own audit, before anything is encoded: are the thresholds within the budgets that the contract claims?
 *
 * The worst likelihood ratio of each oracle follows from its integers (the Python package states the argument with
 * each oracle and checks it by enumeration) and is compared, in whole numbers, with a bound below `e**epsilon`. Reports
 * are drawn independently, so a person's losses add up: the channels' budgets must not exceed the contract's.
 */
import type { Oracle } from "./contract.js";
import { PrivacyError } from "./errors.js";
import { exact, expBelow, type Fraction, isAtMost, sum, times } from "./exact.js";
import type { Interpreter } from "./interpreter.js";
import { BITS } from "./randomness.js";
import { product } from "./whole.js";

/** Return what a person's reports to a service spend together. */
export function spending(
  { channels, sends = 1 }: { readonly channels: readonly { readonly epsilon: string }[]; readonly sends?: number },
): Fraction {
  return times(sum(channels.map((channel) => exact(channel.epsilon))), sends);
}

/** Refuse a contract whose thresholds give away more than it says. */
export function audit(interpreter: Interpreter, bits = BITS): void {
  for (const service of interpreter.services.values()) {
    for (const channel of service.channels) {
      const bound = expBelow(exact(channel.epsilon));
      const where = `${service.name}, ${channel.name}`;
      const different = new Map(channel.views.map(({ oracle, sizes }) => [product(sizes), oracle])); // one for each domain
      different.delete(1); // there is nothing to tell
      const pairs = [...different].map(([domain, oracle]) => weights(oracle, domain, 1n << BigInt(bits)));
      if (pairs.some(([truth, lie]) => truth <= lie)) {
        refuse(`${where}: the truth is no more likely than a lie`, "lie-likelier");
      }
      if (pairs.some(([truth, lie]) => truth * bound.bottom > bound.top * lie)) {
        refuse(`${where}: a code tells more than its budget of ${channel.epsilon}`, "over-budget");
      }
    }
  }
  const total = times(sum([...interpreter.services.values()].map(spending)), interpreter.contract.reports ?? 1);
  if (!isAtMost(total, exact(interpreter.contract.epsilon))) refuse("the reports together exceed the budget", "over-total");
}

/** Return the weights of the best and the worst cell under the most telling code. */
export function weights(
  { oracle, flip, g, inside, outside, one, zero }: Oracle, domain: number, span: bigint,
): [bigint, bigint] {
  switch (oracle) {
    case "ss": return [BigInt(inside!), BigInt(outside!)];
    case "oue": return [BigInt(one!) * (span - BigInt(zero!)), BigInt(zero!) * (span - BigInt(one!))];
    default: return [span - BigInt((oracle === "grr" ? domain : g!) - 1) * BigInt(flip!), BigInt(flip!)];
  }
}

function refuse(problem: string, rule: string): never {
  throw new PrivacyError(`The contract fails its audit: ${problem}.`, "audit-failed", rule);
}
