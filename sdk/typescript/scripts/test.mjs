// Checks types, builds, bundles the tests and runs them with Node's own runner. Names given run those files only.
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const npx = (script, ...args) => execFileSync(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" });
npx("node_modules/typescript/bin/tsc", "--noEmit");
npx("scripts/build.mjs", "--no-types"); // they were checked just now

const names = readdirSync(join(root, "test")).filter((name) => name.endsWith(".ts"));
const out = join(root, "build/test");
rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: names.map((name) => join(root, "test", name)), outdir: out, bundle: true, splitting: true, format: "esm",
  platform: "node", target: "es2022", outExtension: { ".js": ".mjs" }, sourcemap: "inline",
  external: ["playwright-core"],
  alias: { "@tacit/client": join(root, "src/index.ts") },
});
const wanted = process.argv.slice(2);
const files = names.filter((name) => name.endsWith(".test.ts"))
  .filter((name) => !wanted.length || wanted.some((word) => name.includes(word)))
  .map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
const options = ["--enable-source-maps", "--test", "--test-reporter=spec", "--test-concurrency=1", "--test-timeout=150000"];
const run = spawnSync(process.execPath, [...options, ...files], { cwd: root, stdio: "inherit" });
process.exit(run.status ?? 1);
