/**
 * Is an oracle of a contract a channel at all? Integers from outside are not trusted: a weight that is not one could
 * switch the noise off.
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
  const { w, inside, outside, g, flip, multipliers, one, zero } = oracle;
  const isWeight = (...weights: unknown[]): boolean => weights.every((weight) => isWhole(weight, 0, span));
  const needFlip = (cells: number): void =>
    needContract(isWeight(flip) && BigInt(cells - 1) * BigInt(flip!) <= span, "bad-flip"); // doubles would round
  switch (oracle.oracle) {
    case "grr":
      needFlip(domain);
      break;
    case "ss": {
      const possible = isWhole(w, 1, domain - 1) && isWeight(inside, outside) && choose(domain, w) <= MAX_SUBSETS;
      needContract(possible, "bad-subset");
      const used = BigInt(choose(domain - 1, w - 1)) * BigInt(inside!) + BigInt(choose(domain - 1, w)) * BigInt(outside!);
      needContract(used <= span, "bad-subset");
      break;
    }
    case "lh":
      needContract(isWhole(g, 2, MAX_PRIME) && isPrime(g), "bad-g");
      needFlip(g);
      needContract(seedCount(g, sizes) <= 2 ** 53, "codes-too-large");
      for (const size of sizes) {
        const digits = digitCount(size, g);
        const factor = multipliers![digits];
        needContract(isWhole(factor, 1, power(g, digits)) && (!digits || factor % g), "bad-multiplier");
      }
      break;
    case "olh":
      needContract(isWhole(g, 2, MAX_HASHES - 1), "bad-g");
      needFlip(g);
      break;
    case "oue":
      needContract(domain <= MAX_BITS && isWeight(one, zero), "bad-bits");
  }
}

function isPrime(n: number): boolean {
  for (let k = 2; k * k <= n; k++) if (n % k === 0) return false;
  return true;
}
