/** Lines over an ordered group, such as ages, months or rounds: every point with its interval as a band. */
import { axisLabel, extent, picture, scale, shortTick, shortened, ticksOf } from "../shared/charts.js";
import { type Child, isolated, svg } from "../shared/dom.js";
import { lineAxis, type Mark, placesOf, type Shown, titleOf } from "./marks.js";
import { labelOf, type Row } from "./model.js";
import { type Cell, soundnessOf } from "./verdict.js";

interface Series {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly cell: Cell; readonly mark: Mark }[];
}

const HEIGHT = 300;

/** Draw a line for each value of the other group, or one line; a dashed one for fitted values. */
export function trendChart({ groups, marks: all, column }: Shown, sentence: string, width: number): SVGElement {
  const along = groups.length === 1 ? 0 : lineAxis(groups, all) ?? 0;
  const marks = all.filter(({ at }) => at[along] !== null); // what is missing has no place along an axis
  const values = marks.map(({ at }) => at[along]!);
  const place = placesOf(values);
  const series = groups.length === 1 ? single(marks, place) : several(marks, along, place);
  const named = series.length > 1;
  const [left, right, bottom] = [62, named ? Math.min(130, width / 4) : 16, 42];
  const xs = values.map(place);
  const x = scale([Math.min(...xs), Math.max(...xs)], [left + 8, width - right - 8]);
  const heights = series.flatMap(({ points }) => points.flatMap(({ cell }) => [cell.value, cell.low, cell.high, cell.exact ?? cell.value]));
  const [low, high] = rangeOf(heights);
  const y = scale([low, high > low ? high : low + 1], [HEIGHT - bottom, 26]);
  const path = (ends: readonly (readonly [number, number])[]): string => ends.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const dense = xs.length / series.length > 45;
  const drawn = series.flatMap(({ points, name }, i): Child[] => {
    const finite = points.filter(({ cell }) => Number.isFinite(cell.value));
    const banded = finite.filter(({ cell }) => Number.isFinite(cell.low + cell.high));
    const last = finite.at(-1);
    return [
      banded.length > 1 && svg("path", { class: `band s${i}`, d: `${path(banded.map((one) => [one.x, one.cell.high]))}${path([...banded].reverse().map((one) => [one.x, one.cell.low])).replace("M", "L")}Z` }),
      svg("path", { class: `line s${i}`, d: path(finite.map((one) => [one.x, one.cell.value])) }),
      ...finite.map(({ x: at, cell, mark }) => point(cell, mark, x(at), y(cell.value), i, dense)),
      named && last && axisLabel(shortened(name, right - 14), x(last.x) + 10, y(last.cell.value) + 4, "start"),
    ];
  });
  const truth = series.flatMap(({ points }) => points.filter(({ cell }) => Number.isFinite(cell.exact)));
  return picture(width, HEIGHT, sentence,
    ...ticksOf(low, high, 4).flatMap((tick) => [
      svg("line", { class: tick === 0 ? "axis" : "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      axisLabel(shortTick(tick), left - 8, y(tick) + 4, "end")]),
    ...ticksAlong(values, place, (width - left - right) / 64).map(([at, name]) => axisLabel(shortened(name, 90), x(at), HEIGHT - bottom + 18, "middle")),
    axisLabel(isolated(groups[along] ?? ""), (left + width - right) / 2, HEIGHT - 6, "middle"),
    axisLabel(shortened(isolated(column) + (low > 0 ? " (the axis does not begin at 0)" : ""), width - 12), 4, 12, "start"),
    ...drawn,
    dense && series.length === 1 && svg("path", { class: "truth", d: path(truth.map(({ x: at, cell }) => [at, cell.exact!])) }),
    ...(dense ? [] : truth.map(({ x: at, cell }) => svg("path", { class: "exact", d: `M${x(at)} ${y(cell.exact!) - 5}l4 5l-4 5l-4 -5z` }))));
}

function point(cell: Cell, mark: Mark, x: number, y: number, series: number, dense: boolean): SVGElement {
  const weak = soundnessOf(cell) !== "sound";
  return svg("g", { class: "bar", onclick: mark.onpick }, svg("title", {}, titleOf(mark, cell)),
    svg("circle", { class: `${weak ? "point weak" : "point"} s${series}`, cx: x, cy: y, r: dense ? 2.2 : 4 }),
    svg("circle", { class: "reach", cx: x, cy: y, r: dense ? 5 : 11 }));
}

/** One line, and one for the model. */
function single(marks: readonly Mark[], place: (value: Row[string]) => number): Series[] {
  const sorted = marks.map((mark) => ({ x: place(mark.at[0]!), cell: mark as Cell, mark })).sort((a, b) => a.x - b.x);
  const fitted = sorted.flatMap(({ x, mark }) => mark.fitted ? [{ x, cell: mark.fitted, mark }] : []);
  return [{ name: "unbiased", points: sorted }, ...fitted.length ? [{ name: "fitted", points: fitted }] : []];
}

function several(marks: readonly Mark[], along: number, place: (value: Row[string]) => number): Series[] {
  const lines = new Map<Row[string], Mark[]>();
  for (const mark of marks) lines.set(mark.at[1 - along]!, [...lines.get(mark.at[1 - along]!) ?? [], mark]);
  return [...lines].map(([value, of]) => ({
    name: labelOf({ value }, ["value"]),
    points: of.map((mark) => ({ x: place(mark.at[along]!), cell: mark.fitted ?? mark, mark })).sort((a, b) => a.x - b.x),
  }));
}

/** The range of the axis: with 0, unless everything is far from it. */
function rangeOf(heights: readonly number[]): [number, number] {
  const finite = heights.filter(Number.isFinite);
  const [low, high] = extent(finite);
  const least = finite.reduce((most, value) => Math.min(most, value), Infinity);
  return low === 0 && least > high / 2 ? [least - (high - least) * 0.15, high] : [low, high];
}

/** Values to write below the axis: some of those that are there. */
function ticksAlong(values: readonly Row[string][], place: (value: Row[string]) => number, most: number): [number, string][] {
  const all = [...new Map(values.map((value) => [place(value), labelOf({ value }, ["value"])]))].sort(([a], [b]) => a - b);
  const step = Math.max(1, Math.ceil(all.length / Math.max(2, most)));
  return all.filter((_, i) => i % step === 0);
}
