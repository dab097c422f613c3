/** What charts of an answer are drawn from: a mark for each row, and which kinds of chart suit them. */
import { Problem } from "../shared/api.js";
import { isolated } from "../shared/dom.js";
import { number, plusMinus } from "../shared/numbers.js";
import { type Answer, type Exact, groupOf, groupsOf, labelOf, type Row, rowFinder } from "./model.js";
import type { Run } from "./session.js";
import type { Kind, View } from "./state.js";
import { type Cell, cellOf, halfOf, soundnessOf } from "./verdict.js";

/** A row of the answer, as charts need it. */
export interface Mark extends Cell {
  readonly label: string;
  /** Values of GROUP BY, in the order of the columns. */
  readonly at: readonly Row[string][];
  /** The value of the model, if it was asked for. */
  readonly fitted?: Cell | undefined;
  /** Why there is no interval. */
  readonly note?: string;
  readonly onpick: () => void;
}

/** A run with an answer, and what its parts are drawn from. */
export interface Shown {
  readonly run: Run;
  readonly answer: Answer;
  readonly column: string;
  readonly groups: readonly string[];
  readonly marks: readonly Mark[];
  readonly kinds: readonly Kind[];
  readonly kind: Kind;
  /** Exact values by row and column; nothing where there is no truth to compare with. */
  readonly exact: ((row: Row, name: string) => number | undefined) | null;
  /** Fitted values by row and column; nothing where they were not asked for or cannot be had. */
  readonly fitted: ((row: Row, name: string) => Cell | undefined) | null;
  readonly look: (change: Partial<View>) => void;
}

/** The column that the chart shows. */
export const columnOf = (answer: Answer, { column }: View): string =>
  answer.estimates.includes(column) ? column : answer.estimates[0] ?? "";

/** Return what an answer is drawn from. */
export function shownOf(run: Run, answer: Answer, look: Shown["look"]): Shown {
  const column = columnOf(answer, run.view);
  const groups = groupsOf(answer);
  const exact = run.exact && !(run.exact instanceof Problem) ? exactValues(answer, run.exact) : null;
  const fitted = run.view.fitted && run.fitted && !(run.fitted instanceof Problem) ? fittedValues(answer, run.fitted) : null;
  const marks = answer.rows.map((row): Mark => {
    const cell = cellOf(row, column, exact?.(row, column));
    const sound = soundnessOf(cell);
    return {
      ...cell, at: groups.map((name) => row[name]!), label: labelOf(row, groups) || isolated(column), fitted: fitted?.(row, column),
      onpick: () => look({ group: groupOf(answer, row), offset: 0 }),
      ...sound === "no value" ? { note: "not defined" } : sound === "no error" ? { note: "no meaningful error" } : {},
    };
  });
  const kinds = kindsOf(groups, marks);
  return { run, answer, column, groups, marks, kinds, kind: kinds.includes(run.view.chart as Kind) ? run.view.chart as Kind : kinds[0]!, exact, fitted, look };
}

/** Say what a mark shows: its value with its interval, and the truth where it is known. */
export function titleOf({ label, note, exact }: Mark, cell: Cell): string {
  const half = halfOf(cell);
  const [value, low, high] = [cell.value, cell.low, cell.high].map((end) => plusMinus(end, half)[0]);
  const said = note === "not defined" ? note : note || !Number.isFinite(half) ? `${number(cell.value, 2)}, ${note ?? "no finite interval"}` : `${value}, between ${low} and ${high}`;
  return `${label}: ${said}${exact === undefined ? "" : `, exactly ${number(exact)}`}${soundnessOf(cell) === "weak" ? "; too noisy to tell" : ""}`;
}

/** Look exact values up by their groups. A group that the exact answer does not have has none: another row may have been chosen. */
function exactValues(answer: Answer, exact: Exact): NonNullable<Shown["exact"]> {
  const find = rowFinder(groupsOf(answer), exact.rows, (row, name) => row[answer.columns.indexOf(name)]);
  return (row, name) => {
    const value = find(row)?.[answer.columns.indexOf(name)];
    return typeof value === "number" ? value : undefined;
  };
}

