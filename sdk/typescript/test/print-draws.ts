/** Prints 50 draws: a process of its own. */
import { secureDraws } from "../src/randomness.js";

console.log(secureDraws(50).join("\n"));
