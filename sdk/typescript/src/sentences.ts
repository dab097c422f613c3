/**
 * What leaves, in words: what is readable in a report, and what anyone can learn about the rest.
 *
 * `tests/vectors/client/sentences.json` fixes these words; the Python client says the same ones.
 */
import { spending } from "./audit.js";
import type { Contract, ServiceData } from "./contract.js";
import { exact, isAtMost, toNumber } from "./exact.js";

export const NOTHING_LEAVES =
  "Nothing leaves: the collector has reports of this person already, from a wallet that is gone.";

/** Return the percentage that a certainty of 50 % can become at most, rounded up. */
export function certaintyText(epsilon: number): string {
  const share = 100 / (1 + Math.exp(-epsilon));
  for (let scale = 10; scale < 1e5; scale *= 10) {
    const bound = Math.ceil(share * scale) / scale;
    if (bound < 100) return String(bound);
  }
  return "100";
}

/** Return what a person's reports to a service show, and what they hide, in sentences. */
export function guarantee(contract: Contract, service: ServiceData): string[] {
  const { name, key, at_most: most, sends = 1, optional, attributes } = service;
  const { round, tier, panel } = contract;
  const [cost, total] = [spending(service), exact(contract.epsilon)];
  const shown = [key, ...attributes.filter(({ kind }) => kind === "public").map((attribute) => attribute.name)];
  const label = (round ? `, round ${round}` : "") + (tier ? `, tier ${tier}` : "");
  const rows = most !== undefined ? "rows, and how many there are," : optional ? "row, and whether there is one," : "row";
  const to = (epsilon: typeof cost): string => `to at most ${certaintyText(toNumber(epsilon))} %.`;
  return [
    `Leaves as it is: ${listed(shown)}, and that you report to ${name}${label}.`,
    `Knowing that already, whoever sees ${sends === 1 ? "this report" : `these ${sends} reports`} ` +
      `can raise a certainty of 50 % about anything else in the ${rows} ${to(cost)}`,
    ...(isAtMost(total, cost) ? [] : [`Your reports to all services of this round${
      panel ? ` and of all rounds of panel ${panel}` : ""} together: ${to(total)}`]),
    `Reports of other ${panel ? "panels and " : ""}rounds add to this.`,
  ];
}

function listed(names: readonly string[]): string {
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]!;
}
