/** Dictionaries: fetched by the hash that the contract has, kept, and refused if they are not those. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../src/store.js";
import { client, collector } from "./setup.js";
import { drawsOf, vectors } from "./vectors.js";

const vector = vectors.find(({ lists }) => lists)!;
const [[hash, list]] = Object.entries(vector.lists!) as [[string, readonly string[]]];
const file = list.map((value) => `${value}\n`).join("");
const refused = (code: string) => (cause: unknown): boolean => (cause as { code?: string }).code === code;
const published = (text: string): never =>
  ({ [vector.id]: { id: vector.id, contract: vector.contract }, [hash]: { id: hash, contract: text } }) as never;

test("a client fetches a dictionary by its hash, once, and encodes by it", async (t) => {
  const to = await collector(t);
  to.published = published(file);
  const [store, draws] = [memoryStore(), (): number[] => drawsOf(vector.words.slice(0, 2 * vector.words.length / vector.records!.length / 2))];
  const options = { collection: vector.id, store };
  const me = await client(t, to, options, { draws });
  const { reports } = await me.record("s", vector.records![0]!);
  assert.deepEqual((JSON.parse(reports[0]!.body) as { codes: unknown }).codes, vector.codes[0]);
  assert.deepEqual(to.seen.filter(({ path }) => path.includes(hash)).map(({ path }) => path), [`/v1/dictionaries/${hash}`]);
  to.published = {};
  await client(t, to, { ...options, person: "another" }); // both files are kept
});

test("a dictionary that is not the pinned one is refused, and nothing is drawn", async (t) => {
  for (const text of [file.slice(0, -1), file.replace("sku 1", "sku 9"), `${file}one more\n`, ""]) {
    const to = await collector(t);
    to.published = published(text);
    const store = memoryStore();
    await assert.rejects(client(t, to, { collection: vector.id, store }), refused("contract-not-pinned"));
    to.published = published(file);
    await client(t, to, { collection: vector.id, store }); // nothing wrong was kept
  }
});
