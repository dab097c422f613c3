/** What to make of an answer: one sentence, which says "act on it" only if noise, liars and selection all allow it. */
import { atMost, number, percent } from "../shared/numbers.js";
import { type Answer, numberOf, type Row } from "./model.js";

/** One estimate of a row. */
export interface Cell {
  readonly value: number;
  readonly error: number;
  readonly low: number;
  readonly high: number;
  /** How far 1 % of people who lie could move it; not a number where nothing bounds it. */
  readonly shift: number;
  readonly exact: number | undefined;
}

/** Return an estimate of a row; what the collector could not give is not a number, or without end. */
export function cellOf(row: Row, name: string, exact?: number): Cell {
  return {
    value: numberOf(row[name], NaN), error: numberOf(row[`${name}_error`], NaN),
    low: numberOf(row[`${name}_low`], -Infinity), high: numberOf(row[`${name}_high`], Infinity),
    shift: numberOf(row[`${name}_max_shift_per_1pct`], NaN), exact,
  };
}

/** How an estimate can be read: by its interval, as too noisy, or not at all. */
export type Soundness = "sound" | "weak" | "no error" | "no value";

export function soundnessOf({ value, error, low, high }: Cell): Soundness {
  if (!Number.isFinite(value)) return "no value";
  if (!Number.isFinite(error)) return "no error";
  if (value === 0 && low === high) return "sound";
  return low > 0 || high < 0 ? "sound" : "weak";
}

/** Up to this share of its value, an estimate is sharp. */
const SHARP = 0.25;

/** More people than this take part in nothing. */
const MOST_PEOPLE = 1e9;

export interface Judged {
  readonly answer: Answer;
  readonly cells: readonly Cell[];
  readonly people: number | undefined;
  readonly confidence: number;
  /** Whether rows were chosen or ordered by their estimates. */
  readonly chosen: boolean;
}

/** Reports that were acknowledged and are not in the answer. */
export function missing({ watermark }: Answer): number {
  return watermark ? watermark.acknowledged - watermark.counted : 0;
}

/** What to make of an answer, in a sentence and in one of three tones. */
export interface Verdict {
  readonly tone: "good" | "warn" | "bad";
  readonly text: string;
}

/** Return what to make of an answer, and the next best thing to do. */
export function verdict(judged: Judged): Verdict {
  const { cells, answer } = judged;
  if (missing(answer) > 0) return { tone: "bad", text: "No verdict: this answer does not count all reports. Run it again later." };
  const without = cells.filter((cell) => ["no error", "no value"].includes(soundnessOf(cell))).length;
  if (without) {
    const which = cells.length > 1 ? `${without === cells.length ? "all" : `${number(without, 9)} of ${number(cells.length, 9)}`} rows` : "this estimate";
    return { tone: "bad", text: `No verdict: the error of ${which} is not meaningful. Ask about more people: remove conditions, or merge groups.` };
  }
  const weak = cells.filter((cell) => soundnessOf(cell) === "weak");
  if (!weak.length) return sharpness(judged);
  return { tone: weak.length === cells.length ? "bad" : "warn", text: tooNoisy(weak, judged) };
}

function tooNoisy(weak: readonly Cell[], judged: Judged): string {
  const { cells, people } = judged;
  const what = cells.length > 1
    ? `${weak.length === cells.length ? "All" : `${number(weak.length, 9)} of`} ${number(cells.length, 9)} rows ${weak.length === 1 ? "is" : "are"} too noisy to tell: merge groups or remove conditions.`
    : "Too noisy to tell: remove a condition, widen a range, or join fewer services.";
  const worst = weak.reduce((most, cell) => Math.max(most, halfOf(cell) / Math.abs(cell.value)), 0);
  const others = weak.length < cells.length ? selection(judged) + comparison(judged) : "";
  if (!people) return what + others;
  return `${what}${others} ${cells.length > 1 ? "If every row were as large as it looks" : "If it is as large as it looks"}, ${peopleNeeded(people * worst ** 2, people)}.`;
}

/** Say how many people an accuracy takes, as a part of a sentence; no number that nobody could reach. */
export function peopleNeeded(needed: number, people: number): string {
  if (!(needed <= MOST_PEOPLE)) {
    return "it would take more than a billion people: raise epsilon in the next round, widen the range or merge groups instead";
  }
  const many = number(Number(Math.max(1, needed).toPrecision(2)), 12);
  return needed <= people ? `about ${many} people are enough; there are ${number(people, 9)}`
    : `it would take about ${many} people; there are ${number(people, 9)}`;
}

function sharpness(judged: Judged): Verdict {
  const { cells, chosen } = judged;
  const noise = worstOf(cells, halfOf);
  const lies = worstOf(cells, ({ shift }) => shift);
  const within = noise ? `within ${shareText(noise)} of the value` : "known without noise";
  const warn = (text: string): Verdict => ({ tone: "warn", text });
  if (noise > SHARP) return warn(`A rough estimate: ${within}.${caution(cells, noise)} Wider ranges or fewer groups make it more accurate.`);
  if (!(lies <= SHARP)) return warn(`The noise is small (${within}), but${caution(cells, noise)} Act on it only if you trust the people who report.${selection(judged)}`);
  if (chosen) return warn(`The noise is small (${within}).${selection(judged)}${caution(cells, noise)}`);
  return { tone: "good", text: `${noise ? "Accurate enough to act on: " : "This is "}${within}.${caution(cells, noise)}${comparison(judged)}` };
}

const shareText = (share: number): string => share < 0.001 ? "0.1\u00a0%" : percent(share, share < 0.1 ? 1 : 0);

/** What liars could do: how far where it is more than noise does, and that it is less where it is not. */
function caution(cells: readonly Cell[], noise: number): string {
  const lies = worstOf(cells, ({ shift }) => shift);
  if (lies <= noise) return noise ? " 1\u00a0% of people who lie together could move it by less than that." : "";
  const most = cells.reduce((found, { shift }) => Math.max(found, Number.isFinite(shift) ? shift : Infinity), 0);
  const far = Number.isFinite(lies) ? `up to ${shareText(lies)} of the value` : Number.isFinite(most) ? `up to ${atMost(most)}` : "any amount";
  return ` 1\u00a0% of people who lie together could move it by ${far}.`;
}

/** Rows at the top are there because they are large or because their noise is. */
function selection({ chosen }: Judged): string {
  return chosen
    ? " Rows were selected or sorted by noisy estimates: extremes look more extreme than they are, beyond their intervals. Confirm them in another round." : "";
}

/** Many intervals: some miss. */
function comparison({ cells, confidence }: Judged): string {
  if (cells.length < 2) return "";
  const missed = cells.length * (1 - confidence);
  return " Rows whose intervals overlap may be equal." +
    (missed >= 1 ? ` Of ${number(cells.length, 9)} intervals at ${percent(confidence, 6)}, expect ${number(Math.round(missed), 9)} to miss.` : "");
}

export const halfOf = ({ low, high }: Pick<Cell, "low" | "high">): number => (high - low) / 2;

/** The largest share of a value that something is; without end if it is not known for one of them. */
function worstOf(cells: readonly Cell[], part: (cell: Cell) => number): number {
  return cells.reduce((most, cell) => {
    const size = part(cell);
    return Math.max(most, Number.isFinite(size) ? (size === 0 ? 0 : size / Math.abs(cell.value)) : Infinity);
  }, 0);
}
