/**
 * The shape of a contract's JSON, and the checks that it can be followed at all. `docs/wire.md` describes it.
 *
 * A pinned hash says that the bytes are the ones somebody reviewed, not that they are sound; so nothing is trusted.
 */
import { needContract } from "./errors.js";
import { exact, type Fraction, isAtMost, isReduced } from "./exact.js";
import { bytesOf, canonical, checkMembers, daysOf } from "./members.js";
import { BITS } from "./randomness.js";
import { isWhole } from "./whole.js";

export const MAX_BYTES = 256 * 1024;

const MAX_BOUND = 2n ** 53n;

export interface Attribute {
  readonly name: string;
  readonly kind: "ordinal" | "date" | "categorical" | "public";
  readonly low?: number | string;
  readonly high?: number | string;
  readonly step?: number | string;
  readonly fanout?: number;
  readonly cells?: number;
  readonly dither?: boolean;
  readonly outside?: "clamp";
  readonly values?: readonly (string | number)[];
  /** In place of values: the SHA-256 of a file with a value on each line, and how many there are. */
  readonly dictionary?: string;
  readonly size?: number;
  readonly other?: string | number;
  readonly null?: boolean;
  /** Of public columns: what they take. */
  readonly type?: "int" | "float" | "str" | "bool";
}

/** What a client needs to turn a value into a cell. */
export interface Levels {
  readonly count: number;
  readonly widths: readonly number[];
  /** Of partitions that are not the attribute's nested levels: how many values their first cells lack. */
  readonly offsets?: readonly number[] | undefined;
  /** Of levels by a calendar, which come first: the first value of each cell. */
  readonly starts?: readonly (readonly number[])[] | undefined;
  readonly ticks?: number | undefined;
}

export interface Oracle {
  readonly oracle: "grr" | "ss" | "lh" | "olh" | "oue";
  readonly flip?: number;
  readonly w?: number;
  readonly inside?: number;
  readonly outside?: number;
  readonly g?: number;
  readonly multipliers?: Readonly<Record<string, number>>;
  readonly one?: number;
  readonly zero?: number;
}

export interface ChannelData {
  readonly name: string;
  readonly epsilon: string;
  readonly draws: number;
  readonly codes: number;
  /** How many of all draws pick each view; without them all views are equally likely. */
  readonly weights?: readonly number[];
  readonly views: {
    readonly product?: readonly (readonly number[])[];
    readonly list?: readonly (readonly number[])[];
    /** Parities of bits of at most so many attributes: a view has a mask for each attribute, and two cells. */
    readonly parities?: number;
  };
  readonly by_domain: Readonly<Record<string, Oracle>>;
  readonly otherwise: Oracle | null;
}

export interface ServiceData {
  readonly name: string;
  readonly key: string;
  readonly at_most?: number;
  readonly sends?: number;
  readonly optional?: boolean;
  readonly attributes: readonly Attribute[];
  readonly layout: string;
  readonly why?: string;
  readonly levels: readonly Levels[];
  readonly derived?: readonly (readonly [number, "round" | "embed"])[];
  readonly channels: readonly ChannelData[];
}

export interface Contract {
  readonly tacit: number;
  readonly round: string;
  readonly tier?: string;
  /** Of a rotating panel: its name, its rounds, and how many of them a person reports in. */
  readonly panel?: string;
  readonly rounds?: number;
  readonly reports?: number;
  /** Whether views, seeds and places follow from a person's coin, which the collector hands out. */
  readonly assigned?: true;
  readonly epsilon: string;
  readonly mechanism: string;
  readonly oracle: string;
  readonly draw_bits: number;
  readonly services: readonly ServiceData[];
}

export { dateOf } from "./members.js";

/**
 * Return the contract of a JSON text, valid up to what is compiled for each service, which `Interpreter` checks. `bits`
 * differs from 53 only in tests that exhaust all draws.
 */
