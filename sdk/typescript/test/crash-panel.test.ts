/** Apps that are killed in the rounds of a panel: a person's rounds and total stay what they are. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { exact, isAtMost } from "../src/exact.js";
import { directoryStore } from "../src/node.js";
import { assignedRounds, type Turn, turnOf } from "../src/assigned.js";
import { spent, walletOf } from "../src/wallet.js";
import type { Collector } from "./collector.js";
import { isCaught, killOnce } from "./kill.js";
import { panel, sha256 } from "./panels.js";
import { client, collector, folder, howMany } from "./setup.js";
import { words } from "./vectors.js";

const CHILD = "crash-panel-child";
const ROUNDS = howMany(4, 30, "kills of an app in the rounds of a panel");

async function panelCollector(t: TestContext): Promise<Collector> {
  const to = await collector(t);
  to.published = { [panel.id]: { id: panel.id, contract: panel.text } };
  return to;
}

test(`${ROUNDS} kills in a panel: one body for each round that a person is asked in, and its total`, async (t) => {
  const [to, directory] = [await panelCollector(t), folder(t)];
  let first = 0; // each app has met two of its three people before, and one is new
  for (const word of words("kill panel real", ROUNDS)) await killOnce(to, directory, "real", word, first++, CHILD);
  const store = directoryStore(directory);
  const drawn = new Map<string, string>();
  for (let i = 0; i < ROUNDS + 2; i++) {
    const person = `p-${i}`;
    const asked = await assignedRounds(panel.contract, person, sha256);
    for (const round of asked) {
      const me = await client(t, to, { store, person, collection: panel.id, round, cap: panel.epsilon });
      await me.record("s", { state: "CA" });
      assert.equal((await me.flush()).pending, 0);
    }
    const pages = await walletOf(store, `"${person}"`, exact(panel.epsilon)).read();
    assert.ok(isAtMost(spent(pages.entries), exact(panel.epsilon)));
    const ids = await Promise.all(asked.map(async (round) => (await turnOf(panel.contract, panel.text, round, person, sha256) as Turn).collection));
    assert.deepEqual(pages.entries.map(({ collection }) => collection).sort(), ids.sort());
    for (const { collection, service, reports } of pages.entries) {
      reports.forEach(({ body }, slot) => drawn.set(JSON.stringify([collection, person, service, slot]), body));
    }
  }
  for (const [id, bodies] of to.bodies) assert.deepEqual([...bodies], [drawn.get(id)], "what left is what the wallet holds");
  assert.deepEqual([...to.stored.keys()].sort(), [...drawn.keys()].sort());
  assert.equal(drawn.size, 3 * (ROUNDS + 2));
});

test("an app that forgets its panel is caught by the same test", async (t) => {
  assert.ok(await isCaught(await panelCollector(t), folder(t), CHILD));
});
