/** What ships: small, the same bytes each time, without dependencies, and usable as the README says. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { collector, folder, howMany } from "./setup.js";
import { collections } from "./fixtures.js";

const MOST_BYTES = 14_000; // docs/decisions/0062-bundle.md says why

/** What the client loads when it is needed: a preview, an error's sentence, a contract that assigns rounds or views. */
const LATER = ["assigned", "preview", "texts"];

const read = (name: string): string => readFileSync(join("dist", name), "utf8");

test(`the bundle has at most ${MOST_BYTES} bytes, gzipped`, (t) => {
  const size = gzipSync(read("tacit.js"), { level: 9 }).length;
  t.diagnostic(`dist/tacit.js: ${read("tacit.js").length} bytes, ${size} gzipped`);
  assert.ok(size <= MOST_BYTES, `${size} bytes`);
});

const skip = !howMany(0, 1, "second builds of the TypeScript client, which give the same bytes");

test("a second build gives the same bytes", { skip }, (t) => {
  const out = folder(t);
  execFileSync(process.execPath, ["scripts/build.mjs", out, "--no-types"]);
  assert.deepEqual(readdirSync(out).sort(), ["assigned.js", "generate.js", "node.js", "preview.js", "tacit.js", "texts.js"]);
  for (const name of readdirSync(out)) assert.equal(readFileSync(join(out, name), "utf8"), read(name), name);
});

test("the bundle imports nothing but its own later files, and evaluates no text", () => {
  const loaded = [...read("tacit.js").matchAll(/\bimport\("\.\/(\w+)\.js"\)/g)].map(([, name]) => name!);
  assert.deepEqual([...new Set(loaded)].sort(), LATER);
  for (const name of ["tacit", ...LATER]) {
    const code = read(`${name}.js`).replace(/\bimport\("\.\/\w+\.js"\)/g, "");
    assert.doesNotMatch(code, /\bimport\s*[({"'*]|\bfrom\s*["']|\brequire\s*\(|\beval\s*\(|new Function/);
  }
  const { dependencies, peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
});

test("the lock file names no host", () => {
  assert.doesNotMatch(readFileSync("package-lock.json", "utf8"), /"resolved"|https?:\/\/[^"]*registry/);
});

test("the README's lines run with the shipped package, in a process of their own", async (t) => {
  const [to, place] = [await collector(t), folder(t)];
  mkdirSync(join(place, "node_modules/@tacit"), { recursive: true });
  symlinkSync(process.cwd(), join(place, "node_modules/@tacit/client"));
  const lines = /```js\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8"))![1]!
    .replace("https://stats.example.org", to.url).replace("9f3c…", collections.november.id).replace("\"CA\"", JSON.stringify(
      JSON.parse(collections.november.contract).services[0].attributes[1].values[0]));
  assert.ok(lines.trim().split("\n").length <= 12);
  writeFileSync(join(place, "app.mjs"), lines);
  const { stdout } = await promisify(execFile)(process.execPath, ["app.mjs"], { cwd: place });
  assert.match(stdout, /to at most .* %/);
  assert.match(stdout, /sent: 3/);
  assert.equal(to.stored.size, 3);
});