export function readContract(text: string, bits = BITS): Contract {
  needContract(bytesOf(text).length <= MAX_BYTES, "too-large");
  let data: Contract | null = null;
  let written = "";
  try {
    data = JSON.parse(text) as Contract | null;
    written = canonical(data);
  } catch {
    needContract(false, "not-json");
  }
  const version = data?.tacit;
  needContract(version === 1 || version === 2, "version");
  needContract(`${written}\n` === text, "not-canonical");
  checkMembers(data, "contract", version);
  const { draw_bits, round, tier = "-", panel, rounds, reports, assigned, mechanism, oracle, epsilon, services } = data!;
  const typed = services.some(({ attributes }) => attributes.some(isTyped));
  const designed = services.some(({ levels, channels }) =>
    levels.some(({ offsets }) => offsets) || channels.some(({ weights }) => weights));
  needContract((typed || designed || assigned || panel !== undefined) === version > 1, "version");
  needContract(draw_bits === bits, "draw-bits");
  [round, mechanism, oracle].forEach((label) => needLabel(label));
  needLabel(tier, 1);
  const isPanel = isLabel(panel ?? "") && panel && !round && isWhole(rounds, 2, 1000) && isWhole(reports, 1, rounds);
  needContract(panel === undefined || isPanel, "bad-panel");
  needBudget(epsilon);
  services.forEach(checkService);
  needDistinct(services.map(({ name }) => name));
  return data!;
}

/** Return whether a public column declares what it takes, or categories have an order or a dictionary. */
export function isTyped({ kind, values, type, dictionary, fanout }: Attribute): boolean {
  return (kind === "public" ? values ?? type : kind === "categorical" ? dictionary ?? fanout : undefined) !== undefined;
}

/** Labels are short, without control, line-breaking and direction characters. */
export function needLabel(text: string, least = 0): void {
  needContract(isLabel(text) && text.length >= least, "bad-label");
}

