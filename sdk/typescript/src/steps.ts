/**
 * How a report is drawn: a closed set of steps in whole numbers, one record at a time. The same as `tacit.client.steps`.
 *
 *     respond   report the true value, or another one at random
 *     hash      map the cells to one of g values by a random hash function, then respond
 *     subset    report a set of cells that holds the true one more often than chance
 *     bits      report one randomised bit for each cell
 *
 * Wire version 1 names each way of drawing after the first oracle that drew so (`STEPS`; docs/wire.md has the rules). An
 * oracle chooses the integers of an entry; a client only follows them, so a new oracle changes nothing here.
 */
import type { Oracle } from "./contract.js";
import { needContract } from "./errors.js";
import { choose, isWhole, power, product, quotient } from "./whole.js";

const MAX_SUBSETS = 2 ** 22;
const MAX_PRIME = 2 ** 20;
const MAX_HASHES = 2 ** 21;
const MAX_BITS = 52;

type Numbers = readonly number[];

/** One way to draw a report about cells of some sizes, by the integers of a contract's entry. */
export interface Step {
  readonly entry: Oracle;
  readonly sizes: Numbers;
  /** Number of cells. */
  readonly domain: number;
  /** Number of codes. */
  readonly codes: number;
  /** Number of answer draws. */
  readonly answers: number;
  /** The weights of the best and the worst cell under the code that tells most. */
  readonly weights: readonly [bigint, bigint];
  /** Return the code of a record's cells within its view. `draws` are the seed and the answers. */
  readonly draw: (cells: Numbers, draws: Numbers) => number;
  /** How many digits number the cells of each attribute, where hashes are linear forms of them. */
  readonly digits?: Numbers;
  /** Return the hash of cells under a seed. */
  readonly hash?: (cells: Numbers, seed: number) => number;
}

type Own = Pick<Step, "codes" | "weights" | "draw"> & Partial<Step>;
type Make = (entry: Oracle, sizes: Numbers, span: number, domain: number) => Own;

/** Return the function from a value and a draw to this value or another one, and the weights of the two. */
function respond(values: number, { flip: one }: Oracle, span: number) {
  const flip = one!;
  const weights = [BigInt(span) - BigInt(values - 1) * BigInt(flip), BigInt(flip)] as const; // doubles would round
  needContract(isWhole(flip, 0, span) && weights[0] >= 0, "bad-flip");
  const answer = (value: number, draw: number): number => { // both are computed, so that the time does not tell which
    const lie = (value + 1 + draw % Math.max(1, values - 1)) % values;
    return draw < (values - 1) * flip ? lie : value;
  };
  return { weights, answer };
}

/** Report the true cell, or another one. */
const cell: Make = (entry, sizes, span, codes) => {
  const { weights, answer } = respond(codes, entry, span);
  return { codes, weights, draw: (cells, draws) => answer(flatIndex(cells, sizes), draws[1]!) };
};

/** Hash the cell by MurmurHash3 under a 32-bit seed, then respond. */
const murmurHash: Make = (entry, sizes, span) => {
  const g = entry.g!;
  needContract(isWhole(g, 2, MAX_HASHES - 1), "bad-g");
  const { weights, answer } = respond(g, entry, span);
  const hash = (cells: Numbers, seed: number): number => murmur3(flatIndex(cells, sizes), seed) % g;
  return {
    codes: 2 ** 32 * g, weights, hash,
    draw(cells, draws) {
      const seed = draws[0]! % 2 ** 32;
      return seed * g + answer(hash(cells, seed), draws[1]!);
    },
  };
};

/** Hash the cells' digits in base g by a random linear form modulo g, then respond. */
const linearHash: Make = (entry, sizes, span) => {
  const g = entry.g!;
  needContract(isWhole(g, 2, MAX_PRIME) && isPrime(g), "bad-g");
  const { weights, answer } = respond(g, entry, span);
  const digits = sizes.map((size) => {
    let count = 0;
    for (let reach = 1; reach < size; reach *= g) count++;
    return count;
  });
  let seeds = 0; // linear forms, up to multiples: (g**K - 1)/(g - 1)
  for (const count of digits) for (let i = 0; i < count; i++) seeds = seeds * g + 1;
  seeds ||= 1;
  needContract(seeds <= 2 ** 53, "codes-too-large");
  const blocks = digits.map((count) => {
    const factor = entry.multipliers![count]; // below 2**40, cells below 2**20
    const reach = power(g, count);
    needContract(isWhole(factor, 1, reach) && (!count || factor % g), "bad-multiplier");
    return [count, factor, reach] as const;
  });
  const hash = (cells: Numbers, seed: number): number => {
    let lead = 1; // g to the power of the leading place
    let first = 0; // number of seeds with a lower one
    while (first + lead <= seed) [first, lead] = [first + lead, lead * g];
    let vector = lead + seed - first;
    let hashed = 0;
    for (let i = blocks.length; i--;) { // the last attribute has the lowest digits
      const [count, factor, reach] = blocks[i]!;
      const cell = cells[i]!;
      let point = (factor * (cell >> 10) % reach * 1024 + factor * (cell & 1023)) % reach; // no product is rounded
      for (let digit = 0; digit < count; digit++) {
        hashed += (vector % g) * (point % g);
        vector = quotient(vector, g);
        point = quotient(point, g);
      }
    }
    return hashed % g;
  };
  return {
    codes: 1 + seeds * g, weights, hash, digits,
    draw(cells, draws) {
      const seed = draws[0]! % seeds;
      return draws[0]! < span - span % seeds ? 1 + seed * g + answer(hash(cells, seed), draws[1]!) : 0;
    },
  };
};

