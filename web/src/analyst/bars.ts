/** Bars with whiskers: for groups without order, and for a page of many rows. */
import { axisLabel, extent, hatching, picture, type Scale, scale, shortened, shortTick, ticksOf } from "../shared/charts.js";
import { svg } from "../shared/dom.js";
import { type Mark, titleOf } from "./marks.js";
import { type Cell, halfOf, soundnessOf } from "./verdict.js";

const ROW = 30;

export interface BarOptions {
  readonly width: number;
  /** All bars of which these are a page: every page has one scale. */
  readonly all: readonly Mark[];
  /** What the drawing leaves out, written below it. */
  readonly note: string;
}

/** Draw bars with whiskers, a thin one for the fitted value, and diamonds where the exact value is known. */
export function barChart(bars: readonly Mark[], sentence: string, { all, note, width }: BarOptions): SVGElement {
  const left = width < 400 ? 90 : Math.min(190, width / 4);
  const [low, high] = extent(all.flatMap((mark) => [mark, mark.fitted ?? mark].flatMap(({ value, low, high, exact = 0 }) => [value, low, high, exact])));
  const x = scale([low, high > low ? high : low + 1], [left, width - 24]);
  const height = bars.length * ROW + 30;
  const ticks = ticksOf(low, high, width < 400 ? 3 : 5);
  const [pattern, hatched] = hatching();
  return picture(width, height + (note ? 18 : 0), sentence, pattern,
    note && axisLabel(note, width - 24, height + 10, "end"),
    ...ticks.map((tick) => svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 4, y2: height - 24 })),
    ...ticks.map((tick) => axisLabel(shortTick(tick), x(tick), height - 8, "middle")),
    ...bars.map((bar, i) => barRow(bar, { x, start: left, width, hatched }, i * ROW + 5)),
    svg("line", { class: "axis", x1: x(0), x2: x(0), y1: 4, y2: height - 24 }));
}

interface Paper {
  readonly x: Scale;
  /** Where bars begin. */
  readonly start: number;
  readonly width: number;
  readonly hatched: string;
}

function barRow(mark: Mark, paper: Paper, y: number): SVGElement {
  const { label, value, exact, note, fitted, onpick } = mark;
  const { x, start, width } = paper;
  const weak = soundnessOf(mark) !== "sound";
  const [thick, middle] = fitted ? [11, y + 5.5] : [20, y + 10];
  const right = Math.max(x(0), x(Number.isFinite(value) ? value : 0));
  const finite = note === undefined && Number.isFinite(halfOf(mark));
  const beside = right + 150 < width;
  return svg("g", { class: weak ? "bar weak" : "bar", onclick: onpick },
    svg("title", {}, titleOf(mark, mark) + (fitted ? `; fitted ${titleOf({ ...mark, label: "", exact: undefined }, fitted).slice(2)}` : "")),
    axisLabel(shortened(label, start - 14), start - 10, y + 14, "end"),
    ...barOf(mark, paper, y, thick, finite),
    ...fitted ? barOf(fitted, paper, y + 13, 7, Number.isFinite(halfOf(fitted)), "fitted") : [],
    !finite && axisLabel(note ?? "too noisy to tell", beside ? right + 8 : width - 6, middle + 4, beside ? "start" : "end"),
    exact !== undefined && Number.isFinite(exact) && svg("path", { class: "exact", d: `M${x(exact)} ${y + 3}l6 7l-6 7l-6 -7z` }));
}

/** A bar from 0 to a value, with its whiskers. */
function barOf(cell: Cell, { x, hatched }: Paper, y: number, thick: number, finite: boolean, kind = ""): (SVGElement | false)[] {
  const end = x(Number.isFinite(cell.value) ? cell.value : 0);
  const [left, right] = [Math.min(x(0), end), Math.max(x(0), end)];
  const [middle, foot] = [y + thick / 2, thick * 0.3];
  return [
    svg("rect", { class: `fill ${kind}`, x: left, y, width: Math.max(0.5, right - left), height: thick, rx: Math.min(3, thick / 3), ...(soundnessOf(cell) === "sound" ? {} : { fill: hatched }) }),
    finite && svg("path", { class: "whisker", d: `M${x(cell.low)} ${middle}H${x(cell.high)}M${x(cell.low)} ${middle - foot}v${2 * foot}M${x(cell.high)} ${middle - foot}v${2 * foot}` }),
  ];
}
