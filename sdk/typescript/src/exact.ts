/**
 * Exact fractions, and a rational below `e**epsilon`: budgets are added up and thresholds judged without rounding.
 */
import { UsageError } from "./errors.js";

export interface Fraction {
  readonly top: bigint;
  /** Above 0. */
  readonly bottom: bigint;
}

const PLAIN = /^-?\d{1,100}(\.\d{1,100})?$|^\d{1,400}\/[1-9]\d{0,399}$/;

/** Return a number as the exact decimal that was written; texts may be fractions such as `2/3`. */
export function exact(value: unknown): Fraction {
  const text = String(value);
  if ((typeof value !== "number" && typeof value !== "string") || !PLAIN.test(text)) {
    throw new UsageError("A number is not a plain decimal such as 0.5.", "not-a-number");
  }
  const [over, under] = text.split("/");
  if (under !== undefined) return { top: BigInt(over!), bottom: BigInt(under) };
  const [whole, decimals = ""] = text.split(".");
  return { top: BigInt(whole! + decimals), bottom: 10n ** BigInt(decimals.length) };
}

export function add(a: Fraction, b: Fraction): Fraction {
  return reduced(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom);
}

export function times(a: Fraction, factor: number): Fraction {
  return reduced(a.top * BigInt(factor), a.bottom);
}

export function isAtMost(a: Fraction, b: Fraction): boolean {
  return a.top * b.bottom <= b.top * a.bottom;
}

export function sum(items: Iterable<Fraction>): Fraction {
  let total: Fraction = { top: 0n, bottom: 1n };
  for (const item of items) total = add(total, item);
  return total;
}

export function fractionText({ top, bottom }: Fraction): string {
  return bottom === 1n ? `${top}` : `${top}/${bottom}`;
}

/** For people to read: a double near the fraction. */
export function toNumber({ top, bottom }: Fraction): number {
  return Number((top * 10n ** 18n) / bottom) / 1e18;
}

function reduced(top: bigint, bottom: bigint): Fraction {
  let a = top < 0n ? -top : top;
  let b = bottom;
  while (b) [a, b] = [b, a % b];
  return { top: top / a, bottom: bottom / a };
}

/** Whether a fraction is in lowest terms and has no finite decimal. */
export function isReduced({ top, bottom }: Fraction): boolean {
  let rest = bottom;
  for (const prime of [2n, 5n]) while (rest % prime === 0n) rest /= prime;
  return rest > 1n && reduced(top, bottom).bottom === bottom;
}

const SCALE = 512n; // bits behind the point: finer than the 40 digits that thresholds are built with

/** Return a rational at most `e**epsilon` for epsilon from 0 to 30: every term of the series is rounded down. */
export function expBelow({ top, bottom }: Fraction): Fraction {
  const one = 1n << SCALE;
  const x = top * one / bottom;
  let total = 0n;
  for (let term = one, k = 1n; term; k++) {
    total += term;
    term = term * x / (k << SCALE);
  }
  return { top: total, bottom: one };
}
