/** The project's test vectors and the words they are made of. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Row } from "../src/interpreter.js";
import { drawOfWords } from "../src/randomness.js";

export interface Vector {
  readonly name: string;
  readonly contract: string;
  readonly id: string;
  readonly words: readonly number[];
  readonly records?: readonly Row[];
  readonly people?: readonly (readonly Row[])[];
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  readonly codes: readonly unknown[];
  readonly record?: Row;
  readonly error?: string;
}

const read = (folder: string, pattern: RegExp): Vector[] => {
  const path = join(process.cwd(), "../../tests/vectors", folder);
  return readdirSync(path).filter((name) => pattern.test(name)).sort()
    .map((file) => ({ name: file.slice(0, -5), ...JSON.parse(readFileSync(join(path, file), "utf8")) }));
};

export const vectors: readonly Vector[] = [...read("v1", /json$/), ...read("v2", /^partitions.*json$/)];

/** Return 32-bit words, big-endian, of SHA-256("name/0"), SHA-256("name/1"), …: a stream any language can make. */
export function words(name: string, count: number): number[] {
  const found: number[] = [];
  for (let block = 0; found.length < count; block++) {
    const digest = createHash("sha256").update(`${name}/${block}`).digest();
    for (let i = 0; i < 32; i += 4) found.push(digest.readUInt32BE(i));
  }
  return found.slice(0, count);
}

export function drawsOf(stream: readonly number[]): number[] {
  return Array.from({ length: stream.length / 2 }, (_, i) => drawOfWords(stream[2 * i]!, stream[2 * i + 1]!));
}
