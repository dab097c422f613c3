/**
 * The oracles' client side in whole numbers, one record at a time; `docs/wire.md` states each rule.
 */
import type { Oracle } from "./contract.js";
import { choose, power, product, quotient } from "./whole.js";

/** Return the number of codes of a view. */
export function alphabet(oracle: Oracle, sizes: readonly number[]): number {
  switch (oracle.oracle) {
    case "grr": return product(sizes);
    case "ss": return 1 + choose(product(sizes), oracle.w!);
    case "lh": return 1 + seedCount(oracle.g!, sizes) * oracle.g!;
    case "olh": return 2 ** 32 * oracle.g!;
    case "oue": return power(2, product(sizes));
  }
}

/** Return how many answer draws a view's oracle takes. */
export function answerCount(oracle: Oracle, sizes: readonly number[]): number {
  return oracle.oracle === "oue" ? product(sizes) : 1;
}

/** Return the place of a view's cells in their product, the last one's changing fastest. */
export function flatIndex(cells: readonly number[], sizes: readonly number[]): number {
  return cells.reduce((flat, cell, i) => flat * sizes[i]! + cell, 0);
}

/** Return the code of a record's cells within its view. `draws` are the seed and the answers, below `span`. */
export function answer(
  oracle: Oracle, sizes: readonly number[], cells: readonly number[], draws: readonly number[], span: number,
): number {
  const [seed, draw] = draws as [number, number];
  const flat = oracle.oracle === "lh" ? 0 : flatIndex(cells, sizes);
  const domain = product(sizes);
  switch (oracle.oracle) {
    case "grr": return respond(flat, draw, domain, oracle.flip!);
    case "ss": return subset(oracle, domain, flat, draw);
    case "lh": {
      const seeds = seedCount(oracle.g!, sizes);
      if (seed >= span - span % seeds) return 0;
      const number = seed % seeds;
      const hashed = linearHash(oracle, sizes, cells, number);
      return 1 + number * oracle.g! + respond(hashed, draw, oracle.g!, oracle.flip!);
    }
    case "olh": {
      const own = seed % 2 ** 32;
      return own * oracle.g! + respond(murmur3(flat, own) % oracle.g!, draw, oracle.g!, oracle.flip!);
    }
    case "oue": {
      let code = 0;
      for (let place = domain - 1; place >= 0; place--) {
        code = 2 * code + (draws[1 + place]! < (place === flat ? oracle.one! : oracle.zero!) ? 1 : 0);
      }
      return code;
    }
  }
}

/** Return the flat cells that make a code of a view most likely; all of them for a code that tells nothing. */
export function supported(oracle: Oracle, sizes: readonly number[], code: number): number[] {
  const cells = Array.from({ length: product(sizes) }, (_, cell) => cell);
  const { g = 1 } = oracle;
  switch (oracle.oracle) {
    case "grr": return [code];
    case "ss": return code === 0 ? cells : members(cells.length, oracle.w!, code - 1);
    case "lh": {
      if (code === 0) return cells;
      const number = quotient(code - 1, g);
      return cells.filter((flat) => linearHash(oracle, sizes, unflatten(flat, sizes), number) === (code - 1) % g);
    }
    case "olh": return cells.filter((flat) => murmur3(flat, quotient(code, g)) % g === code % g);
    case "oue": return cells.filter((flat) => quotient(code, power(2, flat)) % 2 === 1);
  }
}

export function unflatten(flat: number, sizes: readonly number[]): number[] {
  const cells: number[] = [];
  for (const size of [...sizes].reverse()) {
    cells.unshift(flat % size);
    flat = quotient(flat, size);
  }
  return cells;
}

/** Return the cell or another one: both are computed, so that the time does not tell which it is. */
function respond(cell: number, draw: number, cells: number, flip: number): number {
  const lie = (cell + 1 + draw % Math.max(1, cells - 1)) % cells;
  return draw < (cells - 1) * flip ? lie : cell;
}

/** Numbers of subsets, by size and place: made once. */
const tables = new Map<string, number[][]>();

function binomials(domain: number, w: number): number[][] {
  const name = `${domain} ${w}`;
  const made = tables.get(name) ?? Array.from({ length: w + 2 }, (_, size) =>
    Array.from({ length: domain }, (_, place) => size ? choose(place, size) : Infinity)); // none left to choose
  tables.set(name, made);
  return made;
}

function subset(oracle: Oracle, domain: number, cell: number, draw: number): number {
  const w = oracle.w!;
  const [without, withIt] = [choose(domain - 1, w), choose(domain - 1, w - 1)];
  const lower = without * oracle.outside!;
  if (draw >= lower + withIt * oracle.inside!) return 0;
  const inside = draw >= lower ? 1 : 0;
  let left = inside ? (draw - lower) % withIt : draw % without;
  if (w === 1) {
    const other = left + (left >= cell ? 1 : 0);
    return 1 + (inside ? cell : other);
  }
  const ways = binomials(domain, w);
  let [size, below, rank] = [w - inside, w - inside, 0];
  for (let place = domain - 2; place >= 0; place--) { // the others close up over the true cell
    const above = place >= cell ? 1 : 0;
    const count = ways[size]![place]!;
    const chosen = left >= count ? 1 : 0;
    const rise = ways[size + (inside & above)]![place + above]!;
    rank += chosen ? rise : 0;
    left -= chosen ? count : 0;
    size -= chosen;
    below = above ? size : below;
  }
  const own = ways[below + 1]![cell]!;
  return 1 + rank + (inside ? own : 0);
}

/** Return the subset of a colexicographic rank. */
function members(domain: number, size: number, rank: number): number[] {
  const found: number[] = [];
  for (let place = domain - 1; place >= 0 && size > 0; place--) {
    const ways = choose(place, size);
    if (rank >= ways) {
      rank -= ways;
      size--;
      found.push(place);
    }
  }
  return found;
}

/** Return how many digits in base g tell `size` cells apart. */
export function digitCount(size: number, g: number): number {
  let digits = 0;
  for (let reach = 1; reach < size; reach *= g) digits++;
  return digits;
}

/** Return the number of seeds of linear hashing: (g**K - 1)/(g - 1). */
export function seedCount(g: number, sizes: readonly number[]): number {
  const places = sizes.reduce((total, size) => total + digitCount(size, g), 0);
  let seeds = 0;
  for (let i = 0; i < places; i++) seeds = seeds * g + 1;
  return Math.max(1, seeds);
}

function linearHash(oracle: Oracle, sizes: readonly number[], cells: readonly number[], number: number): number {
  const g = oracle.g!;
  let lead = 1; // g to the power of the leading place
  let first = 0; // number of seeds with a lower one
  while (first + lead <= number) [first, lead] = [first + lead, lead * g];
  let vector = lead + number - first;
  let hashed = 0;
  for (let i = sizes.length - 1; i >= 0; i--) { // the last attribute has the lowest digits
    const digits = digitCount(sizes[i]!, g);
    const [factor, reach] = [oracle.multipliers![digits]!, power(g, digits)]; // below 2**40, cells below 2**20
    const [high, low] = [cells[i]! >> 10, cells[i]! & 1023]; // so that no product is rounded
    let point = (factor * high % reach * 1024 + factor * low) % reach;
    for (let digit = 0; digit < digits; digit++) {
      hashed += (vector % g) * (point % g);
      vector = quotient(vector, g);
      point = quotient(point, g);
    }
  }
  return hashed % g;
}

/** Return MurmurHash3_x86_32 of a key as eight little-endian bytes. */
export function murmur3(key: number, seed: number): number {
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
