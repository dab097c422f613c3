/** Two groups as a grid: a heat map, or cells of a map where the groups are latitude and longitude. */
import { axisLabel, hatching, picture, shortened, shortTick } from "../shared/charts.js";
import { type Child, isolated, svg } from "../shared/dom.js";
import { plusMinus } from "../shared/numbers.js";
import { type Mark, placeOf, placesOf, type Shown, titleOf } from "./marks.js";
import { labelOf, type Row } from "./model.js";
import { type Cell, halfOf, soundnessOf } from "./verdict.js";

/** What a cell shows: the unbiased or the fitted value. */
export type Reading = (mark: Mark) => Cell;

/** A cell's place on the paper. */
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Draw a grid of two groups; the group with fewer values goes to the right, so that it fits. */
export function heatMap({ groups, marks, column }: Shown, sentence: string, width: number, read: Reading): SVGElement {
  const sizes = [0, 1].map((place) => new Set(marks.map(({ at }) => at[place])).size) as [number, number];
  const across = sizes[0] < sizes[1] && sizes[1] > 8 ? 0 : 1;
  const [columns, rows] = [across, 1 - across].map((place) => axisOf(marks, place)) as [Axis, Axis];
  const left = Math.min(width < 400 ? 84 : 150, width / 4);
  const cell = (width - left - 4) / columns.values.length;
  const height = Math.max(8, Math.min(34, Math.max(cell, 18), 900 / rows.values.length));
  const every = Math.ceil(34 / cell);
  const low = Math.ceil(14 / height);
  const bottom = 26 + rows.values.length * height;
  return grid(marks, read, (mark) => ({
    x: left + columns.turn(mark.at[across]!) * cell, y: 26 + rows.turn(mark.at[1 - across]!) * height, width: cell, height,
  }), column, (children) => picture(width, bottom + 60, sentence, ...children,
    axisLabel(shortened(`${isolated(groups[1 - across] ?? "")} ↓   ${isolated(groups[across] ?? "")} →`, width - 12), 4, 12, "start"),
    ...rows.values.map((value, i) => i % low === 0 && axisLabel(shortened(nameOf(value), left - 12), left - 8, 26 + (i + 0.5) * height + 4, "end")),
    ...columns.values.map((value, i) => i % every === 0 && axisLabel(shortened(nameOf(value), Math.max(34, cell * every) - 6), left + (i + 0.5) * cell, bottom + 16, "middle"))),
  { left, top: bottom + 28, width });
}

/** Draw cells of a map, north above and to scale at the middle latitude. */
export function mapCells({ groups, marks, column }: Shown, sentence: string, room: number, read: Reading): SVGElement {
  const { lat, lon } = placeOf(groups)!;
  const width = Math.min(room, 640);
  const [easts, norths] = [axisOf(marks, lon), axisOf(marks, lat)];
  const [stepEast, stepNorth] = [stepOf(easts), stepOf(norths)];
  const [west, south] = [Number(easts.values[0]) - stepEast / 2, Number(norths.values[0]) - stepNorth / 2];
  const [spanEast, spanNorth] = [Number(easts.values.at(-1)) + stepEast / 2 - west, Number(norths.values.at(-1)) + stepNorth / 2 - south];
  const narrow = Math.max(0.05, Math.cos(((south + spanNorth / 2) * Math.PI) / 180));
  const left = 58;
  const unit = Math.min((width - left - 8) / (spanEast * narrow), 560 / spanNorth);
  const [wide, high] = [spanEast * narrow * unit, spanNorth * unit];
  const kilometres = niceLength((spanEast * narrow * 111.32) / 4);
  const across = (value: number): number => left + (value - west) * narrow * unit;
  const down = (value: number): number => 14 + (south + spanNorth - value) * unit;
  const edges = (from: number, span: number): number[] => [0, 0.5, 1].map((share) => from + share * span);
  return grid(marks, read, ({ at }) => ({
    x: across(Number(at[lon]) - stepEast / 2), y: down(Number(at[lat]) + stepNorth / 2), width: stepEast * narrow * unit, height: stepNorth * unit,
  }), column, (children) => picture(width, high + 78, sentence, ...children,
    svg("rect", { class: "frame", x: left, y: 14, width: wide, height: high }),
    ...edges(south, spanNorth).map((value) => axisLabel(degrees(value, "N", "S"), left - 6, down(value) + 4, "end")),
    ...edges(west, spanEast).map((value, i) => axisLabel(degrees(value, "E", "W"), across(value), high + 30, (["start", "middle", "end"] as const)[i]!)),
    svg("path", { class: "axis", d: `M${left + wide - (kilometres / 111.32) * unit} ${high + 42}H${left + wide}` }),
    axisLabel(`${shortTick(kilometres)} km`, left + wide, high + 56, "end")),
  { left, top: high + 46, width: left + wide * 0.66 });
}

