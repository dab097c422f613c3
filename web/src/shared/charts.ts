/**
 * Small charts in SVG. Each is an image with one sentence for those who cannot see it; colours come from the stylesheet,
 * and nothing is said by colour alone.
 */
import { type Child, h, svg } from "./dom.js";
import { number, percent } from "./numbers.js";

/** The width of a drawing: what a narrow window has, so that its letters stay readable. */
const wide = (most: number): number => Math.max(280, Math.min(most, document.documentElement.clientWidth - 72));

/** A point of a curve, with the band around it if there is one. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
}

export interface LineOptions {
  readonly xName: string;
  readonly yName: string;
  /** Whether each axis is logarithmic. */
  readonly log?: { readonly x?: boolean; readonly y?: boolean };
  /** The point where things stand now. */
  readonly now?: Point;
}

/** Draw a curve, with a band if its points have one, and a mark at the present. */
export function lineChart(points: readonly Point[], sentence: string, options: LineOptions): SVGElement {
  const { xName, yName, log = {}, now } = options;
  const [width, height, left, bottom] = [wide(420), 240, 64, 40];
  const all = now ? [...points, now] : points;
  const x = scale(span(all.map((point) => point.x)), [left, width - 20], log.x);
  const heights = all.flatMap(({ y, low = y, high = y }) => [low, high]);
  const y = scale(log.y ? span(heights) : span([0, ...heights]), [height - bottom, 28], log.y);
  const path = (pick: (point: Point) => number, from: readonly Point[]): string =>
    from.map((point, i) => `${i ? "L" : "M"}${x(point.x).toFixed(1)} ${y(pick(point)).toFixed(1)}`).join("");
  const banded = points.filter(({ low, high }) => low !== undefined && high !== undefined);
  const band = banded.length > 1 &&
    `${path((p) => p.high!, banded)}${path((p) => p.low!, [...banded].reverse()).replace("M", "L")}Z`;
  return picture(width, height, sentence,
    ...y.ticks(4).map((tick) => svg("line", { class: "grid", x1: left, x2: width - 14, y1: y(tick), y2: y(tick) })),
    ...y.ticks(4).map((tick) => axisLabel(shortTick(tick), left - 8, y(tick) + 4, "end")),
    ...x.ticks(5).map((tick) => axisLabel(shortTick(tick), x(tick), height - bottom + 18, "middle")),
    axisLabel(xName, (left + width) / 2, height - 4, "middle"), axisLabel(shortened(yName, width - 12), 6, 10, "start"),
    band && svg("path", { class: "band", d: band }),
    svg("path", { class: "line", d: path((p) => p.y, points) }),
    now && svg("circle", { class: "now", cx: x(now.x), cy: y(now.y), r: 5 }));
}

/** A part of a whole, such as one service's share of a budget. */
export interface Part {
  readonly label: string;
  readonly value: number;
}

/** Draw what is used of a whole, part after part; patterns by order, so that colour is not needed. */
export function stackedBar(parts: readonly Part[], whole: number, sentence: string): SVGElement {
  const width = wide(640);
  const used = parts.reduce((total, { value }) => total + value, 0);
  const x = scale([0, Math.max(whole, used)], [2, width - 2]);
  let before = 0;
  const drawn = parts.map(({ label: name, value }, i) => {
    const [left, share] = [x(before), x(before + value) - x(before)];
    before += value;
    return svg("g", { class: `part part${i % 4}` }, svg("title", {}, `${name}: ${number(value)}`),
      svg("rect", { x: left, y: 8, width: Math.max(1, share - 2), height: 22, rx: 3 }),
      share > 7 * name.length + 10 && svg("text", { x: left + share / 2, y: 23, "text-anchor": "middle" }, name));
  });
  return picture(width, 38, sentence,
    svg("rect", { class: "track", x: 2, y: 8, width: width - 4, height: 22, rx: 4 }), ...drawn,
    svg("line", { class: "cap", x1: x(whole), x2: x(whole), y1: 2, y2: 36 }));
}

/** A guess and its probability; those that fit are the likelier ones. */
export interface Guess {
  readonly label: string;
  readonly probability: number;
  readonly fits: boolean;
}

