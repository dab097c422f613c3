/** What a shared address holds: one question with its confidence, and how its answer is looked at. */

/** What is asked. Two questions are the same if their answers must be. */
export interface Question {
  readonly sql: string;
  readonly confidence: number;
}

/** How an answer can be drawn. */
export type Kind = "bars" | "line" | "heat" | "map";

/** How an answer is looked at; nothing of it changes the answer. */
export interface View {
  /** The kind of chart; the one that suits the answer best if it is empty. */
  readonly chart: Kind | "";
  /** Whether fitted values are shown beside the unbiased ones. */
  readonly fitted: boolean;
  /** The column that the chart shows, by name; the first one if it is empty. */
  readonly column: string;
  /** The first row of the table's page. */
  readonly first: number;
  /** The row of the answer whose tuples are shown: its columns of GROUP BY. */
  readonly group: Readonly<Record<string, unknown>> | null;
  readonly order: "size" | "value" | "person";
  readonly descending: boolean;
  readonly measure: number;
  readonly offset: number;
  /** The round or tier whose tuples are listed; the newest one if it is −1. */
  readonly part: number;
}

export interface Address {
  readonly question: Question;
  readonly view: View;
}

export const LEVELS: readonly number[] = [0.8, 0.9, 0.95, 0.99];

export const CONFIDENCE = 0.95;

export const START: View = {
  chart: "", fitted: false, column: "", first: 0, group: null, order: "size", descending: true, measure: 0, offset: 0, part: -1,
};

export const sameQuestion = (one: Question, other: Question): boolean =>
  one.sql.trim() === other.sql.trim() && one.confidence === other.confidence;

const KINDS: readonly string[] = ["bars", "line", "heat", "map"];

const NUMBERS = [["first", "r"], ["measure", "m"], ["offset", "p"], ["part", "t"]] as const;

/** Read the part of an address after #, if it holds a question; what is not as it should be is left out. */
export function readAddress(fragment: string): Address | null {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const sql = given.get("q");
  if (!sql) return null;
  const level = Number(given.get("c"));
  const order = given.get("o");
  const chart = given.get("v") ?? "";
  const numbers = NUMBERS.map(([word, letter]) => [word, Number(given.get(letter) ?? NaN)] as const)
    .filter(([, value]) => Number.isSafeInteger(value) && value >= 0);
  return {
    question: { sql, confidence: level > 0 && level < 1 ? level : CONFIDENCE },
    view: {
      ...START, ...Object.fromEntries(numbers), column: given.get("k") ?? "", chart: KINDS.includes(chart) ? chart as Kind : "", fitted: given.get("f") === "1", group: groupIn(given.get("g")),
      order: order === "value" || order === "person" ? order : "size", descending: given.get("d") !== "0",
    },
  };
}

function groupIn(text: string | null): View["group"] {
  try {
    const group: unknown = JSON.parse(text ?? "null");
    return group && typeof group === "object" && !Array.isArray(group) ? group as View["group"] : null;
  } catch {
    return null; // a damaged address shows the first row
  }
}

/** Write the part of an address after #: short, with what differs from the start only. */
export function writeAddress({ sql, confidence }: Question, view: View): string {
  const given = new URLSearchParams({ q: sql });
  if (confidence !== CONFIDENCE) given.set("c", String(confidence));
  if (view.column) given.set("k", view.column);
  if (view.chart) given.set("v", view.chart);
  if (view.fitted) given.set("f", "1");
  if (view.group && Object.keys(view.group).length) given.set("g", JSON.stringify(view.group));
  if (view.order !== START.order) given.set("o", view.order);
  if (!view.descending) given.set("d", "0");
  for (const [word, letter] of NUMBERS) if (view[word] > 0 || (word === "part" && view.part === 0)) given.set(letter, String(view[word]));
  return `#${given}`;
}
