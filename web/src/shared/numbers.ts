/** Numbers as people read them: no "−0", no "NaN", and no row of three hundred digits. */

const PLAIN = { least: 1e-6, most: 1e15 } as const;
/** Outside of these, numbers are written with a power of ten; a double has no more than 15 digits anyway. */

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Return a number with separators and about as many digits as are worth reading. */
export function number(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "unknown";
  if (isExtreme(value)) return scientific(value, digits);
  const places = Math.abs(value) >= 10 ** digits || value === 0
    ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return minus(value.toLocaleString("en", { maximumFractionDigits: Math.min(places, 12) }));
}

/** Return a value and its half width so that both end at the same digit: the second one of the half width. */
export function plusMinus(value: number, half: number): [string, string] {
  if (!Number.isFinite(value) || !(half > 0 && half < Infinity)) return [number(value), number(half)];
  const power = Math.floor(Math.log10(half));
  if (isExtreme(value) || isExtreme(half)) {
    const digits = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) - power + 2;
    return [digits > 0 ? scientific(value, Math.min(15, digits)) : "0", scientific(half, 2)];
  }
  return [rounded(value, 1 - power), rounded(half, 1 - power)];
}

/** Return a half width with the two digits that are worth reading. */
export const rough = (half: number): string => plusMinus(half, half)[1];

/** Return a limit with two digits, rounded up: it must not promise more than it holds. */
export function atMost(limit: number): string {
  const unit = limit > 0 && limit < Infinity ? 10 ** (Math.floor(Math.log10(limit)) - 1) : 0;
  return number(unit ? Number((Math.ceil(limit / unit - 1e-9) * unit).toPrecision(3)) : limit, 2);
}

/** Return a share as a percentage. */
export function percent(share: number, digits = 0): string {
  return Number.isFinite(share)
    ? `${minus((100 * share).toLocaleString("en", { maximumFractionDigits: digits }))}\u00a0%` : "an unknown share";
}

/** Return what a certainty of one half can become at most, rounded up to a tenth of a percent. */
export function certainty(epsilon: number): string {
  return `${Math.ceil(1000 / (1 + Math.exp(-epsilon))) / 10}\u00a0%`;
}

/** Return a number of things: "1 row", "3,000 rows". */
export const count = (many: number, what: string): string => `${number(many, 9)} ${what}${many === 1 ? "" : "s"}`;

/** Return all digits of a sum that a double supports, so that it can be checked by hand. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "not defined";
  if (isExtreme(value)) return scientific(value, 10);
  const places = value === 0 ? 0 : 9 - Math.floor(Math.log10(Math.abs(value)));
  return minus(value.toLocaleString("en", { maximumFractionDigits: Math.max(0, Math.min(places, 6)) }));
}

/** Round at a decimal place, or before the point if there are fewer than none. */
function rounded(value: number, places: number): string {
  const [unit, shown] = [10 ** Math.max(0, -places), Math.min(12, Math.max(0, places))];
  return minus((unit > 1 ? Math.round(value / unit) * unit : value)
    .toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown }));
}

const isExtreme = (value: number): boolean =>
  value !== 0 && (Math.abs(value) < PLAIN.least || Math.abs(value) >= PLAIN.most);

function scientific(value: number, digits: number): string {
  if (value === 0) return "0";
  const [mantissa = "", power = ""] = value.toExponential(Math.max(0, digits - 1)).split("e");
  const raised = power.replace("+", "").replace("-", "⁻").replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)]!);
  return `${minus(mantissa)} × 10${raised}`;
}

/** Return names as a sentence has them. */
export function listed(names: readonly string[]): string {
  return new Intl.ListFormat("en-GB").format(names);
}

/** Write a minus sign as a minus sign; nothing is below zero by nothing. */
function minus(text: string): string {
  return /^-[0.]*$/.test(text) ? text.slice(1) : text.replace("-", "−");
}
