/**
 * The shape of a contract's JSON, and the checks that it can be followed at all. `docs/wire.md` describes it.
 *
 * A pinned hash says that the bytes are the ones somebody reviewed, not that they are sound; so nothing is trusted.
 */
import { ContractError, needContract } from "./errors.js";
import { exact, type Fraction } from "./exact.js";
import { BITS } from "./randomness.js";

export const VERSION = 1;

export const MAX_BYTES = 256 * 1024;

/** Above this a draw cannot hold the probability of a lie. */
const MAX_EPSILON = 30n;

/** Views of a collection; the compiler makes no more. */
const MAX_VIEWS = 100_000;

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
  readonly other?: string | number;
  readonly null?: boolean;
}

/** What a client needs to turn a value into a cell. */
export interface Levels {
  readonly count: number;
  readonly widths: readonly number[];
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
  readonly levels: readonly Levels[];
  readonly derived?: readonly (readonly [number, "round" | "embed"])[];
  readonly channels: readonly ChannelData[];
}

export interface Contract {
  readonly tacit: number;
  readonly round: string;
  readonly tier?: string;
  readonly epsilon: string;
  readonly draw_bits: number;
  readonly services: readonly ServiceData[];
}

export function isWhole(value: unknown, low: number, high: number): value is number {
  return Number.isInteger(value) && low <= (value as number) && (value as number) <= high;
}

/**
 * Return the contract of a JSON text; what is not of its shape may raise any error, which the caller replaces. `bits`
 * differs from 53 only in tests that exhaust all draws.
 */
export function readContract(text: string, bits = BITS): Contract {
  if (text.length > MAX_BYTES) throw new ContractError("The contract is too large.", "contract-too-large");
  let data: Contract | null;
  try {
    data = JSON.parse(text) as Contract | null;
  } catch {
    throw new ContractError("The contract is not JSON. Fetch it again.", "contract-not-json");
  }
  if (data?.tacit !== VERSION || data.draw_bits !== bits) {
    throw new ContractError(`This is not a contract of version ${VERSION}. Update the client.`, "contract-version");
  }
  data.services.forEach(checkService);
  needBudget(data.epsilon);
  return data;
}

function checkService(service: ServiceData): void {
  const { at_most: most, sends = 1, attributes, levels, derived = [], channels } = service;
  const sensitive = attributes.filter((attribute) => attribute.kind !== "public");
  needContract(sensitive.length && sensitive.length === levels.length, "levels");
  sensitive.forEach((attribute, i) => checkAttribute(attribute, levels[i]!));
  needContract(most === undefined || isWhole(most, 1, 1000), "at_most");
  needContract(isWhole(sends, 1, most ?? 1), "sends");
  for (const [source, kind] of derived) {
    if ((kind as string) === "pair") throw new ContractError("Clients do not offer double rounding.", "not-for-clients");
    const known = sensitive[source];
    const possible = known && known.kind !== "categorical" && !known.null && levels[source]!.count > 1;
    needContract(possible && (kind === "round" || kind === "embed"), "derived");
  }
  const extras = most !== undefined || service.optional;
  needContract(!extras || (sensitive.length === attributes.length && !derived.length), "attributes");
  needContract(channels.length, "channels");
  channels.forEach((channel) => needBudget(channel.epsilon));
}

/** A budget below 0 would hide what another one spends. */
function needBudget(epsilon: unknown): void {
  const { top, bottom } = exact(epsilon);
  needContract(top > 0n && top <= MAX_EPSILON * bottom, "epsilon");
}

