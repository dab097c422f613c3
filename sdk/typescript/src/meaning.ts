/**
 * What a report could mean: the cells that would make its code most likely. Every code is possible for every row, so
 * this is what anyone who sees the report would guess, not what the row was.
 */
import { bound, dateOf, type Oracle } from "./contract.js";
import { cellCount, type Channel, firstOf, type View } from "./channel.js";
import type { Service } from "./interpreter.js";
import { BITS } from "./randomness.js";
import { isDithered, type Known } from "./record.js";
import type { Step } from "./steps.js";
import { choose, power, quotient } from "./whole.js";

/** Cells up to which likely ones are listed, and how many of those. */
const MOST_CELLS = 20_000;
const LISTED = 8;

/** One code of a report, explained. */
export interface Meaning {
  readonly slot: number;
  readonly channel: string;
  readonly code: number;
  /** Attributes the code tells of at all; none if it is about whether there are rows. */
  readonly about: readonly string[];
  /** The first few of the guesses that fit the code best. */
  readonly likely: readonly string[];
  /** How many guesses fit it best, of how many; undefined where there are too many to count. */
  readonly fitting?: number;
  readonly cells: number;
  /** Probability that the truth is among the guesses that fit best. */
  readonly kept: number;
  /** How many times likelier a guess that fits best makes the code than one that does not. */
  readonly ratio: number;
}

export function meaningOf(service: Service, channel: Channel, slot: number, code: number): Meaning {
  const view = channel.views.filter((one) => one.offset <= code).at(-1)!;
  const { sizes, domain: cells } = view.step;
  const fitting = cells <= MOST_CELLS ? supported(view.step, code - view.offset) : undefined;
  const labels = (fitting ?? []).map((flat) =>
    channel.parities ? `${flat ? "odd" : "even"} bits` : cellText(service, view, unflatten(flat, sizes)));
  return {
    slot, code, channel: channel.name, cells, ...odds(view.step),
    about: view.active.filter((i) => view.levels[i]).map((i) => service.attributes[i]!.name),
    likely: labels.filter((label) => label !== undefined).slice(0, LISTED),
    ...(fitting ? { fitting: fitting.length } : {}),
  };
}

/** Return the words for a cell; undefined for the combinations beside extra cells that no row has. */
function cellText(service: Service, view: View, cells: readonly number[]): string | undefined {
  const own = view.step.sizes[0]! - service.extras;
  const extra = cells[0]! - own;
  if (extra >= 0) return cells.some((cell, i) => i && cell) ? undefined : extra ? "no row drawn" : "no rows at all";
  if (!view.levels.some((level) => level)) return "a row";
  return cells.map((cell, i) => {
    const place = view.active[i]!;
    const attribute = service.attributes[place]!;
    return `${attribute.name} ${levelText(attribute, view.levels[place]!, cell)}`;
  }).join(", ");
}

function levelText(attribute: Known, level: number, cell: number): string {
  const { values, fanout, kind } = attribute;
  if (attribute.null && cell === cellCount(attribute, level) - 1) return "missing";
  const first = firstOf(attribute, level, cell);
  const last = firstOf(attribute, level, cell + 1) - 1;
  if (values) return fanout && last > first ? `${values[first]} to ${values[last]}` : values.slice(first, last + 1).join(" or ");
  if (kind === "categorical") return `${first + 1} of the list`;
  const [low, high] = [valueText(attribute, first, 0), valueText(attribute, last, 1)];
  return low === high ? low : `${low}..${high}`;
}

/** Return the value of an index: exact steps, the representative a dithered value is rounded to, or a bin's edge. */
function valueText(attribute: Known, index: number, edge: 0 | 1): string {
  const { kind, count, ticks } = attribute;
  if (ticks === undefined) return `${index} of ${count}`; // made of another attribute at random
  const low = Number(bound(attribute, attribute.low));
  const range = Number(bound(attribute, attribute.high)) - low;
  const share = isDithered(attribute) || count === ticks ? index / Math.max(1, count - 1) : (index + edge) / count;
  const value = low + range * share;
  return kind === "date" ? dateOf(Math.round(value)) : String(Number(value.toPrecision(10)));
}

/** Return the probability that the truth is among the cells that fit best, and how much likelier those make the code. */
function odds(step: Step): Pick<Meaning, "kept" | "ratio"> {
  const { domain, entry: { one, w } } = step;
  if (domain === 1) return { kept: 1, ratio: 1 };
  const [truth, lie] = step.weights.map(Number) as [number, number];
  const kept = one ?? (w ? choose(domain - 1, w - 1) : 1) * truth;
  return { kept: kept / 2 ** BITS, ratio: truth / lie };
}

/** Which cells a code supports, by the name of its step: whether it supports a flat cell. */
const SUPPORTS: Readonly<Record<Oracle["oracle"], (step: Step, code: number) => (flat: number) => boolean>> = {
  grr: (_, code) => (flat) => flat === code,
  ss: ({ domain, entry }, code) => {
    const set = members(domain, entry.w!, code - 1);
    return (flat) => code === 0 || set.includes(flat);
  },
  lh: (step, code) => code === 0 ? () => true : hashesTo(step, code - 1),
  olh: (step, code) => hashesTo(step, code),
  oue: (_, code) => (flat) => quotient(code, power(2, flat)) % 2 === 1,
};

/** Return the flat cells that make a code of a view most likely; all of them for a code that tells nothing. */
function supported(step: Step, code: number): number[] {
  return Array.from({ length: step.domain }, (_, flat) => flat).filter(SUPPORTS[step.entry.oracle](step, code));
}

function hashesTo(step: Step, code: number): (flat: number) => boolean {
  const g = step.entry.g!;
  return (flat) => step.hash!(unflatten(flat, step.sizes), quotient(code, g)) === code % g;
}

function unflatten(flat: number, sizes: readonly number[]): number[] {
  const cells: number[] = [];
  for (const size of [...sizes].reverse()) {
    cells.unshift(flat % size);
    flat = quotient(flat, size);
  }
  return cells;
}

/** Return the subset of a colexicographic rank. */
function members(domain: number, size: number, rank: number): number[] {
  const found: number[] = [];
  for (let place = domain - 1; place >= 0 && size > 0; place--) {
    const ways = choose(place, size);
    if (rank >= ways) {
      rank -= ways;
      size--;
      found.push(place);
    }
  }
  return found;
}
