/** Apps that are killed at any moment, with SIGKILL: nothing is drawn twice, lost, overspent or left locked. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { exact, isAtMost } from "../src/exact.js";
import { directoryStore } from "../src/node.js";
import { spent, walletOf } from "../src/wallet.js";
import { unavailable } from "./collector.js";
import { isCaught, killOnce } from "./kill.js";
import { collector, client, folder, howMany } from "./setup.js";
import { words } from "./vectors.js";

const ROUNDS = howMany(4, 30, "kills of an app in Node");

test(`${ROUNDS} kills: one body for each report, no cap exceeded, everything delivered in the end`, async (t) => {
  const [to, directory] = [await collector(t), folder(t)];
  let first = 0; // each app has met five of its six people before, and one is new
  for (const word of words("kill real", ROUNDS)) await killOnce(to, directory, "real", word, first++);
  const store = directoryStore(directory);
  const drawn = new Map<string, string>();
  for (let i = 0; i < ROUNDS + 6; i++) {
    const pages = await walletOf(store, `"p-${i}"`, exact("1.5")).read();
    assert.ok(isAtMost(spent(pages.entries), exact("1.5")));
    for (const { collection, service, reports } of pages.entries) {
      reports.forEach(({ body }, slot) => drawn.set(JSON.stringify([collection, `p-${i}`, service, slot]), body));
    }
    assert.equal((await (await client(t, to, { store, person: `p-${i}`, cap: "1.5" })).flush()).pending, 0);
  }
  assert.ok(to.posts.length >= ROUNDS / 3, "the apps sent something");
  for (const [id, bodies] of to.bodies) assert.deepEqual([...bodies], [drawn.get(id)], "what left is what the wallet holds");
  assert.deepEqual([...to.stored.keys()].sort(), [...drawn.keys()].sort());
  const left = readdirSync(directory).filter((name) => !/^[0-9a-f]{40}\.json$/.test(name));
  assert.equal(left.filter((name) => name.startsWith("lock.")).length, 1);
  assert.ok(left.every((name) => /^lock\.\d+$|\.json\.new$/.test(name)), left.join());
  assert.equal(readFileSync(join(directory, left.find((name) => name.startsWith("lock."))!), "utf8"), "");
});

test("an app that sends before it has stored is caught by the same test", async (t) => {
  assert.ok(await isCaught(await collector(t), folder(t)));
});

test("processes that share a directory take turns", async (t) => {
  const [to, directory] = [await collector(t), folder(t)];
  to.always = unavailable; // so that all of them keep trying
  const script = join(process.cwd(), "build/test/crash-child.mjs");
  const apps = Array.from({ length: 3 }, () => spawn(process.execPath, [script, to.url, directory, "real", "0"]));
  const heard = apps.map(({ stdout }) => new Promise<void>((resolve) =>
    stdout.on("data", (text: Buffer) => text.includes("p-") && resolve())));
  await Promise.all(heard); // each has been through its first person
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const { pid } of apps) process.kill(pid!, "SIGKILL");
  assert.ok(to.bodies.size > 3);
  for (const bodies of to.bodies.values()) assert.equal(bodies.size, 1);
});
