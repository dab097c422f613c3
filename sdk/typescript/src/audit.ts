/**
 * The client's own audit, before anything is encoded: are the thresholds within the budgets that the contract claims?
 *
 * The worst likelihood ratio of each oracle follows from its integers (the Python package states the argument with
 * each oracle and checks it by enumeration) and is compared, in whole numbers, with a bound below `e**epsilon`. Reports
 * are drawn independently, so a person's losses add up: the channels' budgets must not exceed the contract's.
 */
import { PrivacyError } from "./errors.js";
import { exact, expBelow, type Fraction, isAtMost, sum, times } from "./exact.js";
import type { Interpreter } from "./interpreter.js";

/** Return what a person's reports to a service spend together. */
export function spending(
  { channels, sends = 1 }: { readonly channels: readonly { readonly epsilon: string }[]; readonly sends?: number },
): Fraction {
  return times(sum(channels.map((channel) => exact(channel.epsilon))), sends);
}

/** Refuse a contract whose thresholds give away more than it says. */
export function audit(interpreter: Interpreter): void {
  for (const service of interpreter.services.values()) {
    for (const channel of service.channels) {
      const bound = expBelow(exact(channel.epsilon));
      const where = `${service.name}, ${channel.name}`;
      const telling = new Set(channel.views.map(({ step }) => step).filter(({ domain }) => domain > 1));
      const pairs = [...telling].map((step) => step.weights);
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

function refuse(problem: string, rule: string): never {
  throw new PrivacyError(`The contract fails its audit: ${problem}.`, "audit-failed", rule);
}