function isLabel(text: string): boolean {
  return /^[^\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{0,200}$/u.test(text);
}

/** Budgets are written in one way: as a decimal, or as a reduced fraction that has no decimal. */
export function needBudget(text: string): void {
  const known = /^(0|[1-9]\d{0,99})(\.\d{0,99}[1-9])?$|^[1-9]\d{0,99}\/[1-9]\d{0,99}$/.test(text);
  needContract(known, "bad-epsilon");
  const value = exact(text);
  needContract(value[0] && isAtMost(value, exact(30)) && (!text.includes("/") || isReduced(value)), "bad-epsilon");
}

function needName(name: string): void {
  needContract(/^[A-Za-z_]\w{0,62}$/.test(name), "bad-name");
  needContract(!/^(slot|channel|code|people|rng|progress|round|self|tier)$/i.test(name), "reserved-name");
}

function needDistinct(names: readonly string[]): void {
  needContract(new Set(names.map((name) => name.toLowerCase())).size === names.length, "duplicate-name");
}

function checkService({ name, key, at_most: most, sends, optional, attributes }: ServiceData): void {
  attributes.forEach(checkAttribute);
  needName(name);
  needName(key);
  needDistinct([key, ...attributes.map((attribute) => attribute.name)]);
  needContract(attributes.length <= 500, "domain-too-large");
  const sensitive = attributes.filter(({ kind }) => kind !== "public").length;
  needContract(sensitive, "empty-domain");
  if (most !== undefined) needContract(isWhole(most, 1, 1000) && isWhole(sends, 1, most) && !optional, "bad-option");
  needContract(sensitive === attributes.length || (most === undefined && !optional), "public-not-possible");
}

function checkAttribute(attribute: Attribute): void {
  const { name, kind, values, dictionary, size, other, type, fanout, cells, null: missing } = attribute;
  const listed = kind === "categorical";
  needContract(!listed || !values !== (dictionary === undefined), "bad-option");
  needContract(other === undefined || !values || values.includes(other), "bad-option");
  needName(name);
  if (dictionary !== undefined) {
    needContract(/^[0-9a-f]{64}$/.test(dictionary) && size! >= 1 && typeof (other ?? "") === "string", "bad-option");
    needContract(size! <= 1_000_000, "domain-too-large");
  }
  if (values) {
    const first = typeof values[0];
    needContract(values.every((value) => typeof value === first), "bad-option");
    needContract(new Set(values).size === values.length, "duplicate-name");
    const storable = (value: string | number): boolean =>
      typeof value === "string" ? kind !== "public" || !value.includes("\0") : Math.abs(value) < 2 ** 53;
    needContract(values.every(storable), "bad-option");
  }
  if (kind === "public") {
    needContract(type === undefined || (!values && /^(int|float|str|bool)$/.test(type)), "bad-option");
    needContract(!missing || isTyped(attribute), "bad-option");
  } else if (listed) {
    needContract(fanout === undefined || (isWhole(fanout, 2, 64) && other === undefined), "bad-option");
  } else {
    needContract(isWhole(fanout, 2, 64) && (cells ?? 2) >= 2, "bad-option");
    const ticks = countTicks(attribute);
    needContract(ticks <= 2 ** 31, "domain-too-large");
    needContract((cells ?? 0) <= ticks, "bad-option");
    needContract((cells ?? ticks) <= 1_000_000, "domain-too-large");
  }
}

/** Return the number of steps between the bounds of an ordinal attribute, both included. */
function countTicks(attribute: Attribute): number {
  const [low, high] = [attribute.low, attribute.high].map((value) => needBound(bound(attribute, value))) as [Fraction, Fraction];
  const range = high[0] * low[1] - low[0] * high[1];
  needContract(range >= 0n, "empty-domain");
  const step = needBound(attribute.step);
  needContract(step[0] > 0n, "bad-bound");
  const top = range * step[1];
  const bottom = high[1] * low[1] * step[0];
  needContract(top % bottom === 0n, "uneven-step");
  return Number(top / bottom) + 1;
}

function needBound(value: unknown): Fraction {
  const [top, bottom] = exact(value);
  const limit = MAX_BOUND * bottom;
  needContract(-limit < top && top < limit, "bad-bound");
  return [top, bottom];
}

/** Return the levels that follow from an attribute, or the partitions with offsets that a contract has for it. */
export function levelsOf(attribute: Attribute, given?: Levels): Levels {
  const { kind, values, size, fanout, cells, null: missing } = attribute;
  const ticks = kind === "categorical" ? undefined : countTicks(attribute);
  const count = cells ?? ticks ?? size ?? values!.length;
  const nested = widthsOf(count, fanout ?? Infinity, missing);
  if (!given?.offsets || !fanout) return { ticks, count, widths: nested };
  const { widths, offsets, starts } = given;
  const dated = (starts ?? []).every((own, j) => own.length > (starts![j - 1]?.length ?? 1) && own.length < count &&
    own.every((start, i) => isWhole(start, i ? own[i - 1]! + 1 : 0, i ? count - 1 : 0)));
  const possible = dated && widths.length === offsets.length && widths.length + (starts?.length ?? 0) <= 256 && widths.at(-1) === 1 &&
    widths.every((width, i) => isWhole(width, 1, count) && isWhole(offsets[i], 0, width - 1) &&
      (missing || count + offsets[i] > width) &&
      (!i || width < widths[i - 1]! || (width === widths[i - 1] && offsets[i] > offsets[i - 1]!)));
  needContract(possible && (starts || offsets.some(Boolean) || `${widths}` !== `${nested}`), "bad-levels");
  return { ticks, count, widths, offsets, starts };
}

/** Return the widths of the levels below the root, coarsest first. */
export function widthsOf(count: number, fanout: number, missing = false): number[] {
  if (count === 1 && !missing) return [];
  const widths = [1];
  while (widths[0]! * fanout < count) widths.unshift(widths[0]! * fanout);
  return widths;
}

/** Return a declared bound as it is written; dates count as days. */
export function bound(attribute: Attribute, value: unknown): number | string {
  return attribute.kind === "date" ? daysOf(value) : value as number | string;
}