function checkAttribute(attribute: Attribute, { count, widths, ticks }: Levels): void {
  const what = attribute.name;
  needContract(isWhole(count, 1, 1_000_000) && widths.every((width) => isWhole(width, 1, count)), what);
  if (attribute.kind === "categorical") {
    const values = attribute.values!;
    const kind = typeof values[0];
    const alike = (kind === "string" || kind === "number") && values.every((value) => typeof value === kind);
    needContract(alike && new Set(values).size === count && values.length === count, what);
    needContract(attribute.other === undefined || values.includes(attribute.other), what);
    return;
  }
  const [low, high, step] = [attribute.low, attribute.high, attribute.step].map((one, i) =>
    exact(i < 2 ? bound(attribute, one) : one)) as [Fraction, Fraction, Fraction];
  needContract(isWhole(ticks, 1, 2 ** 31) && step.top > 0n, what);
  const steps = { top: step.top * BigInt(ticks - 1), bottom: step.bottom };
  const range = { top: high.top * low.bottom - low.top * high.bottom, bottom: high.bottom * low.bottom };
  needContract(range.top * steps.bottom === steps.top * range.bottom, what);
  needContract(count === (attribute.cells ?? ticks) && count <= ticks, what);
  needContract(isWhole(attribute.fanout ?? 2, 2, 64), what);
}

/** Return a declared bound as it is written; dates count as days. */
export function bound(attribute: Attribute, value: unknown): number | string {
  return attribute.kind === "date" ? daysOf(value) : value as number | string;
}

/** Return the days from 1970-01-01 to a date such as 2026-11-15; NaN for anything else. */
export function daysOf(value: unknown): number {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d$/.test(value)) return NaN;
  const days = Date.parse(`${value}T00:00:00Z`) / 86_400_000;
  return Number.isNaN(days) || dateOf(days) !== value ? NaN : days;
}

export function dateOf(days: number): string {
  return new Date(days * 86_400_000).toISOString().slice(0, 10);
}

/** Return the masks of all parities: of one attribute first, the last mask changing fastest; `sizes` count values. */
export function readParities(order: number, sizes: readonly number[]): number[][] {
  needContract(isWhole(order, 1, sizes.length), "views");
  const views: number[][] = [];
  const choose = (chosen: readonly number[], count: number): void => {
    if (chosen.length < count) {
      for (let i = (chosen.at(-1) ?? -1) + 1; i < sizes.length; i++) if (sizes[i]! > 1) choose([...chosen, i], count);
      return;
    }
    let made = [sizes.map(() => 0)];
    for (const i of chosen) {
      const masks = 2 ** (sizes[i]! - 1).toString(2).length - 1; // c values are written in as many bits as c - 1 has
      needContract(views.length + made.length * masks <= MAX_VIEWS, "views");
      made = made.flatMap((view) =>
        Array.from({ length: masks }, (_, mask) => view.map((own, place) => place === i ? mask + 1 : own)));
    }
    views.push(...made);
  };
  for (let count = 1; count <= order; count++) choose([], count);
  needContract(views.length, "views");
  return views;
}

/** Return every view of a channel, a level for each attribute; `tops` are the attributes' deepest levels. */
export function readViews(data: ChannelData["views"], tops: readonly number[]): number[][] {
  let views: number[][] = [];
  if (data.product) {
    needContract(data.product.length === tops.length, "views");
    const size = data.product.reduce((size, levels) => size * levels.length, 1);
    needContract(size > 0 && size <= MAX_VIEWS, "views"); // an empty list would hide how long the others are
    views = [[]];
    for (const levels of data.product) views = views.flatMap((view) => levels.map((level) => [...view, level]));
  } else {
    needContract(data.list && data.list.length <= MAX_VIEWS, "views");
    for (const sparse of data.list) {
      const view = tops.map(() => 0);
      for (let i = 0; i < sparse.length; i += 2) {
        needContract(isWhole(sparse[i], 0, tops.length - 1), "views");
        view[sparse[i]!] = sparse[i + 1]!;
      }
      views.push(view);
    }
  }
  const possible = views.every((view) => view.every((level, i) => isWhole(level, 0, tops[i]!)));
  needContract(views.length && possible, "views");
  return views;
}