/** Report a set of w cells. */
const subset: Make = ({ w: size, inside: inner, outside: outer }, sizes, span, domain) => {
  const w = size!;
  const sets = choose(domain, w);
  const without = choose(domain - 1, w);
  const withIt = choose(domain - 1, w - 1);
  const possible = isWhole(w, 1, domain - 1) && isWhole(inner, 0, span) && isWhole(outer, 0, span) && sets <= MAX_SUBSETS &&
    BigInt(withIt) * BigInt(inner) + BigInt(without) * BigInt(outer) <= span;
  needContract(possible, "bad-subset");
  let ways: number[][] | undefined; // numbers of subsets, by size and place: made when the view is drawn first
  return {
    codes: 1 + sets,
    weights: [BigInt(inner!), BigInt(outer!)],
    draw(cells, draws) {
      const cell = flatIndex(cells, sizes);
      const draw = draws[1]!;
      const lower = without * outer!;
      if (draw >= lower + withIt * inner!) return 0;
      const inside = draw >= lower ? 1 : 0;
      let left = inside ? (draw - lower) % withIt : draw % without;
      if (w === 1) {
        const other = left + (left >= cell ? 1 : 0);
        return 1 + (inside ? cell : other);
      }
      ways ??= Array.from({ length: w + 2 }, (_, k) =>
        Array.from({ length: domain }, (_, place) => k ? choose(place, k) : Infinity)); // none left to choose
      let more = w - inside;
      let below = more;
      let rank = 0;
      for (let place = domain - 2; place >= 0; place--) { // the others close up over the true cell
        const above = place >= cell ? 1 : 0;
        const count = ways[more]![place]!;
        const chosen = left >= count ? 1 : 0;
        const rise = ways[more + (inside & above)]![place + above]!;
        rank += chosen ? rise : 0;
        left -= chosen ? count : 0;
        more -= chosen;
        below = above ? more : below;
      }
      const own = ways[below + 1]![cell]!;
      return 1 + rank + (inside ? own : 0);
    },
  };
};

/** Report one bit for each cell, each with an answer draw of its own. */
const bits: Make = ({ one, zero }, sizes, span, answers) => {
  needContract(answers <= MAX_BITS && isWhole(one, 0, span) && isWhole(zero, 0, span), "bad-bits");
  const weight = (set: number, unset: number): bigint => BigInt(set) * BigInt(span - unset);
  return {
    answers,
    codes: power(2, answers),
    weights: [weight(one!, zero!), weight(zero!, one!)],
    draw(cells, draws) {
      const flat = flatIndex(cells, sizes);
      let code = 0;
      for (let place = answers; place--;) {
        code = 2 * code + (draws[1 + place]! < (place === flat ? one! : zero!) ? 1 : 0);
      }
      return code;
    },
  };
};

/** The names of wire version 1. */
const STEPS: Readonly<Record<Oracle["oracle"], Make>> = { grr: cell, ss: subset, lh: linearHash, olh: murmurHash, oue: bits };

/**
 * Return how a view with cells of these sizes is drawn, by draws below `span`. Integers that are not a channel are
 * refused: a weight that is none could switch the noise off.
 */
export function stepOf(entry: Oracle, sizes: Numbers, span: number): Step {
  const domain = product(sizes);
  return { entry, sizes, domain, answers: 1, ...STEPS[entry.oracle](entry, sizes, span, domain) };
}

/** Return the place of cells in their product, the last one's changing fastest. */
function flatIndex(cells: Numbers, sizes: Numbers): number {
  return cells.reduce((flat, cell, i) => flat * sizes[i]! + cell, 0);
}

function isPrime(n: number): boolean {
  for (let k = 2; k * k <= n; k++) if (n % k === 0) return false;
  return true;
}

/** Return MurmurHash3_x86_32 of a key as eight little-endian bytes. */
function murmur3(key: number, seed: number): number {
  let state = seed | 0;
  for (const word of [key | 0, quotient(key, 2 ** 32) | 0]) {
    state ^= Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
    state = Math.imul(rotate(state, 13), 5) + 0xe6546b64 | 0;
  }
  state ^= 8;
  state = Math.imul(state ^ state >>> 16, 0x85ebca6b);
  state = Math.imul(state ^ state >>> 13, 0xc2b2ae35);
  return (state ^ state >>> 16) >>> 0;
}

function rotate(word: number, by: number): number {
  return word << by | word >>> 32 - by;
}
