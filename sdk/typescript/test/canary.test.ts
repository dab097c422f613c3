/** No raw value leaves or is stored: category names that occur nowhere by chance are looked for everywhere. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { directoryStore } from "../src/node.js";
import { unavailable } from "./collector.js";
import { canaries, collections } from "./fixtures.js";
import { client, collector, folder } from "./setup.js";
import { words } from "./vectors.js";

const found = (text: string): string[] => canaries.filter((canary) => text.includes(canary) || text.includes(canary.slice(7, 39)));

test("no canary is in any request, file, error or log", async (t) => {
  const [to, directory] = [await collector(t), folder(t)];
  const log: string[] = [];
  for (const method of ["log", "error", "warn", "info", "debug"] as const) {
    t.mock.method(console, method, (...args: unknown[]) => void log.push(args.map(String).join(" ")));
  }
  const store = directoryStore(directory);
  words("canaries", 40).forEach((word, i) => word % 5 === 0 && to.faults.splice(i % 7, 0, unavailable));
  for (const [i, word] of words("people", 25).entries()) {
    const me = await client(t, to, { store, person: `person ${i}` });
    const canary = canaries[word % 4]!;
    const user = { age: word % 130, state: word % 11 ? canary : `${canary} unknown`, os: "linux", ...(word % 13 ? {} : { [canary]: 1 }) };
    const steps = [
      () => me.preview("users", user), () => me.record("users", user), () => me.record(canary, user),
      () => me.rows("orders", Array.from({ length: word % 4 }, () => ({ amount: word % 600, item: canaries[word % 3] }))),
      () => me.rows("card", word % 2 ? [{ brand: canary }] : []), () => me.rows("card", canary as never), () => me.flush(),
      () => word % 3 ? me.flush() : me.forget(),
    ];
    for (const step of steps) await step().catch((error: Error) => log.push(`${error.name} ${error.message} ${error.stack} ${JSON.stringify(error)}`));
    me.close();
  }
  const contract = found(collections.november.contract);
  assert.equal(contract.length, 4, "the canaries are in the public contract");
  assert.ok(to.posts.length > 20 && log.length > 40);
  for (const { path, headers, body } of to.seen) assert.deepEqual(found(path + headers + body), []);
  const allowed = / takes .*?\./g; // says what is allowed: from the contract
  for (const line of log) assert.deepEqual(found(line.replaceAll(allowed, "")), [], line);
  for (const line of log) assert.ok(!line.includes("unknown\""), line);
  for (const name of readdirSync(directory)) {
    const text = readFileSync(join(directory, name), "utf8");
    assert.deepEqual(text === collections.november.contract ? [] : found(text), []);
  }
});

test("a store that kept the row would be caught", async (t) => {
  const [to, directory] = [await collector(t), folder(t)];
  const store = directoryStore(directory);
  const me = await client(t, to, { store });
  const shown = await me.preview("users", { age: 1, state: canaries[0]!, os: "x" });
  await store.update("mutant", () => JSON.stringify(shown));
  const texts = readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));
  assert.ok(texts.some((text) => text !== collections.november.contract && found(text).length > 0));
});
