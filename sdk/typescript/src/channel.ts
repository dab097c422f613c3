/**
 * One channel: its views, checked and compiled, and the code of a row's values.
 */
import { type ChannelData, needBudget, needLabel } from "./contract.js";
import { needContract } from "./errors.js";
import type { Known } from "./record.js";
import { type Step, stepOf } from "./steps.js";
import { type Limits, readViews } from "./views.js";
import { isWhole, product, quotient } from "./whole.js";

/** A view: its level of each attribute, the attributes it tells of, how it is drawn and the first of its codes. */
export interface View {
  readonly levels: readonly number[];
  readonly active: readonly number[];
  readonly step: Step;
  readonly offset: number;
}

export interface Channel {
  readonly name: string;
  readonly epsilon: string;
  readonly draws: number;
  readonly views: readonly View[];
  /** Whether views have masks of bits for levels, and report their parity. */
  readonly parities: boolean;
  /** Return the code of a row's values or, if it is none, of an extra cell: the same work in both cases. */
  readonly encode: (values: readonly number[], isRow: boolean, extra: number, draws: readonly number[]) => number;
}

export function channelOf(
  data: ChannelData, attributes: readonly Known[], extras: number, span: number, left: Limits,
): Channel {
  const { name, epsilon, draws, by_domain: domains, otherwise } = data;
  needLabel(name);
  needBudget(epsilon);
  let offset = 0;
  let answers = 0;
  let fits = true;
  const parities = data.views.parities !== undefined;
  const tops = attributes.map(({ widths, starts = [] }) => starts.length + widths.length);
  const steps = new Map<string, Step>(); // views of equal sizes share one
  const all = readViews(data.views, tops, attributes.map((attribute, i) => cellCount(attribute, tops[i]!)), extras, left);
  let total = 0;
  const weights = data.weights?.map((weight) => total += isWhole(weight, 1, 2 ** 20) ? weight : NaN); // added up
  needContract(!weights || (weights.length === all.length && total <= 2 ** 20 && !(total & total - 1)), "bad-weights");
  const views = all.map((levels): View => {
    const below = levels.flatMap((level, i) => level ? [i] : []);
    const active = below.length ? below : [0];
    const sizes = parities ? [2] : active.map((i) => cellCount(attributes[i]!, levels[i]!));
    sizes[0]! += extras;
    let step = steps.get(`${sizes}`);
    if (!step) {
      const domain = product(sizes);
      needContract(domain < 2 ** 53, "codes-too-large");
      const entry = domains[domain] ?? otherwise;
      needContract(entry, "no-oracle");
      steps.set(`${sizes}`, step = stepOf(entry, sizes, span));
    }
    const view = { levels, active, step, offset };
    fits &&= step.codes <= 2 ** 53 - offset; // the sum may be rounded
    offset += step.codes;
    answers = Math.max(answers, step.answers);
    return view;
  });
  needContract(fits, "codes-too-large");
  // With fewer draws than a view takes, or overlapping codes, a report would lose its noise or its meaning.
  needContract(draws === 2 + answers, "bad-draws");
  needContract(data.codes === offset, "bad-codes");
  const made = [...steps.values()];
  const digits = made.flatMap((step) => step.digits ?? []);
  const isUsed = (entries: object, numbers: readonly number[]): boolean =>
    `${Object.keys(entries)}` === `${[...new Set(numbers)].sort((a, b) => a - b)}`;
  const used = made.flatMap(({ entry, domain }) => entry === otherwise ? [] : [domain]);
  needContract(isUsed(domains, used) && isUsed(otherwise?.multipliers ?? {}, digits), "unused-entry");
  needContract(!otherwise || digits.length, "unused-entry");
  return {
    name, epsilon, draws, views, parities,
    encode(values, isRow, extra, [pick, ...draws]) {
      const { levels, active, step, offset } =
        views[weights ? weights.findIndex((upTo) => pick! % total < upTo) : pick! % views.length]!;
      const cells = parities
        ? [parity(active.reduce((bits, i) => bits ^ values[i]! & levels[i]!, 0))]
        : active.map((i) => cellOf(attributes[i]!, levels[i]!, values[i]!));
      const none = step.sizes.map((size, i) => i ? 0 : size - extras + extra);
      return offset + step.draw(isRow ? cells : none, draws);
    },
  };
}

/** Return whether the number of bits that are set is odd. */
function parity(bits: number): number {
  for (const by of [16, 8, 4, 2, 1]) bits ^= bits >> by;
  return bits & 1;
}

/** Return the number of cells of a level; NULL is one of its own below the root. */
export function cellCount(attribute: Known, level: number): number {
  return level === 0 ? 1 : cellAt(attribute, level, attribute.count - 1) + (attribute.null ? 2 : 1);
}

/** Return the cell of a value on a level below the root: the same work for every value. */
function cellAt({ widths, offsets, starts = [] }: Known, level: number, value: number): number {
  const run = level - 1 - starts.length;
  return run < 0 ? starts[level - 1]!.filter((start) => start <= value).length - 1
    : quotient(value + (offsets?.[run] ?? 0), widths[run]!);
}

/** Return the first value of a cell on a level below the root. */
export function firstOf({ widths, offsets, starts = [], count }: Known, level: number, cell: number): number {
  const run = level - 1 - starts.length;
  const first = run < 0 ? starts[level - 1]![cell] : Math.max(0, cell * widths[run]! - (offsets?.[run] ?? 0));
  return Math.min(first ?? count, count);
}

function cellOf(attribute: Known, level: number, value: number): number {
  if (level === 0) return 0;
  const cell = cellAt(attribute, level, value);
  const last = cellCount(attribute, level) - 1;
  return attribute.null && value === attribute.count ? last : cell;
}
