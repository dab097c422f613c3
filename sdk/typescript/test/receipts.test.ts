/** A lost wallet: whoever holds the person's token is told which reports exist, and draws none of them again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { exact } from "../src/exact.js";
import { waiting } from "../src/outbox.js";
import { memoryStore, type Store } from "../src/store.js";
import { walletOf } from "../src/wallet.js";
import { problem } from "./collector.js";
import { collections } from "./fixtures.js";
import { client, collector, ORDERS, USER } from "./setup.js";

const TOKEN = { token: "12.ab" };

/** What a closing page would send. */
async function lastWords(store: Store, { url }: { url: string }): Promise<unknown[]> {
  const pages = await walletOf(store, `"u-42"`, exact(4)).read();
  assert.ok(pages.entries.length);
  return waiting(pages, { url, collection: collections.november.id, person: `"u-42"`, key: "", ...TOKEN });
}

test("a lost wallet draws nothing that the collector holds", async (t) => {
  const to = await collector(t);
  to.receipts = () => ({ taken: [...to.stored.keys()].map((id) => JSON.parse(id)).map(([, , service, slot]) => ({ service, slot })) });
  const first = await client(t, to, TOKEN);
  await first.record("users", USER);
  await first.flush();
  const again = await client(t, to, { ...TOKEN, store: memoryStore() });
  const { reports, epsilon } = await again.record("users", { ...USER, age: 3 });
  assert.deepEqual([reports, epsilon], [[{ body: "", status: "taken" }], 0]);
  const shown = await again.preview("users", USER);
  assert.deepEqual([shown.leaves, shown.meanings], [[], []]);
  assert.match(shown.sentence, /^Nothing is sent/);
  await again.rows("orders", ORDERS); // was not reported before, so it is drawn and charged
  assert.deepEqual(await again.budget(), { cap: 4, spent: 1, left: 3 });
  assert.equal((await again.flush()).sent, 2);
  assert.equal(to.stored.size, 3);
  const asked = to.posts.filter(({ path }) => path === "/v1/receipts").map(({ body }) => JSON.parse(body));
  assert.deepEqual(asked, Array(3).fill({ collection: collections.november.id, key: "u-42", token: "12.ab" }));
});

test("an older copy of a wallet draws nothing that the collector holds", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const first = await client(t, to, { ...TOKEN, store });
  await first.record("users", USER);
  await first.flush();
  const copies = [memoryStore(), memoryStore()];
  const name = `wallet/"u-42"`;
  const pages = (await store.read(name))!;
  for (const copy of copies) await copy.update(name, () => pages);
  to.receipts = () => ({ taken: [...to.stored.keys()].map((id) => JSON.parse(id)).map(([, , service, slot]) => ({ service, slot })) });
  await first.rows("orders", ORDERS);
  await first.flush();
  const seen = to.posts.filter(({ path }) => path.endsWith("/reports")).length;
  const again = await client(t, to, { ...TOKEN, store: copies[0]! });
  assert.equal((await again.rows("orders", [])).reports[0]!.status, "taken");
  assert.equal((await again.flush()).sent, 0);
  to.always = (request, response) => request.path === "/v1/receipts" && problem(response, 503, "slow-down");
  const offline = await client(t, to, { ...TOKEN, store: copies[1]! });
  assert.equal((await offline.rows("orders", [])).reports[0]!.status, "waiting");
  assert.deepEqual(await lastWords(copies[1]!, to), []);
  to.always = undefined;
  assert.equal((await offline.flush()).sent, 0);
  assert.deepEqual((await offline.history()).map(({ service, reports }) => [service, reports[0]!.status]),
    [["users", "stored"], ["orders", "taken"]]);
  assert.equal((await offline.budget()).spent, (await again.budget()).spent, "what this one has sent stays charged");
  assert.equal(to.posts.filter(({ path }) => path.endsWith("/reports")).length, seen, "the second draw never left");
});

test("one question, none without a token, and collectors without receipts are served as before", async (t) => {
  for (const status of [404, 405]) {
    const to = await collector(t);
    to.always = (request, response) => request.path === "/v1/receipts" && problem(response, status, "not-found");
    const me = await client(t, to, TOKEN);
    for (let i = 0; i < 3; i++) await me.record("users", USER);
    assert.equal((await me.flush()).sent, 1);
    assert.equal(to.posts.length, 2);
    const silent = await client(t, to, { person: "other" });
    await silent.record("users", USER);
    assert.equal(to.posts.length, 2);
  }
});

