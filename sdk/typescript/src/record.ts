/**
 * One raw value to its value index, by the rules a contract declares for the attribute. Errors never show the value.
 */
import { type Attribute, bound, type Levels } from "./contract.js";
import { listed, RecordError } from "./errors.js";
import { daysOf, isText } from "./members.js";
import { quotient } from "./whole.js";

/** How far from a step, in steps, a number may be and still count as on it. */
const OFF_STEP = 1e-6;

/** A sensitive attribute with its levels. */
export type Known = Attribute & Levels;

/** A value as a step from the lowest one, or a place in the list; and whether it is NULL. */
export type Read = readonly [tick: number, isNull: boolean];

/** One attribute's reader of raw values. */
export interface Column {
  /** A value that is taken: for NULL, and for rows that only fill up the work. */
  readonly filler: unknown;
  /** Read a row's value; errors never show it. */
  readonly read: (row: Readonly<Record<string, unknown>>) => Read;
  /** Return the value index; the draw rounds a dithered attribute. */
  readonly index: (read: Read, draw: number) => number;
}

/**
 * Return an attribute's reader, which does the same work for every value it takes: a lookup instead of a search; NULL
 * goes the way of a value that stands in for it; clamping is done to every value.
 */
export function columnOf(service: string, attribute: Known): Column {
  const { name, kind, values = [], null: nullable, step, cells, outside, count, ticks = count } = attribute;
  const places = new Map<unknown, number>(values.map((value, place) => [value, place]));
  const other = places.get(attribute.other);
  const [low, high] = [attribute.low, attribute.high].map((value) => Number(bound(attribute, value))) as [number, number];
  const texts = typeof values[0] === "string";
  const filler = values.length ? values[0] : kind === "date" ? attribute.low : low;
  const dithered = isDithered(attribute);

  function need(condition: unknown, code: string): asserts condition {
    if (!condition) throw new RecordError(code, takenText(attribute), service, name);
  }

  function placeOf(value: unknown): number {
    need(values.length, "dictionary-missing");
    need(texts ? isText(value) || (typeof value === "boolean" && places.has(`${value}`)) : isWholeNumber(value), "wrong-type");
    const place = places.get(texts ? `${value}` : Number(value)) ?? other;
    need(place !== undefined, "unknown-category");
    return place;
  }

  function numberOf(value: unknown): number {
    const isDate = kind === "date";
    need(isDate || /number|bigint/.test(typeof value), "wrong-type");
    const number = isDate ? daysOf(value) : Number(value);
    need(!isDate || number === number, "wrong-type");
    need(Number.isFinite(number), "not-finite");
    need(isDate || !Number.isInteger(number) || isWholeNumber(value), "wrong-type");
    return number;
  }

  function tickOf(value: unknown): number {
    const given = numberOf(value);
    const number = Math.min(Math.max(given, low), high);
    need(number === given || outside, "outside-domain");
    const steps = (number - low) / Number(step);
    const tick = Math.floor(steps + 0.5);
    need(cells || Math.abs(steps - tick) <= OFF_STEP, "between-steps");
    return Math.min(Math.max(tick, 0), ticks - 1);
  }

  return {
    filler,
    read(row) {
      const value = Object.hasOwn(row, name) ? row[name] : undefined;
      need(value !== undefined, "missing-column");
      const isNull = value === null;
      need(!isNull || nullable, "missing-value");
      const own = isNull ? filler : value;
      return [kind === "categorical" ? placeOf(own) : tickOf(own), isNull];
    },
    index([tick, isNull], draw) {
      if (count === ticks) return isNull ? count : tick;
      const [scaled, steps] = dithered ? [tick * (count - 1), ticks - 1] : [tick * count, ticks];
      const up = dithered && draw % steps < scaled % steps ? 1 : 0;
      return isNull ? count : quotient(scaled, steps) + up;
    },
  };
}

/** Return what a column takes, for an error. */
export function takenText({ values, low, high, step, type, null: nullable }: Attribute): string {
  const taken = values ? listed(values) : low === undefined ? type ?? "text or numbers" : `${low}..${high} in steps of ${step}`;
  return taken + (nullable ? " or null" : "");
}

export function isDithered(attribute: Known): boolean {
  return attribute.dither === true && attribute.count < attribute.ticks!;
}

/** Whole numbers are of 64 bits; beyond them no platform agrees on what they are. */
function isWholeNumber(value: unknown): boolean {
  const whole = typeof value === "bigint" || Number.isInteger(value);
  return whole && -(2 ** 63) <= (value as number) && (value as number) < 2 ** 63;
}