/** Draw probabilities as bars of a common scale. */
export function probabilityBars(guesses: readonly Guess[], sentence: string): SVGElement {
  const most = Math.max(...guesses.map(({ probability }) => probability));
  const width = wide(640);
  const left = width * 0.42;
  const x = scale([0, most || 1], [left, width - 60]);
  return picture(width, guesses.length * 24 + 4, sentence, ...guesses.map(({ label: name, probability, fits }, i) =>
    svg("g", { class: fits ? "guess fits" : "guess" },
      svg("title", {}, `${name}: ${percent(probability, 2)}`),
      axisLabel(shortened(name, left - 14), left - 10, i * 24 + 17, "end"),
      svg("rect", { x: left, y: i * 24 + 4, width: Math.max(1, x(probability) - left), height: 16, rx: 3 }),
      axisLabel(percent(probability, probability < 0.01 ? 2 : 1), x(probability) + 6, i * 24 + 17, "start"))));
}

/** From a value to its place on the paper, with places for ticks. */
export interface Scale {
  (value: number): number;
  ticks(count: number): number[];
}

export function scale([low, high]: readonly [number, number], [from, to]: readonly [number, number], log = false): Scale {
  const place = log ? Math.log : (value: number): number => value;
  const [first, range] = [place(low), place(high) - place(low) || 1];
  const found = (value: number): number => from + (to - from) * ((place(value) - first) / range);
  return Object.assign(found, { ticks: (count: number) => log ? logTicks(low, high) : ticksOf(low, high, count) });
}

/** Return about so many round numbers within a range. */
export function ticksOf(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * (rough / unit >= 5 ? 10 : rough / unit >= 2 ? 5 : rough / unit >= 1 ? 2 : 1);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const digit of [1, 2, 5]) {
      const tick = digit * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) found.push(tick);
    }
  }
  return found.length > 7 ? found.filter((_, i) => i % 3 === 0) : found;
}

function span(values: readonly number[]): [number, number] {
  const finite = values.filter(Number.isFinite);
  return [Math.min(...finite), Math.max(...finite)];
}

/** The least and the most of many numbers, and 0; there may be more of them than a function takes arguments. */
export function extent(values: readonly number[]): [number, number] {
  return values.filter(Number.isFinite).reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
}

export function picture(width: number, height: number, sentence: string, ...children: Child[]): SVGElement {
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": sentence }, ...children);
}

export function axisLabel(text: string, x: number, y: number, anchor: "start" | "middle" | "end"): SVGElement {
  return svg("text", { x, y, "text-anchor": anchor }, text);
}

/** A tick: thousands and millions by their letters. */
export function shortTick(tick: number): string {
  return Math.abs(tick) < 10_000 || Math.abs(tick) >= 1e15 ? number(tick, 3) : tick.toLocaleString("en", { notation: "compact" }).replace("-", "−");
}

/** Letters of the charts, to measure with. */
const letters = h("canvas").getContext("2d");

/** Return as much of a text as fits into a width, in pixels. */
export function shortened(text: string, most: number): string {
  if (!letters) return text;
  letters.font = "12px system-ui, sans-serif";
  const fits = (part: string): boolean => letters.measureText(part).width <= most;
  if (fits(text)) return text;
  const all = Array.from(text);
  let [shown, beyond] = [0, all.length];
  while (beyond - shown > 1) {
    const middle = (shown + beyond) >> 1;
    if (fits(`${all.slice(0, middle).join("")}…`)) shown = middle;
    else beyond = middle;
  }
  return `${all.slice(0, shown).join("")}…${text.startsWith("\u2068") ? "\u2069" : ""}`;
}

let patterns = 0;

/** Make lines for what is too noisy to tell: the pattern, and how to fill with it. */
export function hatching(): [SVGElement, string] {
  const id = `hatch${++patterns}`; // a page may have several charts
  const lines = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return [svg("defs", {}, svg("pattern", lines, svg("line", { class: "hatch", x1: 1, x2: 1, y1: 0, y2: 6 }))), `url(#${id})`];
}