function fittedValues(answer: Answer, fitted: Answer): NonNullable<Shown["fitted"]> {
  const find = rowFinder(groupsOf(answer), fitted.rows, (row, name) => row[name]);
  return (row, name) => {
    const same = find(row);
    return same && cellOf(same, name);
  };
}

/** More cells than this are no picture any more, and slow. */
const MOST_CELLS = 10_000;

/** More points than this on a line cannot be told apart. */
const MOST_POINTS = 2_000;

/** More lines than this cannot be told apart. */
export const MOST_LINES = 6;

/** Return the kinds of chart that can show an answer, the one that suits it best first. */
export function kindsOf(groups: readonly string[], marks: readonly Mark[]): Kind[] {
  if (groups.length === 1) {
    const placed = marks.filter(({ at: [value] }) => value !== null).length;
    return placed > 2 && placed <= MOST_POINTS && isOrdered(groups, marks, 0) ? ["line", "bars"] : ["bars"];
  }
  const pairs = new Set(marks.map(({ at }) => JSON.stringify(at)));
  if (groups.length !== 2 || marks.length < 3 || pairs.size < marks.length) return ["bars"];
  const [rows, columns] = [0, 1].map((place) => new Set(marks.map(({ at }) => at[place])).size) as [number, number];
  const kinds: Kind[] = [];
  if (rows * columns <= MOST_CELLS) {
    if (placeOf(groups) && marks.every(({ at }) => at.every((value) => typeof value === "number"))) kinds.push("map");
    kinds.push("heat");
  }
  const along = lineAxis(groups, marks);
  if (along !== null) kinds.splice(groups[along] === "round" ? 0 : kinds.length, 0, "line");
  return [...kinds, "bars"];
}

/** The ordered group that lines run along, if the other one has few values. */
export function lineAxis(groups: readonly string[], marks: readonly Mark[]): number | null {
  const fits = [0, 1].filter((place) => groups[place] !== undefined && isOrdered(groups, marks, place) &&
    new Set(marks.map(({ at }) => at[1 - place])).size <= MOST_LINES && new Set(marks.map(({ at }) => at[place])).size > 2);
  return fits.find((place) => groups[place] === "round") ?? fits[0] ?? null;
}

const DATE = /^\d{4}-\d\d(-\d\d)?([T ]\d\d.*)?$/;

/** Whether the values of a group have an order: numbers, dates, and rounds. */
function isOrdered(groups: readonly string[], marks: readonly Mark[], place: number): boolean {
  return groups[place] === "round" || marks.every(({ at }) => at[place] === null || typeof at[place] === "number" || (typeof at[place] === "string" && DATE.test(String(at[place]))));
}

/** Where a value lies along its axis: numbers and dates by what they are, others by their turn. */
export function placesOf(values: readonly Row[string][]): (value: Row[string]) => number {
  if (values.every((value) => typeof value === "number")) return Number;
  if (values.every((value) => DATE.test(String(value)))) return (value) => Date.parse(String(value).slice(0, 13).replace(/T\d\d$/, "$&:00"));
  const turns = new Map([...new Set(values)].map((value, turn) => [value, turn]));
  return (value) => turns.get(value) ?? NaN;
}

/** Which groups are latitude and longitude, if they are: by the names that `tc.Place` gives, and common ones. */
export function placeOf(groups: readonly string[]): { readonly lat: number; readonly lon: number } | null {
  const find = (words: RegExp): number => groups.findIndex((name) => words.test(name));
  const [lat, lon] = [find(/(^|_)lat(itude)?$/i), find(/(^|_)(lon|lng|longitude)$/i)];
  return lat >= 0 && lon >= 0 && lat !== lon ? { lat, lon } : null;
}
