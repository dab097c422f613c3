/** A real Chromium: IndexedDB over restarts and tabs, offline, and the beacon of a closing page. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test, type TestContext } from "node:test";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import type { Client, Store } from "../src/index.js";
import { type Collector, dropped } from "./collector.js";
import { canaries, collections } from "./fixtures.js";
import { PAGE } from "./page.js";
import { collector, ORDERS, USER } from "./setup.js";

declare global {
  interface Window {
    client: Client;
    store: Store;
  }
}

const names = ["chromium", "chromium-browser", "google-chrome"];
const places = (process.env["PATH"] ?? "").split(delimiter).flatMap((place) => names.map((name) => join(place, name)));
const found = process.env["CHROMIUM"] ?? places.find((path) => existsSync(path));
const skip = found || process.env["TACIT_REQUIRE_ALL"] === "1" ? false : "no Chromium: install Debian's chromium, or set CHROMIUM";

/** Return a way to start a browser on one profile, again and again; all are closed before the profile is removed. */
function browser(t: TestContext): () => Promise<BrowserContext> {
  assert.ok(found, "Chromium is required under TACIT_REQUIRE_ALL=1: install Debian's chromium, or set CHROMIUM");
  const profile = mkdtempSync(join(tmpdir(), "tacit-browser-"));
  const started: BrowserContext[] = [];
  t.after(async () => {
    for (const context of started) await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  return async () => {
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    const context = await chromium.launchPersistentContext(profile, { executablePath: found, headless: true, args });
    started.push(context);
    return context;
  };
}

async function serve(t: TestContext): Promise<Collector> {
  const to = await collector(t);
  to.pages = {
    "/": { type: "text/html", text: PAGE },
    ...Object.fromEntries(["tacit", "assigned", "preview", "texts"].map((name) =>
      [`/${name}.js`, { type: "text/javascript", text: readFileSync(`dist/${name}.js`, "utf8") }])),
  };
  return to;
}

async function open(context: BrowserContext, to: Collector, options: object = {}): Promise<Page> {
  const page = await context.newPage();
  const settings = { collection: collections.november.id, person: "u-42", key: "tacit_browser_key", every: 3600, ...options };
  await page.goto(`${to.url}/#${encodeURIComponent(JSON.stringify(settings))}`);
  await page.waitForFunction(() => "store" in window);
  return page;
}

async function eventually(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 25));
  assert.ok(condition());
}

test("offline, close, reopen, online: everything is delivered, once, as the same bytes", { skip }, async (t) => {
  const [to, start] = [await serve(t), browser(t)];
  const first = await start();
  const page = await open(first, to);
  await first.setOffline(true);
  to.always = dropped; // Chromium's own switch does not stop the beacons of a closing page
  const drawn = await page.evaluate(async ([user, orders]) => {
    const receipts = [await window.client.record("users", user), await window.client.rows("orders", orders)];
    const { pending, problem } = await window.client.flush({ seconds: 0.2 });
    return { bodies: receipts.flatMap(({ reports }) => reports.map(({ body }) => body)), pending, code: problem?.code };
  }, [USER, ORDERS] as const);
  assert.deepEqual([drawn.pending, drawn.code], [3, "unreachable"]);
  await first.close();
  assert.equal(to.stored.size, 0);
  to.always = undefined;
  const second = await start();
  const again = await open(second, to);
  const sent = await again.evaluate(async (user) => {
    const { again } = await window.client.record("users", user);
    return { again, ...await window.client.flush({ seconds: 5 }), budget: await window.client.budget() };
  }, { ...USER, age: 2 });
  assert.deepEqual(sent, { again: true, sent: 3, rejected: 0, pending: 0, budget: { cap: 4, spent: 1.5, left: 2.5 } });
  assert.deepEqual([...to.stored.values()].sort(), drawn.bodies.sort());
  for (const bodies of to.bodies.values()) assert.equal(bodies.size, 1);
});

test("a closing page's beacon arrives as text/plain, and the next visit changes nothing", { skip }, async (t) => {
  const to = await serve(t);
  const context = await browser(t)();
  const page = await open(context, to);
  await page.evaluate((user) => window.client.record("users", user), USER);
  assert.equal(to.posts.length, 0);
  await page.close();
  await eventually(() => to.stored.size === 1);
  assert.match(to.posts[0]!.type, /^text\/plain/);
  assert.equal(JSON.parse(to.posts[0]!.body).key, "tacit_browser_key");
  assert.doesNotMatch(to.posts[0]!.headers, /cookie/);
  const other = await open(context, to);
  await other.evaluate((orders) => window.client.rows("orders", orders), ORDERS);
  await other.goto("about:blank"); // leaving is closing, too
  await eventually(() => to.stored.size === 3);
  const last = await open(context, to);
  assert.deepEqual(await last.evaluate(() => window.client.flush({ seconds: 5 })), { sent: 3, rejected: 0, pending: 0 });
  for (const bodies of to.bodies.values()) assert.equal(bodies.size, 1);
  assert.ok(to.seen.every(({ method }) => method !== "OPTIONS"), "no browser asks permission first");
});

