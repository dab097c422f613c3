/** The chart of an answer: the kind that was chosen or suits best, fitted values beside unbiased ones. */
import { type Child, h, isolated } from "../shared/dom.js";
import { number, percent, plusMinus } from "../shared/numbers.js";
import { barChart } from "./bars.js";
import { heatMap, mapCells, type Reading } from "./heat.js";
import type { Mark, Shown } from "./marks.js";
import { trendChart } from "./trend.js";
import type { Kind } from "./state.js";
import { halfOf, soundnessOf } from "./verdict.js";

/** Kinds of charts in words. */
export const KIND_NAMES: Readonly<Record<Kind, string>> = { bars: "bars", line: "lines", heat: "heat map", map: "map" };

/** Marks that are read out one by one; more are counted. */
const SPOKEN = 12;

/** The width of a chart: what the answer has beside or below the question, so that letters keep their size. */
export function chartWidth(): number {
  const window = document.documentElement.clientWidth;
  const answer = document.querySelector("#answer")?.clientWidth ?? 0;
  return Math.max(280, Math.min(answer ? answer - 42 : window - 72, 860));
}

/** Draw the chart. Grids of fitted values stand beside those of unbiased ones; other kinds hold both. */
export function chart(shown: Shown, [from, to]: readonly [number, number], width: number): Child[] {
  const { kind, marks, column } = shown;
  if (kind === "bars") return [barChart(marks.slice(from, to), sentenceOf(shown, from, to), { all: marks, width, note: to - from < marks.length ? pageText(shown, from, to) : "" })];
  if (kind === "line") return [trendChart(shown, sentenceOf(shown, 0, marks.length), width)];
  const draw = kind === "map" ? mapCells : heatMap;
  const pictures: [string, Reading][] = shown.fitted
    ? [["unbiased", (mark) => mark], ["fitted", (mark) => mark.fitted ?? mark]] : [["", (mark) => mark]];
  const beside = pictures.length > 1 && width > 560;
  return [h("div", { class: beside ? "pair" : "" }, ...pictures.map(([name, read]) => h("div", {},
    name && h("p", { class: "soft small" }, name),
    draw(shown, `${name ? `${isolated(column)}, ${name}: ` : ""}${sentenceOf(shown, 0, marks.length, read)}`, beside ? (width - 16) / 2 : width, read))))];
}

export function legend({ exact, run, fitted, kind, marks }: Shown): HTMLElement {
  const level = percent(run.question.confidence, 6);
  const weak = marks.some((mark) => soundnessOf(mark) !== "sound");
  const lines = kind === "line";
  const grid = kind === "heat" || kind === "map";
  return h("p", { class: "legend" },
    !grid && h("span", {}, lines ? `shaded: interval at ${level}` : `┠─┨ interval at ${level}`),
    fitted && !grid && h("span", {}, lines ? "dashed: fitted by the model" : "thin: fitted by the model"),
    exact && !grid && h("span", {}, h("span", { class: "diamond" }, lines && marks.length > 45 ? "┄" : "◆"), " exact value (only a demo has it)"),
    lines && marks.some(({ at }) => at.includes(null)) && h("span", {}, "rows without a value are in the table"),
    weak && h("span", {}, lines ? "hollow: the interval includes 0" : "hatched: the interval includes 0"));
}

const pageText = ({ marks }: Shown, from: number, to: number): string =>
  `rows ${number(from + 1, 9)} to ${number(to, 9)} of ${number(marks.length, 9)}`;

/** Say what the chart shows, for those who cannot see it. */
function sentenceOf(shown: Shown, from: number, to: number, read: Reading = (mark) => mark): string {
  const { run, column, marks, kind } = shown;
  const drawn = marks.slice(from, to);
  const told = drawn.slice(0, SPOKEN).map((mark) => spoken(mark, read));
  const finite = drawn.filter((mark) => Number.isFinite(read(mark).value)).sort((a, b) => read(a).value - read(b).value);
  const range = drawn.length > SPOKEN && finite.length > 1 ? ` From ${spoken(finite[0]!, read)} to ${spoken(finite.at(-1)!, read)}.` : "";
  return `${KIND_NAMES[kind]}: ${isolated(column)} with intervals at ${percent(run.question.confidence, 6)}` +
    `${drawn.length < marks.length ? `, ${pageText(shown, from, to)}` : ""}: ${told.join("; ")}` +
    (drawn.length > SPOKEN ? `; and ${drawn.length - SPOKEN} more in the table.${range}` : "");
}

function spoken({ label, note, ...mark }: Mark, read: Reading): string {
  const cell = read({ label, ...mark });
  const [value, low, high] = [cell.value, cell.low, cell.high].map((end) => plusMinus(end, halfOf(cell))[0]);
  return `${label} ${note ? `${value}, ${note}` : Number.isFinite(halfOf(cell)) ? `${value}, from ${low} to ${high}` : `${value}, no finite interval`}`;
}
