/** The built bundle's encoder, not its source: what is audited is what ships. */
import type * as Source from "../src/index.js";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const shipped = await import(pathToFileURL(join(process.cwd(), "dist/tacit.js")).href) as typeof Source;

export const { Interpreter } = shipped;
export { secureDraws } from "../src/randomness.js";
