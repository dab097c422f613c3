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

type Refuse = (problem: string, code: string) => RecordError;

/** Return the value index; `draw` rounds a dithered attribute. */
export function valueIndex(service: string, attribute: Known, value: unknown, draw?: number): number {
  const refuse: Refuse = (problem, code) => new RecordError(problem, code, service, attribute.name);
  if (value === undefined) throw refuse("the column is missing.", "missing-column");
  if (value === null) {
    if (attribute.null) return attribute.count;
    throw refuse("the value is missing, and the contract declares no NULL here.", "missing-value");
  }
  if (attribute.kind === "categorical") return category(attribute, value, refuse);
  const tick = tickOf(attribute, value, refuse);
  const { count } = attribute;
  const ticks = attribute.ticks!;
  if (count === ticks) return tick;
  if (draw === undefined) return quotient(tick * count, ticks);
  const scaled = tick * (count - 1);
  const rest = scaled % (ticks - 1);
  return quotient(scaled, ticks - 1) + (draw % (ticks - 1) < rest ? 1 : 0);
}

function category(attribute: Known, value: unknown, refuse: Refuse): number {
  const values = attribute.values!;
  const text = typeof values[0] === "string";
  if (text ? !isText(value) : !isWholeNumber(value)) {
    throw refuse(`the value is not ${text ? "text" : "a whole number"}, but the declared ones are.`, "wrong-type");
  }
  const place = values.indexOf(typeof value === "bigint" ? Number(value) : (value as string | number));
  if (place >= 0) return place;
  if (attribute.other === undefined) {
    throw refuse(`the value is not in the declared list: ${listed(values)}.`, "unknown-category");
  }
  return values.indexOf(attribute.other);
}

/** Whole numbers are of 64 bits; beyond them no platform agrees on what they are. */
function isWholeNumber(value: unknown): boolean {
  const whole = typeof value === "bigint" || Number.isInteger(value);
  return whole && -(2 ** 63) <= (value as number) && (value as number) < 2 ** 63;
}

function numberOf(attribute: Known, value: unknown, refuse: Refuse): number {
  if (attribute.kind === "date") {
    const days = daysOf(value);
    if (Number.isNaN(days)) throw refuse("the value is not a date written like 2026-11-15.", "wrong-type");
    return days;
  }
  if (typeof value !== "number" && typeof value !== "bigint") {
    throw refuse("the value is not a number, but the declared ones are.", "wrong-type");
  }
  const number = Number(value);
  if (!Number.isFinite(number)) throw refuse("the value is NaN or infinite.", "not-finite");
  if (Number.isInteger(number) && !isWholeNumber(value)) throw refuse("the number is beyond 64 bits.", "wrong-type");
  return number;
}

function tickOf(attribute: Known, value: unknown, refuse: Refuse): number {
  let number = numberOf(attribute, value, refuse);
  const [low, high] = [Number(bound(attribute, attribute.low)), Number(bound(attribute, attribute.high))];
  if (number < low || number > high) {
    if (attribute.outside !== "clamp") {
      throw refuse(`the value is outside ${attribute.low}..${attribute.high}.`, "outside-domain");
    }
    number = Math.min(Math.max(number, low), high);
  }
  const steps = (number - low) / Number(attribute.step);
  const tick = Math.floor(steps + 0.5);
  if (attribute.cells === undefined && Math.abs(steps - tick) > OFF_STEP) {
    throw refuse(`the value lies between steps of ${attribute.step} from ${attribute.low}.`, "between-steps");
  }
  return Math.min(Math.max(tick, 0), attribute.ticks! - 1);
}
