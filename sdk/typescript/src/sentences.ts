/**
 * Previews in words: what a report reveals, and what anyone can learn about the rest.
 *
 * `tests/vectors/client/sentences.json` fixes the wording; the Python client uses the same.
 */
import { spending } from "./audit.js";
import type { Contract, ServiceData } from "./contract.js";
import { exact, isAtMost, toNumber } from "./exact.js";

/** Return the percentage to which a certainty of 50 % can rise at most, rounded up. */
export function certaintyText(epsilon: number): string {
  const share = 100 / (1 + Math.exp(-epsilon));
  for (let scale = 10; scale < 1e5; scale *= 10) {
    const bound = Math.ceil(share * scale) / scale;
    if (bound < 100) return String(bound);
  }
  return "100";
}

/** Return sentences that say what a person's reports to a service reveal, and what they hide. */
export function guarantee(contract: Contract, service: ServiceData): string[] {
  const { name, key, at_most: most, sends = 1, optional, attributes } = service;
  const { round, tier, panel } = contract;
  const [cost, total] = [spending(service), exact(contract.epsilon)];
  const shown = [key, ...attributes.filter(({ kind }) => kind === "public").map((attribute) => attribute.name)];
  const label = (round ? `, round ${round}` : "") + (tier ? `, tier ${tier}` : "");
  const rows = most !== undefined ? "rows, and how many there are," : optional ? "row, and whether there is one," : "row";
  const to = (epsilon: typeof cost): string => `to at most ${certaintyText(toNumber(epsilon))} %.`;
  return [
    `Sent unchanged: ${listed(shown)}, and that you report to ${name}${label}.`,
    `Someone who knows that and sees ${sends === 1 ? "this report" : `these ${sends} reports`} ` +
      `can raise a certainty of 50 % about anything else in the ${rows} ${to(cost)}`,
    ...(isAtMost(total, cost) ? []
      : [`With all your reports of ${panel ? `all rounds of panel ${panel}` : "this round"}: ${to(total)}`]),
    `Reports of other ${panel ? "panels and " : ""}rounds add to this.`,
  ];
}

function listed(names: readonly string[]): string {
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]!;
}
