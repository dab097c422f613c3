/**
 * Whole-number arithmetic below 2**53, where doubles are exact. `**` is not used: engines may round it.
 */
export function power(base: number, exponent: number): number {
  let result = 1;
  for (let i = 0; i < exponent; i++) result *= base;
  return result;
}

/** Return the whole part of a/b for a up to 2**53. */
export function quotient(a: number, b: number): number {
  return (a - a % b) / b;
}

/** Return the number of k-subsets of n things; Infinity beyond 2**40, before products are rounded. */
export function choose(n: number, k: number): number {
  if (k < 0 || k > n) return 0;
  let count = 1;
  for (let i = 0; i < Math.min(k, n - k); i++) {
    count = count * (n - i) / (i + 1);
    if (count > 2 ** 40) return Infinity;
  }
  return count;
}

export function isWhole(value: unknown, low: number, high: number): value is number {
  return Number.isInteger(value) && low <= (value as number) && (value as number) <= high;
}

export function product(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a * b, 1);
}
