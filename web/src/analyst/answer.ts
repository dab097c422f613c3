/** The answer: a chart with error bars and a table of the same rows, what to make of it, and in a demo the truth beside it. */
import { Problem } from "../shared/api.js";
import { type Bar, barChart } from "../shared/charts.js";
import { type Child, h, isolated, scroller } from "../shared/dom.js";
import { atMost, certainty, count, number, percent, plusMinus } from "../shared/numbers.js";
import { readersText } from "../shared/readers.js";
import { menu } from "./conditions.js";
import { type Answer, type Exact, groupOf, groupsOf, labelOf, type Row, rowOf } from "./model.js";
import { pager } from "./pager.js";
import type { Run } from "./session.js";
import type { View } from "./state.js";
import { type Cell, cellOf, halfOf, missing, soundnessOf, verdict } from "./verdict.js";

/** Rows of one page, in the table and in the chart. */
const ROWS = 25;

/** The column that the chart shows. */
export const columnOf = (answer: Answer, { column }: View): string =>
  answer.estimates.includes(column) ? column : answer.estimates[0] ?? "";

/** A run with an answer, and what its parts are drawn from. */
interface Shown {
  readonly run: Run;
  readonly answer: Answer;
  readonly column: string;
  readonly groups: readonly string[];
  /** Exact values by row and column; nothing where there is no truth to compare with. */
  readonly exact: ((row: Row, name: string) => number | undefined) | null;
  readonly look: (change: Partial<View>) => void;
}

export function answerView(run: Run, answer: Answer, look: (change: Partial<View>) => void): Child[] {
  const warnings = notCounted(answer);
  if (!answer.rows.length) {
    return [warnings, h("p", {}, "No rows: no group meets the question's conditions."), notes(run, answer)];
  }
  const column = columnOf(answer, run.view);
  const shown: Shown = {
    run, answer, column, groups: groupsOf(answer), look, exact: run.exact && !(run.exact instanceof Problem) ? exactValues(answer, run.exact) : null,
  };
  const cells = answer.rows.map((row) => cellOf(row, column, shown.exact?.(row, column)));
  const unsound = cells.filter((cell) => soundnessOf(cell) !== "sound").length;
  const first = firstRow(run.view, answer);
  const page: [number, number] = [first, Math.min(first + ROWS, answer.rows.length)];
  const paged = answer.rows.length > ROWS && pager("rows", { first, size: ROWS, all: answer.rows.length, go: (to) => look({ first: to }) });
  return [
    warnings,
    h("div", { class: "row" },
      answer.estimates.length > 1 && h("label", {}, "Chart of ", menu(answer.estimates.map((name) => [name, isolated(name)]), column, (name) => look({ column: name }), "Chart of")),
      h("span", { class: "soft" }, `${count(answer.rows.length, "row")}, ${run.seconds.toFixed(2)} s`),
      unsound > 0 && h("span", { class: "badge" }, `${unsound === cells.length ? "" : `${number(unsound, 9)} of ${number(cells.length, 9)} `}too noisy to tell`)),
    h("p", { class: "advice", role: "status" }, answer.estimates.length > 1 && `${isolated(column)}: `,
      verdict({ answer, cells, people: run.draft?.people, confidence: run.question.confidence, chosen: chosenByEstimates(run, answer) })),
    paged,
    h("div", { class: "answer" },
      h("div", { id: "chart" }, chart(shown, cells, page), legend(shown, unsound > 0)),
      scroller("Answer as a table", table(shown, page))),
    notes(run, answer),
    privacyOf(answer),
  ];
}

/** Warn if reports were acknowledged that the answer does not count. */
function notCounted(answer: Answer): Child {
  const short = missing(answer);
  if (!answer.watermark || short === 0) return null;
  const { acknowledged, counted } = answer.watermark;
  return h("p", { class: "notice", role: "alert", id: "watermark" }, short > 0
    ? `This answer counts ${number(counted, 12)} of ${number(acknowledged, 12)} acknowledged reports: ${number(short, 12)} are missing, so totals are too small.`
    : `This answer counts ${number(counted, 12)} reports; only ${number(acknowledged, 12)} of them came through this collector.`);
}

