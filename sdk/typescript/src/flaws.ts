/**
 * Is an oracle of a contract a channel at all? Integers from outside are not trusted: a weight that is not one could
 * switch the noise off. The rules are those of `flaw` in the Python oracles.
 */
import { digitCount, seedCount } from "./answers.js";
import { isWhole, type Oracle } from "./contract.js";
import { needContract } from "./errors.js";
import { choose, power, product } from "./whole.js";

const MAX_SUBSETS = 2 ** 22;
const MAX_PRIME = 2 ** 20;
const MAX_HASHES = 2 ** 21;
const MAX_BITS = 52;

/** Refuse an oracle that is no channel over a view's cells. */
export function needSound(oracle: Oracle, sizes: readonly number[], span: number): void {
  const domain = product(sizes);
  const { w, inside, outside, g, multipliers, one, zero } = oracle;
  switch (oracle.oracle) {
    case "grr":
      needFlip(oracle.flip, domain, span);
      break;
    case "ss": {
      needContract(isWhole(w, 1, domain - 1) && choose(domain, w) <= MAX_SUBSETS, "w");
      const [withIt, without] = [choose(domain - 1, w - 1), choose(domain - 1, w)];
      needContract(isWhole(inside, 0, span) && isWhole(outside, 0, span), "inside");
      needContract(withIt * inside + without * outside <= span, "inside");
      break;
    }
    case "lh":
      needContract(isWhole(g, 2, MAX_PRIME) && isPrime(g), "g");
      needFlip(oracle.flip, g, span);
      needContract(seedCount(g, sizes) <= span, "g");
      for (const size of sizes) {
        const digits = digitCount(size, g);
        const factor = multipliers?.[digits];
        needContract(isWhole(factor, 1, power(g, digits)) && (!digits || factor % g), "multipliers");
      }
      break;
    case "olh":
      needContract(isWhole(g, 2, MAX_HASHES - 1), "g");
      needFlip(oracle.flip, g, span);
      break;
    case "oue":
      needContract(domain <= MAX_BITS, "oue");
      needContract(isWhole(one, 0, span) && isWhole(zero, 0, span), "one");
  }
}

/** A rounded product above the span is still above it, so doubles decide this exactly. */
function needFlip(flip: unknown, cells: number, span: number): void {
  needContract(isWhole(flip, 0, span) && (cells - 1) * flip <= span, "flip");
}

const primes = new Map<number, boolean>();

function isPrime(n: number): boolean {
  let known = primes.get(n);
  if (known === undefined) {
    known = true;
    for (let k = 2; k * k <= n; k++) if (n % k === 0) known = false;
    primes.set(n, known);
  }
  return known;
}
