/** `tacit-types`: what it writes compiles, and what the contract refuses does not. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { collector, folder, howMany } from "./setup.js";
import { collections } from "./fixtures.js";

const GENERATE = resolve("dist/generate.js");
const TSC = resolve("node_modules/typescript/bin/tsc");
const CONFIG = {
  extends: resolve("tsconfig.json"),
  compilerOptions: { noEmit: true, types: [], paths: { "@tacit/client": [resolve("src/index.ts")] } },
  include: ["app.ts"],
};

/** Each line after `// @ts-expect-error` must not compile, each other line must. */
const APP = `
import { connect } from "@tacit/client";
import { collection, type Contract, type Rows } from "./shop.js";

export async function report(user: Rows["users"], orders: Rows["orders"][]): Promise<void> {
  const shop = await connect<Contract>("https://stats.example.org", { collection, person: "u-42" });
  await shop.record("users", user);
  await shop.record("users", { age: 41, state: "Ωß", os: "ios" });
  await shop.rows("orders", orders);
  await shop.rows("orders", []);
  await shop.preview("users", user);
  // @ts-expect-error
  await shop.record("usrs", user);
  // @ts-expect-error
  await shop.record("users", { agee: 41, state: "Ωß", os: "ios" });
  // @ts-expect-error
  await shop.record("users", { age: 41, state: "Ωß", os: "ios", agee: 41 });
  // @ts-expect-error
  await shop.record("users", { age: "41", state: "Ωß", os: "ios" });
  // @ts-expect-error
  await shop.record("users", { age: 41, state: "no such state", os: "ios" });
  // @ts-expect-error
  await shop.record("orders", orders[0]!);
  // @ts-expect-error
  await shop.rows("order", orders);
  // @ts-expect-error
  await shop.preview("users", { age: 41 });
  const open = await connect("https://stats.example.org", { collection, person: "u-42" });
  await open.record("any name", { any: "column" });
}
`;

const skip = !howMany(0, 1, "types of a contract that the TypeScript compiler reads");

test("what the contract refuses does not compile", { skip }, async (t) => {
  const [place, to] = [folder(t), await collector(t)];
  const { id, contract } = collections.november;
  const [state] = JSON.parse(contract).services[0].attributes[1].values as [string];
  writeFileSync(join(place, "contract.json"), contract);
  const run = (...words: string[]) => spawnSync(process.execPath, [GENERATE, ...words], { cwd: place, encoding: "utf8" });
  const written = run("contract.json");
  assert.equal(written.stderr, "");
  assert.match(written.stdout, new RegExp(`collection = "${id}"`));
  writeFileSync(join(place, "shop.ts"), written.stdout);
  writeFileSync(join(place, "app.ts"), APP.replaceAll("\"Ωß\"", JSON.stringify(state)));
  writeFileSync(join(place, "package.json"), `{ "type": "module" }`);
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify(CONFIG));
  const checked = spawnSync(process.execPath, [TSC, "-p", "."], { cwd: place, encoding: "utf8" });
  assert.equal(checked.stdout, "");
  assert.equal(run("contract.json", "0".repeat(64)).status, 2, "not the pinned contract");
  writeFileSync(join(place, "contract.json"), contract.replace("ordinal", "ordinary"));
  const refused = run("contract.json");
  assert.deepEqual([refused.status, refused.stdout], [2, ""]);
  assert.deepEqual([run().status, run("nowhere.json").status, run(to.url).status], [2, 2, 2]);
});
