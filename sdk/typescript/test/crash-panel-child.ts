/** An app whose three people walk through the rounds of a panel, again and again, until it is killed. Arguments: address, folder, kind, first person. */
import { connectWith } from "../src/connect.js";
import { TacitError } from "../src/errors.js";
import { directoryStore } from "../src/node.js";
import { assignedRounds } from "../src/assigned.js";
import { memoryStore } from "../src/store.js";
import { panel, sha256 } from "./panels.js";

const [url, folder, kind, first] = process.argv.slice(2) as [string, string, string, string];
const store = kind === "mutant" ? memoryStore() : directoryStore(folder);
console.log("started");
for (let i = 0; ; i++) {
  const person = `p-${Number(first) + 2 - i % 3}`;
  const asked = await assignedRounds(panel.contract, person, sha256);
  const round = i % 4 ? asked[i % asked.length]! : 1 + i % panel.rounds; // now and then a round of others
  const options = { collection: panel.id, person, round, store, every: 0, cap: panel.epsilon };
  try {
    const me = await connectWith(url, options, { patience: { first: 1, longest: 2 }, timeout: 1_000 });
    await me.record("s", { state: ["CA", "NY", "WA"][i % 3]! }); // another value each time: the first one counts
    await me.flush({ seconds: 0.2 });
    me.close();
    console.log(person);
  } catch (refusal) {
    if (!(refusal instanceof TacitError) || refusal.code !== "not-asked" || asked.includes(round)) throw refusal;
  }
}
