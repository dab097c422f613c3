/** The client as an app uses it, against a collector on real sockets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CollectorError, ContractError, PrivacyError, RecordError, StoreError, UnknownNameError, UsageError } from "../src/errors.js";
import { memoryStore } from "../src/store.js";
import { client, collector, fixedDraws, ORDERS, USER } from "./setup.js";
import { problem } from "./collector.js";
import { canaries, collections } from "./fixtures.js";

const code = (wanted: string, kind: new (...args: never[]) => Error = Error) => (error: unknown): boolean =>
  error instanceof kind && (error as { code?: string }).code === wanted;

test("a record is drawn, kept, sent and acknowledged", async (t) => {
  const to = await collector(t);
  const me = await client(t, to);
  const receipt = await me.record("users", USER);
  assert.equal(receipt.again, false);
  assert.equal(receipt.reports.length, 1);
  assert.deepEqual(await me.flush(), { sent: 1, rejected: 0, pending: 0 });
  const [post] = to.posts;
  assert.equal(post!.path, `/v1/collections/${collections.november.id}/reports`);
  assert.match(post!.type, /^text\/plain/);
  const body = JSON.parse(post!.body);
  assert.deepEqual(Object.keys(body), ["tacit", "key", "reports"]);
  assert.deepEqual(Object.keys(body.reports[0]), ["person", "service", "slot", "codes", "public"]);
  assert.deepEqual(body.reports[0].public, { os: "ios" });
  assert.ok(post!.body.includes(receipt.reports[0]!.body), "the bytes of the receipt are those that left");
  const [kept] = await me.history();
  assert.equal(kept!.reports[0]!.status, "stored");
  assert.deepEqual(await me.flush(), { sent: 0, rejected: 0, pending: 0 });
  assert.equal(to.posts.length, 1);
});

test("none, one and many rows look the same", async (t) => {
  const to = await collector(t);
  const shapes = [];
  for (const [person, rows] of [["none", []], ["many", [...ORDERS, ...ORDERS, ...ORDERS, ...ORDERS]], ["one", ORDERS.slice(1)]] as const) {
    const me = await client(t, to, { person });
    const cards = person === "one" ? [{ brand: canaries[1] }] : [];
    await me.rows("card", cards);
    const { epsilon, reports } = await me.rows("orders", rows);
    await me.flush();
    const sent = JSON.parse(to.posts.at(-1)!.body).reports as { codes: number[]; slot: number; service: string }[];
    shapes.push({ epsilon, reports: reports.length, sent: sent.map(({ codes, slot, service }) => [service, slot, codes.length]) });
  }
  assert.deepEqual(shapes[1], shapes[0]);
  assert.deepEqual(shapes[2], shapes[0]);
  assert.equal(shapes[0]!.reports, 2);
});

test("bad records are refused by name, nothing is drawn, charged or shown", async (t) => {
  const to = await collector(t);
  const me = await client(t, to);
  const secret = "a value that must not be shown";
  const refusals: [unknown, string][] = [
    [{ ...USER, age: 100 }, "outside-domain"], [{ ...USER, age: 1.5 }, "between-steps"], [{ ...USER, age: secret }, "wrong-type"],
    [{ ...USER, state: secret }, "unknown-category"], [{ ...USER, age: NaN }, "not-finite"], [{ ...USER, age: null }, "missing-value"],
    [{ age: 3, os: "x" }, "missing-column"], [{ ...USER, [secret]: 1 }, "unknown-column"], [{ age: 3, state: canaries[0] }, "missing-column"],
    [{ ...USER, os: { secret } }, "wrong-type"], [{ ...USER, os: "\udfff" }, "wrong-type"], [{ ...USER, age: true }, "wrong-type"], [{ ...USER, state: "\ud800" }, "wrong-type"],
    [{ ...USER, age: 2n ** 63n }, "wrong-type"], [{ ...USER, age: Infinity }, "not-finite"],
  ];
  for (const [row, wanted] of refusals) {
    await assert.rejects(me.record("users", row as never), (error: RecordError) => {
      assert.equal(error.code, wanted);
      assert.ok(error instanceof RecordError && error.service === "users" && !error.message.includes(secret));
      return true;
    });
  }
  await assert.rejects(me.record("users", null as never), code("not-rows", UsageError));
  await assert.rejects(me.record("user", USER), code("unknown-name", UnknownNameError));
  await assert.rejects(me.record("orders", ORDERS[0]!), code("not-one-to-one"));
  await assert.rejects(me.rows("users", []), code("duplicate-key"));
  await assert.rejects(me.rows("card", [{ brand: canaries[0] }, { brand: canaries[0] }]), code("duplicate-key"));
  await assert.rejects(me.rows("orders", [...ORDERS, { amount: 500, item: canaries[0] }]), code("outside-domain"));
  assert.deepEqual(await me.budget(), { cap: 4, spent: 0, left: 4 });
  assert.deepEqual(await me.history(), []);
});

test("a contract that is not the pinned one is refused, and nothing is kept of it", async (t) => {
  const to = await collector(t);
  const { id, contract } = collections.november;
  const store = memoryStore();
  to.published = { [id]: { id, contract: contract.replace('"2026-11"', '"2026-10"') } };
  await assert.rejects(client(t, to, { store }), code("contract-not-pinned", ContractError));
  to.published = { [id]: { id, contract: `${contract} ` } };
  await assert.rejects(client(t, to, { store }), code("contract-not-pinned", ContractError));
  to.published = {};
  await assert.rejects(client(t, to, { store }), code("unknown-collection", CollectorError));
  to.published = { [id]: { id, contract } };
  await client(t, to, { store });
});

test("a kept contract is checked, and lets a client start offline", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  await client(t, to, { store });
  await to.stop();
  const me = await client(t, to, { store });
  await me.record("users", USER);
  const delivery = await me.flush({ seconds: 0.05 });
  assert.equal(delivery.pending, 1);
  assert.equal(delivery.problem?.code, "unreachable");
  await store.update(`contract/${collections.november.id}`, (text) => text!.replace('"flip": ', '"flip": 1'));
  await assert.rejects(client(t, to, { store }), code("unreachable", CollectorError));
});

test("a contract that fails its audit is refused although it is the pinned one", async (t) => {
  const to = await collector(t);
  const { createHash } = await import("node:crypto");
  const contract = collections.tight.contract.replace(/"flip": (\d+)/, (_, flip) => `"flip": ${Math.floor(flip * 0.9)}`);
  const id = createHash("sha256").update(contract).digest("hex");
  to.published = { [id]: { id, contract } };
  await assert.rejects(client(t, to, { collection: id }), code("audit-failed", PrivacyError));
});

test("arguments that cannot be meant are refused, without showing them", async (t) => {
  const to = await collector(t);
  const attempts: [object, string][] = [
    [{ collection: "latest" }, "bad-collection"], [{ person: "" }, "bad-person"], [{ person: "x".repeat(201) }, "bad-person"],
    [{ person: 1.5 }, "bad-person"], [{ person: 2n ** 63n }, "bad-person"], [{ person: "\udc00" }, "bad-person"],
    [{ person: "u\t42" }, "bad-person"], [{ person: "u\u00a042" }, "bad-person"], [{ person: "u\u200d42" }, "bad-person"],
    [{ person: 2 ** 53 }, "bad-person"], [{ cap: "much" }, "not-a-number"], [{ cap: 1e-9 }, "not-a-number"], [{ every: -1 }, "bad-option"],
    [{ every: NaN }, "bad-option"], [{ store: undefined }, "no-store"],
  ];
  for (const [options, wanted] of attempts) await assert.rejects(client(t, to, options), code(wanted, UsageError));
  const { connect } = await import("../src/index.js");
  for (const url of ["http://stats.example.org", "stats", "ftp://127.0.0.1", "http://127.0.0.1.example.org", "https://x.org/?key=1"]) {
    await assert.rejects(connect(url, { collection: collections.november.id, person: 1, store: memoryStore() }), code("bad-url", UsageError));
  }
});

test("keys are text or whole numbers of 64 bits, and keep their kind", async (t) => {
  const to = await collector(t);
  for (const [person, text] of [[42, "42"], ["42", '"42"'], [2n ** 63n - 1n, "9223372036854775807"], [-7n, "-7"]] as const) {
    const me = await client(t, to, { person });
    const { reports } = await me.record("users", USER);
    assert.ok(reports[0]!.body.startsWith(`{"person":${text},`));
  }
});

test("preview shows what leaves, and that is what leaves", async (t) => {
  const to = await collector(t);
  const me = await client(t, to, {}, { draws: fixedDraws("preview") });
  const shown = await me.preview("users", USER);
  assert.equal(shown.raw, USER);
  assert.ok(shown.certainty > 0.5 && shown.certainty < 1 / (1 + Math.exp(-2)));
  assert.match(shown.sentence, /50 % .* to at most \d+(\.\d)? %/);
  for (const { likely, fitting, cells, kept, ratio } of shown.meanings) {
    assert.ok(1 <= ratio && ratio <= Math.exp(shown.epsilon) * (1 + 1e-12));
    assert.ok(likely.length > 0 && likely.length <= 8 && fitting! <= cells && kept > 0 && kept < 1);
  }
  assert.deepEqual((await me.preview("users", { ...USER, age: 3 })).leaves, shown.leaves, "looking again draws nothing new");
  assert.deepEqual(await me.flush(), { sent: 0, rejected: 0, pending: 0 });
  assert.equal(to.posts.length, 0, "a preview does not leave");
  const receipt = await me.record("users", { ...USER, age: 7 });
  assert.equal(receipt.again, true);
  await me.flush();
  assert.ok(to.posts[0]!.body.includes(shown.leaves[0]!));
  const none = await me.preview("orders", []);
  assert.equal(none.leaves.length, 2);
});

test("what is refused by the collector is named and not sent again", async (t) => {
  const to = await collector(t);
  to.judge = ({ service }) => service === "users" ? { status: "refused", code: "wrong-tier" } : undefined;
  const me = await client(t, to);
  await me.record("users", USER);
  await me.rows("orders", ORDERS);
  assert.deepEqual(await me.flush(), { sent: 2, rejected: 1, pending: 0 });
  const [users] = await me.history();
  assert.deepEqual([users!.reports[0]!.status, users!.reports[0]!.code], ["refused", "wrong-tier"]);
  assert.equal((await me.flush()).sent, 0);
  assert.equal(to.posts.length, 1);
});

test("a fresh token goes with each request, to its own collection only", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const old = await client(t, to, { store });
  await old.record("users", USER); // waits for somebody without a token, or with one about this round
  let asked = 0;
  const me = await client(t, to, { store, collection: collections.december.id, token: () => `fresh-${++asked}` });
  await me.record("users", USER);
  assert.deepEqual((await me.flush()).sent, 1);
  assert.deepEqual(to.posts.map(({ body }) => JSON.parse(body).token), ["fresh-1", "fresh-2"], "a question and a batch");
  assert.deepEqual((await old.flush()).sent, 1);
});

test("forget deletes here and there, keeps what was spent, and ends the round", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const me = await client(t, to, { store, token: "u-42.signed" });
  await me.record("users", USER);
  await me.flush();
  const { spent } = await me.budget();
  assert.deepEqual(await me.forget(), { sent: 0, rejected: 0, pending: 0 });
  assert.deepEqual(to.deleted, ["u-42"]);
  assert.equal(to.stored.size, 0);
  assert.deepEqual(JSON.parse(to.posts.at(-1)!.body), {
    tacit: 1, key: "tacit_test_key", token: "u-42.signed", person: "u-42", collection: collections.november.id,
  });
  assert.ok(!(await store.read('wallet/"u-42"'))!.includes("codes"));
  assert.equal((await me.budget()).spent, spent);
  await assert.rejects(me.record("users", USER), code("forgotten", PrivacyError));
  await assert.rejects(me.rows("orders", []), code("forgotten", PrivacyError));
  const next = await client(t, to, { store, collection: collections.december.id });
  assert.equal((await next.record("users", USER)).again, false);
});

test("a deletion that waits deletes nothing of another round, and keeps none of its reports back", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const november = { store, token: "november" };
  const december = { store, token: "december", collection: collections.december.id };
  const asked = (): unknown[] => to.posts.filter(({ path }) => path === "/v1/forget").map(({ body }) => JSON.parse(body).collection);
  const first = await client(t, to, november);
  await first.record("users", USER);
  await first.flush();
  to.always = (_, response) => problem(response, 403, "bad-token");
  const { pending, problem: why } = await first.forget();
  assert.deepEqual([pending, why?.code], [1, "bad-token"]);
  to.always = undefined;
  const second = await client(t, to, december);
  await second.record("users", USER);
  assert.deepEqual(await second.flush(), { sent: 1, rejected: 0, pending: 0 });
  assert.deepEqual(asked(), [collections.november.id], "another round's token deletes nothing");
  assert.deepEqual(await (await client(t, to, november)).flush(), { sent: 0, rejected: 0, pending: 0 });
  assert.deepEqual(asked(), [collections.november.id, collections.november.id]);
  await second.forget();
  assert.equal(asked().at(-1), collections.december.id);
});

test("a deletion that is refused keeps reports of other rounds going", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const first = await client(t, to, { store });
  await first.record("users", USER);
  await first.flush();
  to.always = ({ path }, response) => path === "/v1/forget" && problem(response, 404, "unknown-collection");
  await first.forget();
  const second = await client(t, to, { store, collection: collections.december.id });
  await second.record("users", USER);
  const { sent, pending, problem: why } = await second.flush();
  assert.deepEqual([sent, pending, why?.code], [1, 1, "unknown-collection"]);
});

test("a deletion of an earlier version's wallet is still asked for", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  await store.update('wallet/"u-42"', () => JSON.stringify({ tacit: 1, entries: [], forgotten: [], deletions: [to.url] }));
  assert.deepEqual(await (await client(t, to, { store })).flush(), { sent: 0, rejected: 0, pending: 0 });
  assert.deepEqual(to.deleted, ["u-42"]);
});

test("public values that collectors refuse are refused before anything is drawn", async (t) => {
  const me = await client(t, await collector(t));
  for (const os of ["x".repeat(4093), "é".repeat(2047)]) {
    await assert.rejects(me.record("users", { ...USER, os }), code("wrong-public", RecordError));
  }
  assert.equal((await me.budget()).spent, 0);
  await me.record("users", { ...USER, os: "é".repeat(2046) });
});

test("a damaged wallet encodes nothing", async (t) => {
  const to = await collector(t);
  for (const text of ["", "{", "null", '{"tacit":2,"entries":[],"forgotten":[],"deletions":[]}', '{"tacit":1}']) {
    const store = memoryStore();
    await store.update('wallet/"u-42"', () => text);
    await assert.rejects(client(t, to, { store }), code("wallet-damaged", StoreError));
  }
});