/** Both guarantees, for whoever wants to know. */
function privacyOf({ privacy }: Answer): Child {
  if (!privacy) return null;
  const local = privacy.local === null ? "no limit" : `from 50\u00a0% to at most ${certainty(privacy.local)} (ε = ${number(privacy.local)})`;
  return h("details", { id: "privacy" }, h("summary", {}, "What this tells about a person"),
    h("p", {}, `The collector, who sees the reports: ${local}.`), h("p", {}, readersText(privacy.central)));
}

function notes({ exact }: Run, answer: Answer): Child {
  const said = [...answer.notes, ...exact instanceof Problem ? [`No exact values to compare with: ${exact.detail}`] : []];
  return said.length > 0 && h("ul", { class: "notes" }, ...said.map((note) => h("li", {}, note)));
}

/** Whether rows were chosen or ordered by their estimates; where the builder cannot tell, it is assumed of any order. */
function chosenByEstimates({ draft, question }: Run, answer: Answer): boolean {
  if (!groupsOf(answer).length) return false;
  const model = draft?.model;
  if (!model) return /\b(having|order\s+by)\b/i.test(question.sql);
  const groups = new Set(model.outputs.flatMap((output) => output.kind === "group" ? [output.column, output.name] : output.kind === "bands" ? [output.name] : []));
  return model.having !== null || model.order.some(({ by }) => !groups.has(by));
}

/** The first row of the page that the view names: the address may be of an answer with more rows. */
function firstRow({ first }: View, { rows }: Answer): number {
  return ROWS * Math.floor(Math.min(first, rows.length - 1) / ROWS);
}

/** Look exact values up by their groups. A group that the exact answer does not have has none: another row may have been chosen. */
function exactValues(answer: Answer, exact: Exact): (row: Row, name: string) => number | undefined {
  const places = groupsOf(answer).map((name) => answer.columns.indexOf(name));
  const key = (values: readonly unknown[]): string => JSON.stringify(values.map((value) => value === null ? null : String(value)));
  const known = new Map(exact.rows.map((row) => [key(places.map((place) => row[place])), row]));
  return (row, name) => {
    const value = known.get(key(places.map((place) => row[answer.columns[place]!])))?.[answer.columns.indexOf(name)];
    return typeof value === "number" ? value : undefined;
  };
}

function chart({ run, answer, column, groups, look }: Shown, cells: readonly Cell[], [from, to]: readonly [number, number]): SVGElement {
  const bars = cells.map((cell, i): Bar => {
    const row = answer.rows[i]!;
    return {
      ...cell, label: labelOf(row, groups) || isolated(column), onpick: () => look({ group: groupOf(answer, row), offset: 0 }),
      ...soundnessOf(cell) === "no value" ? { note: "not defined" } : soundnessOf(cell) === "no error" ? { note: "no meaningful error" } : {},
    };
  });
  const drawn = bars.slice(from, to);
  const told = drawn.slice(0, 12).map(({ label, note, ...cell }) => {
    const [value, low, high] = [cell.value, cell.low, cell.high].map((end) => plusMinus(end, halfOf(cell))[0]);
    return `${label} ${note ? `${value}, ${note}` : Number.isFinite(halfOf(cell)) ? `${value}, from ${low} to ${high}` : `${value}, no finite interval`}`;
  });
  const sentence = `${isolated(column)} with intervals at ${percent(run.question.confidence, 6)}` +
    `${drawn.length < bars.length ? `, rows ${number(from + 1, 9)} to ${number(to, 9)} of ${number(bars.length, 9)}` : ""}: ${told.join("; ")}` +
    (drawn.length > 12 ? `; and ${drawn.length - 12} more in the table` : "");
  return barChart(drawn, sentence, { all: bars, note: drawn.length < bars.length ? `rows ${number(from + 1, 9)} to ${number(to, 9)} of ${number(bars.length, 9)}` : "" });
}

