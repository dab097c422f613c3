/** The answer: a chart with error bars and a table, what to make of it, and in a demo the truth beside it. */
import { type Bar, barChart } from "../shared/charts.js";
import { type Child, h, scroller } from "../shared/dom.js";
import { number, percent, plusMinus } from "../shared/numbers.js";
import { menu } from "./conditions.js";
import type { Answer, Exact } from "./model.js";

type Row = Answer["rows"][number];

/** One estimate of a row. Without an interval it is as weak as can be. */
export interface Cell {
  readonly value: number;
  readonly error: number;
  readonly low: number;
  readonly high: number;
  /** How far 1 % of people who lie could move it. */
  readonly shift: number;
  readonly exact: number | undefined;
}

export const numberOf = (value: unknown, missing: number): number => typeof value === "number" ? value : missing;

/** Return an estimate of a row; what the collector could not give is not a number, or without end. */
export function cellOf(row: Row, name: string, exact?: number): Cell {
  return {
    value: numberOf(row[name], NaN), error: numberOf(row[`${name}_error`], NaN),
    low: numberOf(row[`${name}_low`], -Infinity), high: numberOf(row[`${name}_high`], Infinity),
    shift: numberOf(row[`${name}_max_shift_per_1pct`], NaN), exact,
  };
}

export const isWeak = ({ value, low, high }: Cell): boolean => !(low > 0 || high < 0) && !(value === 0 && low === high);

export const groupsOf = ({ columns, estimates }: Answer): string[] => columns.filter((name) => !estimates.includes(name));

export const labelOf = (row: Row, groups: readonly string[]): string =>
  groups.map((name) => row[name] === null ? "missing" : String(row[name])).join(", ");

export interface Shown {
  readonly answer: Answer;
  readonly exact: Exact | null;
  readonly confidence: number;
  readonly seconds: number;
  readonly people: number;
  /** The column that the chart shows, and the row whose tuples are shown. */
  readonly column: string;
  readonly row: number;
  readonly pickColumn: (name: string) => void;
  readonly pickRow: (row: number) => void;
}

/** The exact values of a row by column: of the row with the same groups. */
function exactOf(shown: Shown, row: Row): (name: string) => number | undefined {
  const { exact, answer } = shown;
  if (!exact) return () => undefined;
  const groups = groupsOf(answer).map((name): [number, string] => [answer.columns.indexOf(name), String(row[name])]);
  const found = exact.rows.find((one) => groups.every(([place, label]) => String(one[place]) === label));
  return (name) => found ? numberOf(found[answer.columns.indexOf(name)], NaN) : 0;
}

export function answerView(shown: Shown): Child[] {
  const { answer, column, row: picked, pickColumn, pickRow, confidence, seconds } = shown;
  if (!answer.rows.length) return [h("p", {}, "No rows: nothing of this kind was reported.")];
  const groups = groupsOf(answer);
  const cells = answer.rows.map((row) => cellOf(row, column, exactOf(shown, row)(column)));
  const bars = cells.map((cell, i): Bar => ({
    ...cell, label: labelOf(answer.rows[i]!, groups) || column, onpick: () => pickRow(i),
  }));
  const weak = cells.filter(isWeak).length;
  const sentence = `${column} with intervals at ${percent(confidence, 1)}: ` +
    bars.slice(0, 12).map(({ label, value, low, high }) => `${label} ${number(value)}, from ${number(low)} to ${number(high)}`).join("; ") +
    (bars.length > 12 ? `; and ${bars.length - 12} more in the table` : "");
  return [
    h("div", { class: "row" },
      answer.estimates.length > 1 && h("label", {}, "Chart of ", menu(answer.estimates.map((name) => [name, name]), column, pickColumn, "Chart of")),
      h("span", { class: "soft" }, `${count(answer.rows.length, "row")}, ${seconds.toFixed(2)} s`),
      weak > 0 && h("span", { class: "badge" }, `${weak === cells.length ? "" : `${weak} of ${cells.length} `}too noisy to tell`)),
    h("p", { class: "advice", role: "status" }, advice(shown, cells)),
    h("div", { class: "answer" },
      h("div", { id: "chart" }, barChart(bars.slice(0, 60), sentence), legend(shown, weak > 0)),
      scroller("Answer as a table", table(shown, groups, picked))),
    answer.notes.length > 0 && h("ul", { class: "notes" }, ...answer.notes.map((note) => h("li", {}, note))),
  ];
}

