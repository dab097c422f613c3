/** Retries, batches and moments: what goes wrong between a client and its collector, and that the bytes never change. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import type { Clock } from "../src/time.js";
import { backOff, PATIENCE } from "../src/time.js";
import { memoryStore } from "../src/store.js";
import { dropped, type Fault, problem, unavailable } from "./collector.js";
import { collections } from "./fixtures.js";
import { client, collector, fixedDraws, folder, howMany, ORDERS, QUICK, USER } from "./setup.js";
import { directoryStore } from "../src/node.js";

const silent: Fault = () => true; // never answers: the client's own limit ends it

const halfAnswer: Fault = (_request, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"statuses":[');
  setTimeout(() => response.destroy(), 5);
  return true;
};

const lie = (text: string): Fault => (_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(text);
  return true;
};

test("every fault is survived, and every retry sends the same bytes", async (t) => {
  const to = await collector(t);
  const me = await client(t, to, {}, { timeout: 500 });
  await me.record("users", USER);
  await me.rows("orders", ORDERS);
  to.faults.push(unavailable, dropped, silent, halfAnswer, (_, r) => problem(r, 429, "slow-down"), (_, r) => problem(r, 507, "disk-full"),
    lie("no JSON"), lie("null"), lie('{"statuses":[]}'), lie('{"statuses":[{"status":"stored"}]}'), lie('{"statuses":[1,null,{}]}'),
    (_, r) => problem(r, 500, "internal"));
  assert.deepEqual(await me.flush({ seconds: 20 }), { sent: 3, rejected: 0, pending: 0 });
  assert.ok(to.posts.length >= 13); // a busy machine may exceed the limit once more
  assert.equal(new Set(to.posts.map(({ body }) => body)).size, 1);
});

test("an acknowledgement that got lost is repeated, and nothing is stored twice", async (t) => {
  const to = await collector(t);
  const me = await client(t, to);
  await me.record("users", USER);
  const late: Fault = (seen, response) => { // stores, then loses the answer
    const id = JSON.stringify([collections.november.id, "u-42", "users", 0]);
    to.stored.set(id, JSON.stringify(JSON.parse(seen.body).reports[0]));
    return dropped(seen, response);
  };
  to.faults.push(late);
  assert.deepEqual(await me.flush(), { sent: 1, rejected: 0, pending: 0 });
  assert.equal(to.stored.size, 1);
  assert.equal(to.posts.length, 2);
});

test("one refused report does not sink its batch, and an unknown status is asked again", async (t) => {
  const to = await collector(t);
  let asked = 0;
  to.judge = ({ service, slot }) =>
    service === "users" ? { status: "refused", code: "unknown-code" } : slot === 1 && asked++ < 2 ? { status: "busy" } : undefined;
  const me = await client(t, to);
  await me.record("users", USER);
  await me.rows("orders", ORDERS);
  assert.deepEqual(await me.flush(), { sent: 2, rejected: 1, pending: 0 });
  assert.equal(to.posts.length, 3);
  assert.equal(JSON.parse(to.posts[2]!.body).reports.length, 1);
});

test("batches that are too large are halved, a closed round is not tried again", async (t) => {
  const to = await collector(t);
  const me = await client(t, to);
  await me.record("users", USER);
  await me.rows("orders", ORDERS);
  to.always = (seen, response) => JSON.parse(seen.body).reports.length > 1 && problem(response, 413, "too-large");
  assert.deepEqual(await me.flush(), { sent: 3, rejected: 0, pending: 0 });
  to.always = (_seen, response) => problem(response, 410, "collection-closed");
  await me.rows("card", []);
  assert.deepEqual(await me.flush(), { sent: 0, rejected: 1, pending: 0 });
  assert.equal((await me.history()).at(-1)!.reports[0]!.code, "collection-closed");
});

test("a wrong key is not hammered: reports wait, and leave when the key is right", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const me = await client(t, to, { store });
  await me.record("users", USER);
  to.always = (seen, response) => JSON.parse(seen.body).key !== "tacit_new_key" && problem(response, 401, "unknown-key");
  const delivery = await me.flush();
  assert.equal(delivery.pending, 1);
  assert.equal(delivery.problem?.code, "unknown-key");
  assert.equal(to.posts.length, 1);
  const again = await client(t, to, { store, key: "tacit_new_key" });
  assert.equal((await again.flush()).sent, 1);
});

test("reports of an earlier round leave with the next one, each to its own collection", async (t) => {
  const to = await collector(t);
  const store = memoryStore();
  const before = await client(t, to, { store });
  await before.record("users", USER);
  const me = await client(t, to, { store, collection: collections.december.id });
  await me.record("users", USER);
  assert.equal((await me.flush()).sent, 2);
  assert.deepEqual(to.posts.map(({ path }) => path.split("/")[3]), [collections.november.id, collections.december.id]);
});

const RETRIES = howMany(100, 2_000, "forced retries of a delivery");

test(`${RETRIES} forced retries, with restarts between: one body for each report`, async (t) => {
  const to = await collector(t);
  const store = directoryStore(folder(t));
  to.always = (_seen, response) => problem(response, 503, "overloaded");
  const parts = { patience: { first: 0, longest: 0 } };
  const first = await client(t, to, { store }, parts);
  await first.record("users", USER);
  await first.rows("orders", ORDERS);
  for (let restart = 0; to.posts.length < RETRIES; restart++) {
    const me = await client(t, to, { store }, parts);
    await me.rows("orders", restart % 2 ? [] : ORDERS.slice(1)); // what changed meanwhile changes nothing
    await me.flush({ seconds: 0.5 });
    me.close();
  }
  to.always = undefined;
  assert.equal((await (await client(t, to, { store })).flush()).sent, 3);
  assert.equal(to.bodies.size, 3);
  for (const bodies of to.bodies.values()) assert.equal(bodies.size, 1);
  assert.equal(new Set(to.posts.map(({ body }) => body)).size, 1);
});

test("Retry-After is honoured, and waits grow and are spread", async (t) => {
  const to = await collector(t);
  const me = await client(t, to);
  await me.record("users", USER);
  to.faults.push((_seen, response) => problem(response, 429, "slow-down", { "retry-after": "1" }));
  const start = performance.now();
  assert.equal((await me.flush()).sent, 1);
  assert.ok(performance.now() - start >= 990);
  to.faults.push((_seen, response) => problem(response, 503, "overloaded", { "retry-after": "3600" }));
  await me.rows("card", []);
  assert.equal((await me.flush({ seconds: 1 })).pending, 1, "a wait beyond the limit is not begun");
  const draws = fixedDraws("back-off");
  const waits = Array.from({ length: 12 }, (_, i) => Array.from({ length: 50 }, () => backOff(i + 1, PATIENCE, draws)));
  waits.forEach((own, i) => {
    const whole = Math.min(PATIENCE.longest, PATIENCE.first * 2 ** i);
    assert.ok(own.every((wait) => wait >= whole / 2 && wait < whole));
    assert.ok(Math.max(...own) - Math.min(...own) > whole / 4);
  });
});

/** A clock that tests move: what is due runs, and what it started on the network is waited for. */
class TestClock implements Clock {
  time = 1_800_000_000_000;
  readonly due: { at: number; run: () => void }[] = [];
  now = (): number => this.time;
  after = (milliseconds: number, run: () => void): (() => void) => {
    const one = { at: this.time + milliseconds, run };
    this.due.push(one);
    return () => void this.due.splice(this.due.indexOf(one) >>> 0, 1);
  };

