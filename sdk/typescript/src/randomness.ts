/**
 * Draws from the platform's secure generator. There is no fallback and no seed: a failure is an error.
 */
import { RandomnessError } from "./errors.js";

/** Bits of a draw: the largest integers that JavaScript holds exactly. */
export const BITS = 53;

const WORDS_AT_ONCE = 16_384; // getRandomValues gives at most 65,536 bytes a call

/** A source of `count` fresh draws below 2**53. */
export type Draws = (count: number) => number[];

/** Return the draw of two 32-bit words, in the order they arrive. */
export function drawOfWords(first: number, second: number): number {
  return second * 2 ** 21 + (first >>> 11);
}

export const secureDraws: Draws = (count) => {
  const draws: number[] = [];
  while (draws.length < count) {
    const words = new Uint32Array(Math.min(2 * (count - draws.length), WORDS_AT_ONCE));
    try {
      if (globalThis.crypto.getRandomValues(words) !== words) throw new Error();
    } catch {
      throw new RandomnessError("randomness");
    }
    for (let i = 0; i < words.length; i += 2) draws.push(drawOfWords(words[i]!, words[i + 1]!));
  }
  return draws;
};

/** Return a number from 0 up to, but not including, 1: for delays, which need no exact distribution. */
export function fraction(draws: Draws): number {
  return draws(1)[0]! / 2 ** BITS;
}