function legend({ exact, confidence }: Shown, weak: boolean): HTMLElement {
  return h("p", { class: "legend" }, h("span", {}, `┠─┨ interval at ${percent(confidence, 1)}`),
    exact && h("span", {}, h("span", { class: "diamond" }, "◆"), " exact value (only a demo has it)"),
    weak && h("span", {}, "hatched: the interval holds 0"));
}

function table(shown: Shown, groups: readonly string[], picked: number): HTMLElement {
  const { answer, exact, pickRow, confidence } = shown;
  const heads = answer.estimates.flatMap((name) => [
    h("th", { class: "number", scope: "col" }, name), h("th", { class: "number", scope: "col" }, `± ${percent(confidence, 1)}`),
    h("th", { class: "number", scope: "col" }, "interval"),
    h("th", { class: "number", scope: "col", title: "How far 1 % of the people could move it by lying together" }, "if 1 % lie"),
    ...exact ? [h("th", { class: "number", scope: "col" }, "exact"),
      h("th", { class: "number", scope: "col", title: "How far off, in standard errors" }, "off by")] : []]);
  const several = answer.rows.length > 1;
  const lines = answer.rows.slice(0, 500).map((row, i) => {
    const found = exactOf(shown, row);
    const cells = answer.estimates.map((name) => cellOf(row, name, found(name)));
    return h("tr", { class: [cells.some(isWeak) && "weak", several && i === picked && "picked"].filter(Boolean).join(" ") },
      ...groups.map((name, j) => {
        const label = row[name] === null ? "missing" : String(row[name]);
        return h(j ? "td" : "th", j ? {} : { scope: "row" }, several && j === 0
          ? h("button", { type: "button", class: "pick", "aria-pressed": String(i === picked), title: "Show the tuples of this row", onclick: () => pickRow(i) }, label)
          : label);
      }),
      ...cells.flatMap((cell) => numbers(cell, exact !== null)));
  });
  return h("table", {}, h("caption", { class: "hidden" }, "The answer, row by row"),
    h("thead", {}, h("tr", {}, ...groups.map((name) => h("th", { scope: "col" }, name)), ...heads)), h("tbody", {}, ...lines));
}

function numbers(cell: Cell, exact: boolean): HTMLElement[] {
  const half = (cell.high - cell.low) / 2;
  const finite = Number.isFinite(half) && Number.isFinite(cell.value);
  const [value, width] = plusMinus(cell.value, half);
  const ends = finite ? `${plusMinus(cell.low, half)[0]} to ${plusMinus(cell.high, half)[0]}` : "too noisy to tell";
  const cells = [value, finite ? width : "–", ends, Number.isFinite(cell.shift) ? `≤ ${number(cell.shift, 2)}` : "–"];
  if (exact) {
    const off = cell.exact === undefined ? NaN : (cell.value - cell.exact) / cell.error;
    const inside = cell.exact !== undefined && cell.low <= cell.exact && cell.exact <= cell.high;
    cells.push(cell.exact === undefined || Number.isNaN(cell.exact) ? "–" : number(cell.exact, 5),
      Number.isFinite(off) ? `${number(off, 2)} σ${inside ? "" : ", outside"}` : "–");
  }
  return cells.map((text) => h("td", { class: "number" }, text));
}

/** One sentence that names the next best thing to do. */
function advice({ answer, people }: Shown, cells: readonly Cell[]): string {
  const relative = cells.map(({ value, low, high }) => (high - low) / 2 / Math.abs(value));
  const weak = cells.filter(isWeak);
  if (weak.length) {
    const worst = Math.max(...cells.filter(isWeak).map((cell) => (cell.high - cell.low) / 2 / Math.abs(cell.value)).filter(Number.isFinite));
    const needed = Number.isFinite(worst) ? ` With about ${rounded(people * worst ** 2)} people the interval would leave 0 behind.` : "";
    const what = cells.length > 1
      ? `${weak.length === cells.length ? "All" : `${weak.length} of`} ${cells.length} rows ${weak.length === 1 ? "is" : "are"} too noisy to tell: merge groups or drop conditions.`
      : "Too noisy to tell: drop a condition, widen a range, or ask for fewer joins.";
    return what + needed;
  }
  const widest = Math.max(...relative.filter(Number.isFinite), 0);
  if (!widest) return "This is known without error.";
  if (widest > 0.25) return `Good for orientation: within ${percent(widest)} of the value. Wider ranges or fewer groups make it sharper.`;
  const closest = answer.rows.length > 1 ? " Compare rows by their intervals: those that overlap may be equal." : "";
  return `Sharp enough to act on: within ${percent(widest, 1)} of the value.${closest}`;
}

export const rounded = (value: number): string => number(Number(value.toPrecision(2)), 12);

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`;