  async advance(milliseconds: number): Promise<void> {
    const until = this.time + milliseconds;
    for (;;) {
      const next = this.due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.due.splice(this.due.indexOf(next), 1);
      this.time = next.at;
      next.run();
      await new Promise((resolve) => setTimeout(resolve, 200)); // loopback answers in a few
    }
    this.time = until;
  }
}

test("reports leave at moments that do not depend on the data", async (t) => {
  const moments: { at: number; services: string[] }[][] = [];
  for (const [age, rows, card] of [[0, [], []], [99, [...ORDERS, ...ORDERS], [{ brand: USER.state }]]] as const) {
    const to = await collector(t);
    const clock = new TestClock();
    const own: { at: number; services: string[] }[] = [];
    to.always = (seen, response) => {
      own.push({ at: clock.time, services: JSON.parse(seen.body).reports.map((report: { service: string }) => report.service) });
      return own.length < 3 && problem(response, 503, "overloaded");
    };
    const me = await client(t, to, { every: 600 }, { clock, draws: fixedDraws("moments"), patience: PATIENCE });
    await me.record("users", { ...USER, age });
    await clock.advance(200_000);
    await me.rows("orders", rows);
    await me.rows("card", card);
    await clock.advance(2_000_000);
    moments.push(own);
  }
  assert.deepEqual(moments[1], moments[0]);
  assert.deepEqual(new Set(moments[0]!.flatMap(({ services }) => services)), new Set(["users", "orders", "card"]));
});

test("an empty outbox sends nothing, a closed client neither", async (t) => {
  const to = await collector(t);
  const clock = new TestClock();
  const me = await client(t, to, { every: 60 }, { ...QUICK, clock });
  await clock.advance(200_000);
  assert.equal(to.posts.length, 0);
  await me.record("users", USER);
  me.close();
  await clock.advance(200_000);
  assert.equal(to.posts.length, 0);
});

test("a collector whose answers are far too long fills no memory", async (t) => {
  const to = await collector(t);
  let sent = 0;
  const flood = (response: ServerResponse): true => {
    const piece = Buffer.alloc(2 ** 16, " ");
    const pour = (): void => {
      while (!response.destroyed && sent < 2 ** 27) {
        sent += piece.length;
        if (!response.write(piece)) return;
      }
      response.end();
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.on("drain", pour);
    pour();
    return true;
  };
  to.get = (_request, response) => flood(response);
  await assert.rejects(client(t, to, {}, { timeout: 60_000 }), { code: "unreachable" });
  assert.ok(sent < 2 ** 26 + 2 ** 24, `${sent} bytes of a contract`);
  to.get = undefined;
  const me = await client(t, to, { token: "12.ab" }, { timeout: 60_000 });
  to.faults.push(...Array<Fault>(2).fill((_request, response) => flood(response)));
  sent = 0;
  const { reports } = await me.record("users", USER);
  assert.equal(reports[0]!.status, "waiting");
  assert.deepEqual(await me.flush(), { sent: 1, rejected: 0, pending: 0 });
  assert.equal(to.faults.length, 0);
  assert.ok(sent < 2 ** 25, `${sent} bytes of two answers`);
});
