/**
 * What will leave, and what it tells: a file of its own, loaded when a preview is asked for, since few pages show one.
 */
import type { Interpreter } from "./interpreter.js";
import { type Meaning, meaningOf } from "./meaning.js";
import { guarantee } from "./sentences.js";

export type { Meaning } from "./meaning.js";
export { certaintyText, guarantee } from "./sentences.js";

/** A row, the exact bytes to be sent for it, and what anyone can learn from them. */
export interface Preview {
  readonly raw: unknown;
  /** The exact text of each report. */
  readonly leaves: readonly string[];
  readonly epsilon: number;
  /** What a certainty of one half about any fact can become at most. */
  readonly certainty: number;
  /** The guarantee in words: first what is sent unchanged, then what the noise hides. */
  readonly sentence: string;
  readonly meanings: readonly Meaning[];
}

const NOTHING_LEAVES =
  "Nothing is sent: the collector already has this person's reports, from a wallet that was lost.";

/** @internal Return the preview of a service's reports, which `leaves` has. */
export function explain(
  interpreter: Interpreter, service: string, raw: unknown, epsilon: number, leaves: readonly string[],
): Preview {
  const rules = interpreter.service(service);
  const meanings = leaves.flatMap((body, slot) => {
    const { codes } = JSON.parse(body) as { codes: number[] };
    return codes.map((code, i) => meaningOf(rules, rules.channels[i]!, slot, code));
  });
  const sentence = leaves.length ? guarantee(interpreter.contract, rules.data).join(" ") : NOTHING_LEAVES;
  return { raw, epsilon, certainty: 1 / (1 + Math.exp(-epsilon)), meanings, leaves, sentence };
}