function legend({ exact, run }: Shown, weak: boolean): HTMLElement {
  return h("p", { class: "legend" }, h("span", {}, `┠─┨ interval at ${percent(run.question.confidence, 6)}`),
    exact && h("span", {}, h("span", { class: "diamond" }, "◆"), " exact value (only a demo has it)"),
    weak && h("span", {}, "hatched: the interval includes 0"));
}

function table(shown: Shown, [from, to]: readonly [number, number]): HTMLElement {
  const { answer, exact, groups, look, run } = shown;
  const picked = rowOf(answer, run.view.group);
  const heads = answer.estimates.flatMap((name) => [
    h("th", { class: "number", scope: "col" }, isolated(name)), h("th", { class: "number", scope: "col" }, `± ${percent(run.question.confidence, 6)}`),
    h("th", { class: "number", scope: "col" }, "interval"),
    h("th", { class: "number", scope: "col", title: "How far 1 % of the people could move it by lying together" }, "if 1 % lie"),
    ...exact ? [h("th", { class: "number", scope: "col" }, "exact"),
      h("th", { class: "number", scope: "col", title: "How far off, in standard errors" }, "off by")] : []]);
  const several = answer.rows.length > 1;
  const lines = answer.rows.slice(from, to).map((row) => {
    const cells = answer.estimates.map((name) => cellOf(row, name, exact?.(row, name)));
    const here = several && row === picked;
    return h("tr", { class: [cells.some((cell) => soundnessOf(cell) !== "sound") && "weak", here && "picked"].filter(Boolean).join(" ") },
      ...groups.map((name, j) => h(j ? "td" : "th", j ? { class: "group" } : { class: "group", scope: "row" }, several && j === 0
        ? h("button", { type: "button", class: "pick", "aria-pressed": String(here), title: "Show the tuples of this row", onclick: () => look({ group: groupOf(answer, row), offset: 0 }) }, labelOf(row, [name]))
        : labelOf(row, [name]))),
      ...cells.flatMap((cell) => numbers(cell, exact !== null)));
  });
  return h("table", {}, h("caption", { class: "hidden" }, `The answer, rows ${number(from + 1, 9)} to ${number(to, 9)} of ${number(answer.rows.length, 9)}`),
    h("thead", {}, h("tr", {}, ...groups.map((name) => h("th", { class: "group", scope: "col" }, isolated(name))), ...heads)), h("tbody", {}, ...lines));
}

/** The cells of an estimate: no digit that its error does not support, and no number where there is none. */
function numbers(cell: Cell, compared: boolean): HTMLElement[] {
  const half = halfOf(cell);
  const sound = soundnessOf(cell);
  const finite = Number.isFinite(half) && sound !== "no value";
  const [value, width] = finite ? plusMinus(cell.value, half) : [sound === "no value" ? "not defined" : number(cell.value, 2), "–"];
  const texts = [value, sound === "no error" ? "no meaningful error" : width,
    finite ? `${plusMinus(cell.low, half)[0]} to ${plusMinus(cell.high, half)[0]}` : sound === "weak" ? "no finite interval" : "–",
    Number.isFinite(cell.shift) ? `≤ ${atMost(cell.shift)}` : sound === "no value" ? "–" : "no limit known"];
  if (compared) {
    const { exact = NaN } = cell;
    const off = (cell.value - exact) / cell.error;
    const inside = cell.low <= exact && exact <= cell.high;
    texts.push(Number.isNaN(exact) ? "–" : number(exact, 5), Number.isFinite(off) ? `${number(off, 2)} σ${inside ? "" : ", outside"}` : "–");
  }
  return texts.map((text) => h("td", { class: "number" }, text));
}
