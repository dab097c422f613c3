// An app with the real TypeScript client and a durable outbox: hands rows over, delivers, and notes what was delivered.
// Arguments: folder of the built package, address, collection, folder, first person, number of people.
import { appendFile } from "node:fs/promises";
import { join } from "node:path";

const [built, url, collection, folder, first, count] = process.argv.slice(2);
const { connect } = await import(join(built, "tacit.js"));
const { directoryStore } = await import(join(built, "node.js"));
const store = directoryStore(join(folder, "outbox"));
for (let number = Number(first); number < Number(first) + Number(count); number += 1) {
  let me;
  for (;;) {
    try {
      me = await connect(url, { collection, person: `t-${number}`, cap: 1000, store, every: 0 });
      break;
    } catch {
      await new Promise((wake) => setTimeout(wake, 200)); // no collector answers: the contract cannot be fetched yet
    }
  }
  await me.record("users", { age: number % 10 });
  await me.rows("orders", Array.from({ length: number % 3 }, () => ({ pay: number % 5 })));
  let delivered;
  do delivered = await me.flush({ seconds: 20 }); while (delivered.pending > 0);
  const history = await me.history();
  await appendFile(join(folder, "history"), `${JSON.stringify({ history, pending: 0, rejected: delivered.rejected })}\n`);
  me.close();
}
