/** A question as data, as the collector reads and writes it, and what the analyst's routes answer. */

import { isolated } from "../shared/dom.js";
import type { Central } from "../shared/readers.js";

/** A constant, or another column; numbers and dates stay text, so that no digit is lost. */
export type Value =
  | { number: string } | { text: string } | { date: string } | { flag: boolean } | { column: string };

export interface Leaf {
  column: string;
  op: string;
  value?: Value;
  values?: Value[];
}

export type Condition = Leaf | { all: Condition[] } | { any: Condition[] } | { not: Condition };

export type Output =
  | { kind: "group"; column: string; name: string }
  | { kind: "measure"; function: string; of: string; name: string; distinct?: boolean; where?: Condition | null }
  | { kind: "formula" | "bands"; text: string; name: string };

export interface Table {
  name: string;
  alias: string;
  using?: string;
  on?: string[];
}

export interface Model {
  outputs: Output[];
  tables: Table[];
  where: Condition | null;
  group: string[];
  having: Condition | null;
  order: { by: string; descending: boolean }[];
  limit: number | null;
}

/** An attribute of a service, as collection files write it. */
export interface Attribute {
  readonly name: string;
  readonly kind: "ordinal" | "categorical" | "public";
  readonly low?: number | string;
  readonly high?: number | string;
  readonly values?: readonly (string | number)[];
  readonly null?: boolean;
}

export interface Service {
  readonly name: string;
  readonly key: string;
  readonly attributes: readonly Attribute[];
  readonly people: number;
  /** Why some acknowledged reports are not counted. */
  readonly notes: readonly string[];
  readonly epsilon: number;
  readonly round: string;
  readonly collection: string;
}

export interface Catalogue {
  readonly services: readonly Service[];
}

/** What the collector says about a question that is being written. */
export interface Draft {
  readonly sql: string;
  readonly model: Model | null;
  readonly outside: string | null;
  readonly problem: { readonly code: string; readonly detail: string; readonly span: readonly [number, number] | null } | null;
  readonly expected: { readonly column: string; readonly half_width: number | null } | null;
  readonly unforeseen?: string;
  readonly people?: number;
  readonly epsilon?: number;
}

export type Row = Readonly<Record<string, string | number | boolean | null>>;

export interface Answer {
  readonly columns: readonly string[];
  readonly estimates: readonly string[];
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
  /** Reports that were acknowledged when it was asked, and those that it counts. */
  readonly watermark?: { readonly acknowledged: number; readonly counted: number } | null;
  /** What a person's reports tell the collector at most, and what answers tell everybody else. */
  readonly privacy?: { readonly local: number | null; readonly central: Central } | null;
}

/** Whether nothing in an answer is estimated with an error. */
export const isExact = ({ estimates, rows }: Answer): boolean =>
  rows.every((row) => estimates.every((name) => row[`${name}_error`] === 0));

/** Columns of GROUP BY. */
export const groupsOf = ({ columns, estimates }: Answer): string[] => columns.filter((name) => !estimates.includes(name));

/** The groups of a row. */
export const groupOf = (answer: Answer, row: Row): Record<string, unknown> =>
  Object.fromEntries(groupsOf(answer).map((name) => [name, row[name]]));

/** The row of a group, or the first one. */
export function rowOf(answer: Answer, group: Readonly<Record<string, unknown>> | null): Row | undefined {
  const names = group ? groupsOf(answer) : [];
  const same = (row: Row): boolean => names.every((name) => JSON.stringify(row[name]) === JSON.stringify(group![name]));
  return answer.rows.find(same) ?? answer.rows[0];
}

export const numberOf = (value: unknown, missing: number): number => typeof value === "number" ? value : missing;

/** A row's groups in words; middles of bins have more digits than anybody reads. */
export const labelOf = (row: Row, groups: readonly string[]): string =>
  groups.map((name) => wordOf(row[name])).join(", ");

function wordOf(value: Row[string] | undefined): string {
  if (value === null || value === undefined) return "missing";
  return isolated(String(typeof value === "number" && String(value).length > 9 ? Number(value.toPrecision(6)) : value));
}

/** Return a function that finds a row of another answer, or of the truth, by its groups; null and the text "null" differ. */
export function rowFinder<Found>(names: readonly string[], rows: readonly Found[], read: (row: Found, name: string) => unknown): (row: Row) => Found | undefined {
  const key = (values: readonly unknown[]): string => JSON.stringify(values.map((value) => value === null ? null : String(value)));
  const known = new Map(rows.map((row) => [key(names.map((name) => read(row, name))), row]));
  return (row) => known.get(key(names.map((name) => row[name])));
}

export interface Exact {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export interface Curves {
  readonly column: string;
  readonly per_person: boolean;
  readonly epsilon: readonly (readonly [number, number])[];
  readonly people: readonly (readonly [number, number])[];
  readonly now: readonly [number, number, number];
  /** Local and central epsilon, if these people were one closed crowd; empty where public columns divide them. */
  readonly central: readonly (readonly [number, number])[];
}

export interface Report {
  readonly service: string;
  readonly slot: number;
  readonly channel: number;
  readonly code: number;
  readonly meaning: { readonly about: string; readonly fits: number; readonly examples: readonly string[] };
  readonly public: Readonly<Record<string, unknown>>;
}

export interface Tuples {
  readonly measures: readonly (readonly [string, string])[];
  readonly columns: Readonly<Record<string, readonly number[]>>;
  readonly rows: readonly { readonly person: string; readonly contributions: readonly number[]; readonly reports: readonly Report[] }[];
  readonly people: number;
  readonly before: readonly number[];
  readonly totals: readonly number[];
  readonly values: Readonly<Record<string, number | null>>;
  readonly parts: readonly (readonly [string, number, readonly number[]])[];
  readonly part: number;
}

/** Columns of the services that a model reads, as SQL writes them: with their table where two have the same. */
export function columnsOf(model: Model, services: readonly Service[]): Map<string, Attribute> {
  const read = model.tables.flatMap((table) => {
    const service = services.find(({ name }) => name.toLowerCase() === table.name.toLowerCase());
    return service ? service.attributes.map((attribute) => ({ attribute, table: table.alias || table.name })) : [];
  });
  const shared = (name: string): boolean => read.filter(({ attribute }) => attribute.name === name).length > 1;
  return new Map(read.map(({ attribute, table }) =>
    [shared(attribute.name) ? `${table}.${attribute.name}` : attribute.name, attribute]));
}

/** Find a column whatever its case, and whether or not it names its table. */
export function attributeOf(column: string, columns: Map<string, Attribute>): Attribute | undefined {
  const bare = (name: string): string => name.split(".").pop()!.replaceAll('"', "").toLowerCase();
  return columns.get(column) ?? [...columns].find(([name]) => bare(name) === bare(column))?.[1];
}

/** The constant that a new comparison with a column starts from. */
export function firstValue(attribute: Attribute | undefined): Value {
  if (!attribute || attribute.kind === "public") return { text: "" };
  if (attribute.kind === "categorical") {
    const [first = ""] = attribute.values ?? [];
    return typeof first === "number" ? { number: String(first) } : { text: first };
  }
  return typeof attribute.low === "string" ? { date: attribute.low } : { number: String(attribute.low ?? 0) };
}
