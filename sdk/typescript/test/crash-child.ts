/** An app that reports for six people, again and again, until it is killed. Arguments: address, folder, kind, first person. */
import { connectWith } from "../src/connect.js";
import { PrivacyError } from "../src/errors.js";
import { directoryStore } from "../src/node.js";
import { memoryStore, type Store } from "../src/store.js";
import { canaries, collections } from "./fixtures.js";

const [url, folder, kind, first] = process.argv.slice(2) as [string, string, string, string];

/** The mutant says "stored" at once and writes later: too late. */
function forgetful(): Store {
  return memoryStore();
}

const store = kind === "mutant" ? forgetful() : directoryStore(folder);
console.log("started");
for (let i = 0; ; i++) {
  const person = `p-${Number(first) + 5 - i % 6}`;
  const options = { collection: collections.november.id, person, store, every: 0, cap: "1.5" };
  const me = await connectWith(url, options, { patience: { first: 1, longest: 2 }, timeout: 1_000 });
  await me.record("users", { age: (13 * i) % 100, state: canaries[i % 4], os: "linux" });
  await me.rows("orders", Array.from({ length: i % 4 }, () => ({ amount: i % 500, item: canaries[i % 3] })));
  try {
    await me.rows("card", []); // one too many for the cap
    process.exit(3);
  } catch (refusal) {
    if (!(refusal instanceof PrivacyError)) throw refusal;
  }
  await me.flush({ seconds: 0.2 });
  me.close();
  console.log(person);
}
