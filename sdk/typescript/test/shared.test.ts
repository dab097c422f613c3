/** Tiers, caps and sentences: cases that the Python and the TypeScript client must decide alike. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Contract } from "../src/contract.js";
import { PrivacyError, told } from "../src/errors.js";
import { exact, fractionText } from "../src/exact.js";
import { guarantee } from "../src/sentences.js";
import { memoryStore } from "../src/store.js";
import { latestDay, spent, type Wallet, walletOf } from "../src/wallet.js";

interface Step {
  readonly collection: string;
  readonly round: string;
  readonly tier: string;
  readonly services: string;
  readonly url: string;
  readonly service: string;
  readonly epsilon: string;
  readonly day: string;
  readonly expect: string;
  readonly spent?: string;
  readonly renews?: string | null;
}

const load = <T>(name: string): T =>
  JSON.parse(readFileSync(join(process.cwd(), "../../tests/vectors/client", `${name}.json`), "utf8")) as T;

/** The code of the clients, the same in both, as the shared file names the refusal. */
const CODES: Record<string, string> = { "cap-exceeded": "cap" };

async function outcome(wallet: Wallet, { expect: _expect, spent: _spent, renews: _renews, epsilon, ...rest }: Step): Promise<string> {
  let drawn = false;
  try {
    const claim = { ...rest, held: false, epsilon: exact(epsilon) };
    const { again } = await wallet.take(claim, () => (drawn = true, ["{}"]));
    assert.equal(again, !drawn);
    return again ? "again" : "drawn";
  } catch (refusal) {
    assert.ok(refusal instanceof PrivacyError && !drawn);
    return CODES[refusal.code] ?? refusal.code;
  }
}

for (const { name, cap, days, steps } of load<{ name: string; cap: string; days: number | null; steps: Step[] }[]>("wallet")) {
  test(`wallets decide as the shared case says: ${name}`, async () => {
    const store = memoryStore();
    for (const step of steps) {
      const wallet = walletOf(store, "ada", exact(cap), days ?? undefined); // each step after a restart
      assert.equal(await outcome(wallet, step), step.expect, JSON.stringify(step));
      const pages = await wallet.read();
      const counted = wallet.counted(pages, step.day);
      if (step.spent !== undefined) assert.equal(fractionText(spent(counted)), step.spent, JSON.stringify(step));
      if (step.renews !== undefined) assert.equal(wallet.renews(pages, step.day) ?? null, step.renews, JSON.stringify(step));
      assert.ok(latestDay(pages, step.day) >= step.day);
    }
  });
}

test("a refusal says when there is enough again", async () => {
  const wallet = walletOf(memoryStore(), "ada", exact(2), 30);
  const claim = (collection: string, day: string, epsilon = 1): Parameters<Wallet["take"]>[0] =>
    ({ url: "u", collection, round: collection, tier: "", service: "s", services: "s", held: false, day, epsilon: exact(epsilon) });
  await wallet.take(claim("c0", "2026-01-01"), () => ["{}"]);
  await wallet.take(claim("c1", "2026-01-11"), () => ["{}"]);
  const refused = (epsilon: number): Promise<unknown> => told(wallet.take(claim("c2", "2026-01-12", epsilon), () => ["{}"]));
  await assert.rejects(refused(1), /2 of the wallet's 2 per 30 days is spent. .* on 2026-01-31/);
  await assert.rejects(refused(2), /enough again on 2026-02-10/);
});

for (const { name, contract, service, sentences } of load<{ name: string; contract: Contract; service: string; sentences: string[] }[]>("sentences")) {
  test(`previews say what leaves before what is hidden: ${name}`, () => {
    assert.deepEqual(guarantee(contract, contract.services.find((one) => one.name === service)!), sentences);
  });
}
