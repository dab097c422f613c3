/** Numbers as people read them. */

/** Return a number with separators and about as many digits as are worth reading. */
export function number(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "unknown";
  const places = Math.abs(value) >= 10 ** digits || value === 0
    ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return minus(value.toLocaleString("en", { maximumFractionDigits: Math.min(places, 12) }));
}

/** Return a value and its half width so that both end at the same digit: the second one of the half width. */
export function plusMinus(value: number, half: number): [string, string] {
  if (!Number.isFinite(value) || !(half > 0 && half < Infinity)) return [number(value), number(half)];
  const places = 1 - Math.floor(Math.log10(half));
  return [rounded(value, places), rounded(half, places)];
}

/** Return a share as a percentage. */
export function percent(share: number, digits = 0): string {
  return `${minus((100 * share).toLocaleString("en", { maximumFractionDigits: digits }))}\u00a0%`;
}

/** Return what a certainty of one half can become at most, rounded up to a tenth of a percent. */
export function certainty(epsilon: number): string {
  return `${Math.ceil(1000 / (1 + Math.exp(-epsilon))) / 10}\u00a0%`;
}

/** Round at a decimal place, or before the point if there are fewer than none. */
function rounded(value: number, places: number): string {
  const [unit, digits] = [10 ** Math.max(0, -places), Math.min(12, Math.max(0, places))];
  return minus((unit > 1 ? Math.round(value / unit) * unit : value)
    .toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
}

/** Return names as a sentence has them. */
export function listed(names: readonly string[]): string {
  return new Intl.ListFormat("en-GB").format(names);
}

function minus(text: string): string {
  return text.replace("-", "−");
}