test("what was drawn unasked waits for the answer, and what is taken never leaves", async (t) => {
  for (const status of [503, 429, 500, 200]) {
    const to = await collector(t);
    to.receipts = () => ({ taken: [{ service: "users", slot: 0 }, { service: "other" }, null, 5] });
    to.always = (request, response) => request.path === "/v1/receipts" &&
      (status === 200 ? (response.end("{}"), true) : problem(response, status, "slow-down"));
    const store = memoryStore();
    const me = await client(t, to, { ...TOKEN, store });
    assert.equal((await me.record("users", USER)).reports[0]!.status, "waiting");
    await me.rows("orders", ORDERS);
    const delivery = await me.flush({ seconds: 0.02 });
    assert.deepEqual([delivery.sent, delivery.pending], [0, 3]);
    assert.deepEqual(await lastWords(store, to), [], "nor does a closing page send it");
    assert.ok(to.posts.every(({ path }) => path === "/v1/receipts"));
    to.always = undefined;
    const later = await client(t, to, { ...TOKEN, store });
    assert.equal((await later.flush()).sent, 2);
    assert.deepEqual((await later.history()).map(({ reports }) => reports[0]!.status), ["taken", "stored"]);
    assert.equal((await later.budget()).spent, 1, "what never left costs nothing");
  }
});

test("with a refused token nothing leaves until a better one is asked with", async (t) => {
  const to = await collector(t);
  to.receipts = () => ({ taken: [{ service: "users", slot: 0 }] });
  to.always = (_request, response) => problem(response, 403, "bad-token");
  const store = memoryStore();
  const lost = await client(t, to, { ...TOKEN, store });
  await lost.record("users", { ...USER, age: 3 });
  const { pending, problem: why } = await lost.flush();
  assert.deepEqual([pending, why?.code], [1, "bad-token"]);
  assert.deepEqual(await lastWords(store, to), []);
  to.always = undefined;
  assert.equal((await lost.flush()).sent, 0);
  assert.ok(to.posts.every(({ path }) => path === "/v1/receipts"), "the collector never saw a second draw");
  assert.equal((await lost.history())[0]!.reports[0]!.status, "taken");
});

test("a preview is asked about again before its report leaves", async (t) => {
  for (const asked of [true, false]) {
    const to = await collector(t);
    to.receipts = () => ({ taken: [] });
    const store = memoryStore();
    const me = await client(t, to, { ...TOKEN, store });
    assert.equal((await me.preview("users", USER)).leaves.length, 1);
    to.receipts = () => ({ taken: [{ service: "users", slot: 0 }] }); // another device has reported since
    if (!asked) to.always = (request, response) => request.path === "/v1/receipts" && problem(response, 503, "slow-down");
    const other = await client(t, to, { ...TOKEN, store }); // another page on this device
    const { reports } = await other.record("users", USER);
    assert.equal(reports[0]!.status, asked ? "taken" : "waiting");
    assert.deepEqual(await lastWords(store, to), []);
    to.always = undefined;
    assert.equal((await other.flush()).sent, 0);
    assert.deepEqual((await other.history()).map(({ reports, epsilon }) => [reports[0], epsilon]), [[{ body: "", status: "taken" }, 0]]);
    assert.ok(to.posts.every(({ path }) => path === "/v1/receipts"), "the second draw never left");
  }
});

test("a question without an answer holds back only what it is about", async (t) => {
  const to = await collector(t);
  to.receipts = () => ({ taken: [] });
  const me = await client(t, to, TOKEN);
  await me.record("users", USER);
  to.always = (request, response) => request.path === "/v1/receipts" && problem(response, 403, "bad-token");
  await me.rows("orders", ORDERS);
  const { sent, pending, problem: why } = await me.flush();
  assert.deepEqual([sent, pending, why?.code], [1, 2, "bad-token"]);
  to.always = undefined;
  assert.deepEqual(await me.flush(), { sent: 2, rejected: 0, pending: 0 });
});