/** Draw the cells with their values where these fit, and a key; shades go from the least value to the most. */
function grid(marks: readonly Mark[], read: Reading, place: (mark: Mark) => Box, column: string, around: (children: Child[]) => SVGElement, key: { left: number; top: number; width: number }): SVGElement {
  const values = marks.flatMap((mark) => [mark.value, mark.fitted?.value ?? NaN]).filter(Number.isFinite); // both readings have one scale
  const least = values.reduce((most, value) => Math.min(most, value), 0);
  const most = values.reduce((found, value) => Math.max(found, value), 0);
  const shade = (value: number): number => Number.isFinite(value) ? 0.06 + 0.94 * Math.max(0, (value - Math.max(0, least)) / (most - Math.max(0, least) || 1)) : 0;
  const [pattern, hatched] = hatching();
  const cells = marks.map((mark) => {
    const [cell, box] = [read(mark), place(mark)];
    const weak = soundnessOf(cell) !== "sound";
    const text = box.width >= 46 && box.height >= 16 && (Number.isFinite(cell.value) ? compact(cell) : "–");
    return svg("g", { class: weak ? "bar cell weak" : "bar cell", onclick: mark.onpick },
      svg("title", {}, titleOf(mark, cell)),
      svg("rect", { class: "shade", ...box, "fill-opacity": shade(cell.value).toFixed(3) }),
      weak && svg("rect", { ...box, fill: hatched }),
      text && axisLabel(shortened(text, box.width - 4), box.x + box.width / 2, box.y + box.height / 2 + 4, "middle"));
  });
  const steps = 24;
  const span = Math.min(160, key.width - key.left - 120);
  return around([pattern, ...cells,
    ...Array.from({ length: steps }, (_, i) => svg("rect", { class: "shade", x: key.left + (i * span) / steps, y: key.top, width: span / steps + 0.5, height: 9, "fill-opacity": (0.06 + (0.94 * i) / (steps - 1)).toFixed(3) })),
    axisLabel(shortTick(Number(Math.max(0, least).toPrecision(2))), key.left, key.top + 22, "start"), axisLabel(shortTick(Number(most.toPrecision(2))), key.left + span, key.top + 22, "end"),
    axisLabel(shortened(isolated(column), 110), key.left + span + 8, key.top + 9, "start")]);
}

interface Axis {
  readonly values: readonly Row[string][];
  readonly turn: (value: Row[string]) => number;
}

/** The values of a group in their order, and the turn of each. */
function axisOf(marks: readonly Mark[], place: number): Axis {
  const all: Row[string][] = marks.map(({ at }) => at[place]!);
  const where = placesOf(all);
  const values = [...new Set(all)].sort((a, b) => where(a) - where(b));
  const turns = new Map(values.map((value, turn) => [value, turn]));
  return { values, turn: (value) => turns.get(value)! };
}

/** The distance of neighbouring values; a whole degree where there is one value only. */
function stepOf({ values }: Axis): number {
  return values.slice(1).reduce<number>((least, value, i) => Math.min(least, Number(value) - Number(values[i])), Infinity) || 1;
}

const nameOf = (value: Row[string]): string => labelOf({ value }, ["value"]);

const compact = (cell: Cell): string => Number.isFinite(halfOf(cell)) ? plusMinus(cell.value, halfOf(cell))[0] : shortTick(cell.value);

const degrees = (value: number, above: string, below: string): string => `${Number(Math.abs(value).toFixed(2))}° ${value < 0 ? below : above}`;

/** A round number of kilometres at most as long as this. */
function niceLength(most: number): number {
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * (most / unit >= 5 ? 5 : most / unit >= 2 ? 2 : 1);
}
