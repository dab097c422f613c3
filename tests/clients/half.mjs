// Half of the people of the end-to-end test, through the package as it is built. Arguments: package, address, collection,
// cap; standard input: one JSON object for each person. Says "half" in the middle and, at the end, what became of them.
import { createInterface } from "node:readline";

const [built, url, collection, cap] = process.argv.slice(2);
const { connect, memoryStore } = await import(built);
const people = [];
for await (const line of createInterface({ input: process.stdin })) people.push(JSON.parse(line));
const store = memoryStore();
const total = { sent: 0, rejected: 0, pending: 0 };
for (const [place, { person, users, orders }] of people.entries()) {
  if (place === people.length >> 1) console.log("half");
  const me = await connect(url, { collection, person, cap, store, every: 0 });
  await me.record("users", users);
  await me.rows("orders", orders);
  const delivered = await me.flush({ seconds: 120 }); // tries again while the collector is away
  for (const word of Object.keys(total)) total[word] += delivered[word];
  me.close();
}
console.log(JSON.stringify(total));
