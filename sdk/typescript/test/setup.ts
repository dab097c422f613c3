/** A collector and clients for it, taken down with the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Client, Parts } from "../src/client.js";
import { connectWith, type Options } from "../src/connect.js";
import { drawOfWords, type Draws } from "../src/randomness.js";
import { memoryStore } from "../src/store.js";
import { Collector } from "./collector.js";
import { canaries, collections } from "./fixtures.js";
import { words } from "./vectors.js";

export const QUICK: Partial<Parts> = { patience: { first: 1, longest: 4 }, timeout: 2_000 };

const LONG = Number(process.env["TACIT_LONG"] ?? 0);

/** Return how many are tried: few in `make test`, more in `make test-all`, times n with TACIT_LONG=n; see tests/support/tiers.py. */
export const howMany = (short: number, long: number, _what: string): number => LONG ? long * LONG : short;

export const USER = { age: 41, state: canaries[2]!, os: "ios" };
export const ORDERS = [{ amount: 13, item: canaries[0]! }, { amount: 400, item: canaries[1]! }];

export async function collector(t: TestContext): Promise<Collector> {
  const started = await Collector.start();
  t.after(() => started.stop());
  return started;
}

export async function client(
  t: TestContext, to: Collector, options: Partial<Options> = {}, parts: Partial<Parts> = {},
): Promise<Client> {
  const opened = await connectWith(to.url, {
    collection: collections.november.id, person: "u-42", key: "tacit_test_key", store: memoryStore(), every: 0, ...options,
  }, { ...QUICK, ...parts });
  t.after(() => opened.close());
  return opened;
}

export function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "tacit-"));
  t.after(() => rmSync(made, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return made;
}

/** Return fixed draws, for tests only. */
export function fixedDraws(name: string): Draws {
  let block = 0;
  return (count) => Array.from({ length: count }, () => {
    const [first, second] = words(`${name}:${block++}`, 2) as [number, number];
    return drawOfWords(first, second);
  });
}