test("more than a beacon holds: what fits leaves, the rest on the next visit", { skip }, async (t) => {
  const to = await serve(t);
  const context = await browser(t)();
  const large = "o".repeat(4_000);
  await context.addInitScript(() => { // browsers refuse more than 64 KiB; collectors take less for one report
    const send = navigator.sendBeacon.bind(navigator);
    let left = 6_000;
    navigator.sendBeacon = (url, body) => (left -= (body as string).length) >= 0 && send(url, body);
  });
  const rounds = [collections.november.id, collections.december.id];
  for (const collection of rounds) {
    const page = await open(context, to, { collection, every: 0 }); // no beacons yet
    await page.evaluate((user) => window.client.record("users", user), { ...USER, os: large });
    await page.close();
  }
  const page = await open(context, to);
  await page.close();
  await eventually(() => to.stored.size >= 1);
  const last = await open(context, to);
  assert.equal((await last.evaluate(() => window.client.flush({ seconds: 5 }))).pending, 0);
  assert.equal(to.stored.size, 2);
});

test("three tabs at once agree on one report, and nothing is counted twice", { skip }, async (t) => {
  const to = await serve(t);
  const context = await browser(t)();
  const tabs = [await open(context, to), await open(context, to), await open(context, to)];
  const bodies = await Promise.all(tabs.map((tab, i) => tab.evaluate(async (user) => {
    const { reports } = await window.client.record("users", user);
    await window.client.flush({ seconds: 5 });
    return reports[0]!.body;
  }, { ...USER, age: 10 * i })));
  assert.equal(new Set(bodies).size, 1);
  assert.equal(to.stored.size, 1);
  assert.equal((await tabs[0]!.evaluate(() => window.client.budget())).spent, 0.5);
});

test("a full or blocked storage encodes nothing, and says so", { skip }, async (t) => {
  const to = await serve(t);
  const context = await browser(t)();
  const page = await open(context, to);
  const code = await page.evaluate(async (user) => {
    IDBObjectStore.prototype.put = () => { throw new DOMException("full", "QuotaExceededError"); };
    return window.client.record("users", user).then(() => "stored", (error: { code?: string; name: string }) => error.code ?? error.name);
  }, USER);
  assert.equal(code, "store");
  assert.equal((await page.evaluate(() => window.client.budget())).spent, 0);
  await page.close();
  const blocked = await context.newPage();
  await blocked.addInitScript(() => {
    indexedDB.open = () => { throw new DOMException("denied", "SecurityError"); };
  });
  await blocked.goto(`${to.url}/#${encodeURIComponent(JSON.stringify({ collection: collections.november.id, person: 1 }))}`);
  await blocked.waitForFunction(() => "store" in window);
  assert.equal(await blocked.evaluate(() => (window.client as unknown as { failed: string }).failed), "store");
  assert.equal(to.posts.length, 0);
});

test("no canary is in the browser's storage or in a request", { skip }, async (t) => {
  const to = await serve(t);
  const page = await open(await browser(t)(), to);
  const kept = await page.evaluate(async ([user, orders]) => {
    await window.client.preview("users", user);
    await window.client.record("users", user);
    await window.client.rows("orders", orders);
    await window.client.flush({ seconds: 5 });
    return [await window.store.read('wallet/"u-42"'), JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie];
  }, [USER, ORDERS] as const);
  assert.match(kept[0]!, /codes/);
  for (const text of [...kept, ...to.posts.map(({ body }) => body)]) {
    assert.ok(canaries.every((canary) => !text!.includes(canary)));
  }
});

test("a page of an origin that no key is bound to is told so; without a collector it is not", { skip }, async (t) => {
  const [mine, other, start] = [await serve(t), await collector(t), browser(t)];
  const { id, contract } = collections.november;
  mine.pages["/empty"] = { type: "text/html", text: "" };
  other.pages[`/v1/collections/${id}`] = { type: "application/json", text: contract }; // without CORS headers
  const page = await (await start()).newPage();
  await page.goto(`${mine.url}/empty`);
  const told = (url: string): Promise<string> => page.evaluate(async ([module, address, collection]) => {
    const { connect } = await import(module) as typeof import("../src/index.js");
    return connect(address, { collection, person: "u-42" }).then(() => "", (error: Error) => error.message);
  }, [`${mine.url}/tacit.js`, url, id] as const);
  assert.ok((await told(other.url)).includes(`(CORS): it needs a key with --origin ${mine.url}`));
  assert.match(await told("http://127.0.0.1:9"), /did not answer/);
});
