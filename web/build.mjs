// Builds the pages into the package (or the folder given): a bundle for each screen, one stylesheet, one HTML file each.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(root, "../src/tacit/server/pages");

/** Screens by the name of their folder in src: the title of the page. */
const TITLES = {
  start: "tacit",
  owner: "My data · tacit",
  analyst: "Ask · tacit",
  board: "Several answers · tacit",
  collection: "A collection in words · tacit",
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const template = readFileSync(join(root, "src/shared/page.html"), "utf8");
for (const [name, title] of Object.entries(TITLES)) {
  writeFileSync(join(out, `${name}.html`), template.replaceAll("{{title}}", title).replaceAll("{{name}}", name));
}
copyFileSync(join(root, "src/shared/icon.svg"), join(out, "icon.svg"));
const common = { bundle: true, minify: true, charset: "utf8", target: "es2022", absWorkingDir: root };
await build({ ...common, entryPoints: ["src/shared/all.css"], outfile: join(out, "style.css") });
await build({
  ...common, format: "esm", outdir: out, entryNames: "[dir]", outbase: "src",
  entryPoints: Object.keys(TITLES).map((name) => `src/${name}/main.ts`),
});
