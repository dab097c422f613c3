// Builds dist/ (or the folder given): the client of browsers and Node, minified, with the files it loads when they are needed; the store and
// the type generator of Node; type declarations.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = process.argv.slice(2).find((word) => !word.startsWith("--")) ?? join(root, "dist");
const common = { bundle: true, format: "esm", target: "es2022", minify: true, charset: "utf8", absWorkingDir: root };

const withTypes = !process.argv.includes("--no-types");
if (withTypes) rmSync(out, { recursive: true, force: true });
const later = ["preview", "texts", "assigned"]; // what most pages never need
const external = later.map((name) => `./${name}.js`);
const internal = /^(address|answers|clock|counted|deleted|digits|filler|interpreter|isAsked|isReleased|latest|needOneToOne|noteTaken|patience|period|settle|wallet)$/; // on no wire, of no API
const again = { // 4 % smaller than esbuild alone
  module: true, ecma: 2022, compress: { passes: 3, keep_fargs: false, hoist_funs: false, pure_getters: true }, mangle: { properties: { regex: internal } },
};
for (const [name, source] of [["tacit", "index"], ...later.map((name) => [name, name])]) {
  const outfile = join(out, `${name}.js`);
  await build({ ...common, entryPoints: [`src/${source}.ts`], outfile, external, platform: "neutral" });
  writeFileSync(outfile, (await minify(readFileSync(outfile, "utf8"), again)).code);
}
const forNode = { ...common, platform: "node", external: ["@tacit/client"] }; // the package itself: errors are the same classes
await build({ ...forNode, entryPoints: ["src/node.ts"], outfile: join(out, "node.js") });
await build({ ...forNode, entryPoints: ["src/generate.ts"], outfile: join(out, "generate.js"), banner: { js: "#!/usr/bin/env node" } });
if (!withTypes) process.exit();
copyFileSync(join(root, "../../LICENSE"), join(root, "LICENSE")); // npm packs it from here
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const types = ["--emitDeclarationOnly", "--declaration", "--stripInternal", "--rootDir", "src"];
const args = [tsc, "-p", "tsconfig.build.json", ...types, "--outDir", join(out, "types")];
execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
