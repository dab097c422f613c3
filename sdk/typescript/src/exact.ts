/**
 * Exact fractions, and a rational below `e**epsilon`: budgets are added up and thresholds judged without rounding.
 */
import { need } from "./errors.js";

/** A numerator and a denominator above 0. */
export type Fraction = readonly [top: bigint, bottom: bigint];

const PLAIN = /^-?\d{1,100}(\.\d{1,100})?$|^\d{1,400}\/[1-9]\d{0,399}$/;

/** Return a number as the exact decimal that was written; texts may be fractions such as `2/3`. */
export function exact(value: unknown): Fraction {
  const text = String(value);
  need(/number|string/.test(typeof value) && PLAIN.test(text), "not-a-number");
  const [over, under] = text.split("/");
  const [whole, decimals = ""] = over!.split(".");
  return [BigInt(whole! + decimals), under ? BigInt(under) : 10n ** BigInt(decimals.length)];
}

export function times([top, bottom]: Fraction, factor: number): Fraction {
  return reduced(top * BigInt(factor), bottom);
}

export function isAtMost(a: Fraction, b: Fraction): boolean {
  return a[0] * b[1] <= b[0] * a[1];
}

export function sum(items: readonly Fraction[]): Fraction {
  return items.reduce(([top, bottom], [over, under]) => reduced(top * under + over * bottom, bottom * under), [0n, 1n]);
}

export function fractionText([top, bottom]: Fraction): string {
  return bottom === 1n ? `${top}` : `${top}/${bottom}`;
}

/** For people to read: a double near the fraction. */
export function toNumber([top, bottom]: Fraction): number {
  return Number((top * 10n ** 18n) / bottom) / 1e18;
}

function reduced(top: bigint, bottom: bigint): Fraction {
  let a = top < 0n ? -top : top;
  let b = bottom;
  while (b) [a, b] = [b, a % b];
  return [top / a, bottom / a];
}

/** Whether a fraction is in lowest terms and has no finite decimal. */
export function isReduced([top, bottom]: Fraction): boolean {
  let rest = bottom;
  for (const prime of [2n, 5n]) while (rest % prime === 0n) rest /= prime;
  return rest > 1n && reduced(top, bottom)[1] === bottom;
}

const SCALE = 512n; // bits behind the point: finer than the 40 digits that thresholds are built with

/** Return a rational at most `e**epsilon` for epsilon from 0 to 30: every term of the series is rounded down. */
export function expBelow([top, bottom]: Fraction): Fraction {
  const one = 1n << SCALE;
  const x = top * one / bottom;
  let total = 0n;
  for (let term = one, k = 1n; term; k++) {
    total += term;
    term = term * x / (k << SCALE);
  }
  return [total, one];
}
