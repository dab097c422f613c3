/** What a person spends: never above the cap, never twice, whatever is called in which order and by how many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { PrivacyError } from "../src/errors.js";
import { exact, isAtMost } from "../src/exact.js";
import { directoryStore } from "../src/node.js";
import { memoryStore, type Store } from "../src/store.js";
import { spent, walletOf } from "../src/wallet.js";
import { collections } from "./fixtures.js";
import { client, collector, folder, howMany, ORDERS, USER } from "./setup.js";
import { words } from "./vectors.js";

const EACH = howMany(20, 100, "times that a person is asked after each of ten restarts");

test("the same person, asked again and again in all ways, has one report", async (t) => {
  const to = await collector(t);
  const store = directoryStore(folder(t));
  const bodies = new Set<string>();
  for (let restart = 0; restart < 10; restart++) {
    const me = await client(t, to, { store });
    for (let i = 0; i < EACH; i++) {
      const { reports, again } = await me.record("users", { ...USER, age: (7 * restart + i) % 100 });
      assert.equal(again, restart + i > 0);
      bodies.add(reports[0]!.body);
    }
    await me.flush();
    assert.deepEqual(await me.budget(), { cap: 4, spent: 0.5, left: 3.5 });
  }
  assert.equal(bodies.size, 1);
  assert.equal(to.posts.length, 1);
});

test("a new round spends anew, until the cap", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const november = await client(t, to, { store, cap: "2.75" });
  await november.record("users", USER); // 0.5
  await november.rows("orders", ORDERS); // 1
  await november.rows("card", []); // 0.5
  const december = await client(t, to, { store, cap: "2.75", collection: collections.december.id });
  const receipt = await december.record("users", USER);
  assert.equal(receipt.again, false);
  assert.notEqual(receipt.reports[0]!.body, undefined);
  assert.deepEqual(await december.budget(), { cap: 2.75, spent: 2.5, left: 0.25 });
  for (const attempt of [() => december.rows("card", []), () => december.rows("orders", ORDERS), () => december.preview("card", [])]) {
    await assert.rejects(attempt(), (error) => error instanceof PrivacyError && error.code === "cap-exceeded");
  }
  assert.equal((await december.budget()).spent, 2.5);
  const richer = await client(t, to, { store, cap: 3, collection: collections.december.id });
  await richer.rows("card", []);
  assert.equal((await richer.budget()).left, 0);
});

test("a person is in one tier of a round", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  await (await client(t, to, { store })).record("users", USER);
  const other = await client(t, to, { store, collection: collections.generous.id });
  await assert.rejects(other.record("users", USER), (error) => error instanceof PrivacyError && error.code === "other-tier");
});

test("clients that share a store and hurry agree on one report", async (t) => {
  const to = await collector(t);
  for (const store of [memoryStore(), directoryStore(folder(t))]) {
    const many = await Promise.all(Array.from({ length: 5 }, () => client(t, to, { store })));
    const receipts = await Promise.all(many.flatMap((me) => [me.record("users", USER), me.record("users", { ...USER, age: 1 })]));
    assert.equal(new Set(receipts.map(({ reports }) => reports[0]!.body)).size, 1);
    assert.equal(receipts.filter(({ again }) => !again).length, 1);
    assert.equal((await many[0]!.budget()).spent, 0.5);
  }
});

test("a record is charged, drawn and queued in one update of the store", async (t) => {
  const to = await collector(t);
  const inner = memoryStore();
  const texts: string[] = [];
  const store: Store = {
    read: inner.read,
    update: (name, change) => inner.update(name, (text) => {
      const next = change(text);
      if (name.startsWith("wallet/")) texts.push(next);
      return next;
    }),
  };
  const me = await client(t, to, { store });
  await me.record("users", USER);
  await me.rows("orders", ORDERS);
  const steps = texts.map((text) => JSON.parse(text).entries.map((entry: { held: boolean; reports: { status: string }[] }) =>
    [entry.held, ...entry.reports.map(({ status }) => status)]));
  assert.deepEqual(steps, [[[false, "waiting"]], [[false, "waiting"], [false, "waiting", "waiting"]]]);
});

/** A store in which everything may happen between asking and getting: updates wait for a scheduler. */
function interleaved(): { store: Store; step: (pick: number) => boolean } {
  const inner = memoryStore();
  const queue: (() => void)[] = [];
  const wait = (): Promise<void> => new Promise((resolve) => queue.push(resolve));
  const store: Store = {
    read: async (name) => (await wait(), inner.read(name)),
    update: async (name, change) => {
      await wait();
      await inner.update(name, change);
      await wait();
    },
  };
  return { store, step: (pick) => queue.length > 0 && (queue.splice(pick % queue.length, 1)[0]!(), true) };
}

const INTERLEAVINGS = howMany(500, 10_000, "interleavings of charges in one wallet");

test("interleavings of five services: never above the cap, never charged twice", async () => {
  let refused = 0;
  for (let run = 0; run < INTERLEAVINGS; run++) {
    const stream = words(`interleaving ${run}`, 64);
    const { store, step } = interleaved();
    const cap = exact(`${1 + stream[0]! % 20}/10`);
    const wallets = [0, 1, 2].map(() => walletOf(store, "p", cap));
    let drawn = 0;
    const calls = Array.from({ length: 8 }, (_, i) => {
      const word = stream[1 + i]!;
      const claim = {
        url: "u", collection: `c${word % 2}`, round: `r${word % 2}`, tier: "", service: `s${(word >>> 1) % 5}`, held: word % 7 === 0,
        day: "2026-11-15", epsilon: exact(["1/3", "0.5", "2/7", "1"][(word >>> 4) % 4]!),
      };
      return wallets[word % 3]!.take(claim, () => [`report ${drawn++}`]).catch((error: PrivacyError) => {
        assert.equal(error.code, "cap-exceeded");
        refused++;
        return undefined;
      });
    });
    const all = Promise.all(calls);
    let done = false;
    void all.then(() => done = true);
    for (let i = 9; !done; i++) {
      step(stream[9 + i % 55]!);
      await null;
    }
    const reader = walletOf(memoryStore(), "p", cap);
    const given = (await all).filter((one) => one !== undefined);
    const byClaim = new Map<string, Set<string>>();
    for (const { entry } of given) {
      const key = `${entry.collection} ${entry.service}`;
      byClaim.set(key, (byClaim.get(key) ?? new Set()).add(entry.reports[0]!.body));
    }
    assert.ok([...byClaim.values()].every((bodies) => bodies.size === 1));
    assert.equal(drawn, byClaim.size, "one draw for each report that exists");
    let pages: Awaited<ReturnType<ReturnType<typeof walletOf>["read"]>> | undefined;
    void wallets[0]!.read().then((found) => pages = found);
    while (!pages) {
      step(0);
      await null;
    }
    assert.ok(isAtMost(spent(pages.entries), reader.cap));
    assert.equal(pages.entries.length, byClaim.size);
  }
  assert.ok(refused > INTERLEAVINGS / 10, "the cap was tried");
});
