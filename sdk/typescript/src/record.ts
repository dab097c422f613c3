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

/**
 * One attribute: turns raw values into value indices, with the same work for every value it takes. A lookup instead of a
 * search; NULL goes the way of a value that stands in for it; clamping is done to every value.
 */
export class Column {
  readonly isDithered: boolean;
  /** A value that is taken: for NULL, and for rows that only fill up the work. */
  readonly filler: unknown;
  readonly #places: ReadonlyMap<unknown, number>;
  readonly #other: number | undefined;
  readonly #low: number;
  readonly #high: number;

  constructor(readonly service: string, readonly attribute: Known) {
    const { values = [], low, kind } = attribute;
    this.isDithered = isDithered(attribute);
    this.#places = new Map(values.map((value, place) => [value, place]));
    this.#other = this.#places.get(attribute.other);
    [this.#low, this.#high] = [Number(bound(attribute, low)), Number(bound(attribute, attribute.high))];
    this.filler = values.length ? values[0] : kind === "date" ? low : this.#low;
  }

  /** Read a row's value; errors never show it. */
  read(row: Readonly<Record<string, unknown>>): Read {
    const { name, null: nullable, kind } = this.attribute;
    const value = Object.hasOwn(row, name) ? row[name] : undefined;
    if (value === undefined) throw this.#refuse("the column is missing.", "missing-column");
    const isNull = value === null;
    if (isNull && !nullable) {
      throw this.#refuse("the value is missing, and NULL is not declared.", "missing-value");
    }
    const own = isNull ? this.filler : value;
    return [kind === "categorical" ? this.#category(own) : this.#tick(own), isNull];
  }

  /** Return the value index; the draw rounds a dithered attribute. */
  index([tick, isNull]: Read, draw: number): number {
    const { count, ticks = count } = this.attribute;
    if (count === ticks) return isNull ? count : tick;
    const scaled = this.isDithered ? tick * (count - 1) : tick * count;
    const steps = this.isDithered ? ticks - 1 : ticks;
    const up = this.isDithered && draw % steps < scaled % steps ? 1 : 0;
    return isNull ? count : quotient(scaled, steps) + up;
  }

  #refuse(problem: string, code: string): RecordError {
    return new RecordError(problem, code, this.service, this.attribute.name);
  }

  #category(value: unknown): number {
    const { values } = this.attribute;
    if (!values) throw this.#refuse("the dictionary is not loaded.", "dictionary-missing");
    const text = typeof values[0] === "string";
    if (text ? !isText(value) && (typeof value !== "boolean" || !this.#places.has(`${value}`)) : !isWholeNumber(value)) {
      throw this.#refuse(`the value is not ${text ? "text" : "a whole number"}, but the declared ones are.`, "wrong-type");
    }
    const place = this.#places.get(text ? `${value}` : Number(value)) ?? this.#other;
    if (place === undefined) {
      throw this.#refuse(`the value is not in the declared list: ${listed(values)}.`, "unknown-category");
    }
    return place;
  }

  #number(value: unknown): number {
    if (this.attribute.kind === "date") {
      const days = daysOf(value);
      if (Number.isNaN(days)) throw this.#refuse("the value is not a date like 2026-11-15.", "wrong-type");
      return days;
    }
    if (typeof value !== "number" && typeof value !== "bigint") {
      throw this.#refuse("the value is not a number, but the declared ones are.", "wrong-type");
    }
    const number = Number(value);
    if (!Number.isFinite(number)) throw this.#refuse("the value is NaN or infinite.", "not-finite");
    if (Number.isInteger(number) && !isWholeNumber(value)) throw this.#refuse("the number is beyond 64 bits.", "wrong-type");
    return number;
  }

  #tick(value: unknown): number {
    const { low, high, step, cells, outside, ticks } = this.attribute;
    const given = this.#number(value);
    const number = Math.min(Math.max(given, this.#low), this.#high);
    if (number !== given && outside !== "clamp") throw this.#refuse(`the value is outside ${low}..${high}.`, "outside-domain");
    const steps = (number - this.#low) / Number(step);
    const tick = Math.floor(steps + 0.5);
    if (cells === undefined && Math.abs(steps - tick) > OFF_STEP) {
      throw this.#refuse(`the value lies between steps of ${step} from ${low}.`, "between-steps");
    }
    return Math.min(Math.max(tick, 0), ticks! - 1);
  }
}

export function isDithered(attribute: Known): boolean {
  return attribute.dither === true && attribute.count < attribute.ticks!;
}

/** Whole numbers are of 64 bits; beyond them no platform agrees on what they are. */
function isWholeNumber(value: unknown): boolean {
  const whole = typeof value === "bigint" || Number.isInteger(value);
  return whole && -(2 ** 63) <= (value as number) && (value as number) < 2 ** 63;
}
