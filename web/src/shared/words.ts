/** A contract in words: one sentence for each thing that is collected, so that two contracts can be compared. */
import type { Attribute, Contract, ServiceData } from "@tacit/client";
import { number } from "./numbers.js";

export type { Attribute, Contract };
export type Service = ServiceData;

/** Return a budget of a contract as a number; it is written as a decimal or a fraction. */
export function budget(text: string): number {
  const [top, bottom = "1"] = text.split("/");
  return Number(top) / Number(bottom);
}

/** Return the epsilon that a person's reports to a service spend. */
export function serviceBudget({ channels, sends = 1 }: Service): number {
  return sends * channels.reduce((total, { epsilon }) => total + budget(epsilon), 0);
}

/** Return which values an attribute may have. */
export function domainText(attribute: Attribute): string {
  const { kind, low, high, step, values = [], other } = attribute;
  if (kind === "public" && values.length === 0) return "anything";
  if (kind === "categorical" || kind === "public") {
    const listed = values.slice(0, 12).join(", ") + (values.length > 12 ? ` and ${values.length - 12} more` : "");
    return other === undefined ? listed : `${listed}; others count as ${other}`;
  }
  const steps = kind === "date" || Number(step ?? 1) === 1 ? "" : ` in steps of ${step}`;
  const bound = (value: unknown): string => typeof value === "number" ? number(value, 12) : String(value);
  return `${bound(low)} to ${bound(high)}${attribute.cells === undefined ? steps : ""}`;
}

/** Return the columns of a service that are sent unchanged: the person's key and the public columns. */
export function openColumns({ key, attributes }: Service): string[] {
  return [key, ...attributes.filter(({ kind }) => kind === "public").map(({ name }) => name)];
}

/** Return what happens to an attribute's value before anything is sent. */
export function treatmentText(attribute: Attribute): string {
  if (attribute.kind === "public") return "Sent unchanged, without protection.";
  const steps = ["Perturbed, together with the rest of the row."];
  if (attribute.cells !== undefined) {
    steps.push(attribute.dither === false
      ? `First put into one of ${attribute.cells} bins.` : `First randomly rounded to one of ${attribute.cells} values.`);
  }
  if (attribute.outside === "clamp") steps.push("Values outside the range are moved to its nearest end.");
  if (attribute.null) steps.push("You may leave it empty; leaving it empty is protected like any value.");
  return steps.join(" ");
}

/** Return how many rows and reports a person has in a service. */
export function rowsText({ at_most: most, sends = 1, optional }: Service): string {
  const reports = sends === 1 ? "one report" : `${sends} reports`;
  if (most === undefined) return `${optional ? "At most one" : "One"} row per person; everybody sends ${reports}.`;
  return `Any number of rows, of which ${most} count; everybody sends ${reports}, even without any row.`;
}

/** Return a contract as sentences that can be compared one by one. */
export function sentences(contract: Contract): string[] {
  return [
    `A person's reports of a round spend ε = ${budget(contract.epsilon)} in total.`,
    ...contract.services.flatMap((service) => [
      `${service.name} spends ε = ${serviceBudget(service)}. ${rowsText(service)}`,
      `${service.name}.${service.key}: the person's key. It is sent unchanged.`,
      ...service.attributes.map((attribute) =>
        `${service.name}.${attribute.name}: ${domainText(attribute)}. ${treatmentText(attribute)}`),
    ]),
  ];
}
