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
export function audit({ services, contract }: Interpreter): void {
  for (const { data, channels } of services.values()) {
    for (const { name, epsilon, views } of channels) {
      const [top, bottom] = expBelow(exact(epsilon));
      const pairs = [...new Set(views.map(({ step }) => step))].flatMap(({ domain, weights }) => domain > 1 ? [weights] : []);
      needSafe(pairs.every(([truth, lie]) => truth > lie), "lie-likelier", data.name, name);
      needSafe(pairs.every(([truth, lie]) => truth * bottom <= top * lie), "over-budget", data.name, name, epsilon);
    }
  }
  const total = times(sum([...services.values()].map(spending)), contract.reports ?? 1);
  needSafe(isAtMost(total, exact(contract.epsilon)), "over-total");
}

function needSafe(holds: boolean, rule: string, ...facts: readonly string[]): void {
  if (!holds) throw Object.assign(new PrivacyError("audit-failed", rule, ...facts), { rule });
}
