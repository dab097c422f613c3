/** The shipped code is its channel: all draws of small contracts, tried one by one, give exactly the stated counts. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { audit } from "../src/audit.js";
import { ContractError, PrivacyError } from "../src/errors.js";
import { Interpreter, type Row } from "../src/interpreter.js";
import { channels, collections, streams } from "./fixtures.js";
import { howMany } from "./setup.js";
import { drawsOf, vectors, words } from "./vectors.js";

const BITS = 5;
const ROWS = howMany(1, 12, "records of a channel, all draws of each; of oue, whose draws are a million, none");

/** Return how many of all combinations of draws give each code. */
function exhaust(contract: string, row: Row, codes: number): number[] {
  const interpreter = new Interpreter(contract, BITS);
  const counts = new Array<number>(codes).fill(0);
  const length = interpreter.service("s").draws;
  for (let combination = 0; combination < 2 ** (BITS * length); combination++) {
    const draws = Array.from({ length }, (_, i) => Math.floor(combination / 2 ** (BITS * i)) % 2 ** BITS);
    counts[interpreter.service("s").encode([row], draws)[0]![0]!]!++;
  }
  return counts;
}

for (const [name, { contract, rows, counts }] of Object.entries(channels).filter(([name]) => ROWS > 1 || name !== "oue")) {
  test(`all ${BITS}-bit draws together are the channel ${name}`, () => {
    audit(new Interpreter(contract, BITS));
    rows.slice(0, ROWS).forEach((row, i) => assert.deepEqual(exhaust(contract, row, counts[i]!.length), counts[i]));
  });
}

test("a threshold that is off by one would be seen", () => {
  const { contract, rows, counts } = channels["grr"]!;
  const mutant = contract.replace(/"flip": (\d+)/, (_, flip) => `"flip": ${Number(flip) - 1}`);
  assert.notDeepEqual(exhaust(mutant, rows[0]!, counts[0]!.length), counts[0]);
});

for (const { name, contract, people, records, lists } of vectors.filter(({ name }) => !name.startsWith("bad_"))) {
  test(`a thousand streams give Python's bytes: ${name}`, () => {
    const interpreter = new Interpreter(contract, undefined, lists);
    const all = people ?? records!.map((record) => [record]);
    const digest = createHash("sha256");
    for (let i = 0; i < 1000; i++) {
      const draws = drawsOf(words(`${name}#${i}`, 2 * interpreter.service("s").draws));
      digest.update(JSON.stringify(interpreter.service("s").encode(all[i % all.length]!, draws)));
    }
    assert.equal(digest.digest("hex"), streams[name]);
  });
}

test("derived attributes follow the contract", () => {
  const interpreter = new Interpreter(collections.derived.contract);
  audit(interpreter);
  const draws = drawsOf(words("derived", 2 * interpreter.service("s").draws));
  assert.equal(interpreter.service("s").encode([{ x: 3, y: 50 }], draws)[0]!.length, interpreter.service("s").channels.length);
});

test("double rounding, a baseline, is not for clients", () => {
  const contract = collections.derived.contract.replaceAll('"round"]', '"pair"]');
  assert.notEqual(contract, collections.derived.contract);
  assert.throws(() => new Interpreter(contract), (error) => error instanceof ContractError && error.code === "not-for-clients");
});

/** Changes to contracts that would weaken the noise, and the error that stops them. */
const MUTANTS: [string, string, (text: string) => string, typeof ContractError | typeof PrivacyError][] = [
  ["less flipping", "oracle_grr", (t) => t.replace(/"flip": (\d+)/, (_, n) => `"flip": ${Math.floor(n * 0.999)}`), PrivacyError],
  ["no flipping", "oracle_grr", (t) => t.replace(/"flip": \d+/, '"flip": 0'), PrivacyError],
  ["more lies than truth", "oracle_grr", (t) => t.replace(/"flip": \d+/, `"flip": ${2 ** 52}`), PrivacyError],
  ["flips beyond all draws", "oracle_grr", (t) => t.replace(/"flip": \d+/, `"flip": ${2 ** 53}`), ContractError],
  ["a flip that is not whole", "oracle_grr", (t) => t.replace(/"flip": (\d+)/, '"flip": 0.5'), ContractError],
  ["a missing flip", "oracle_lh", (t) => t.replace(/"flip": \d+, /, ""), ContractError],
  ["g that is no prime", "oracle_lh", (t) => t.replace(/"g": \d+/, '"g": 4'), ContractError],
  ["g of one", "oracle_lh", (t) => t.replace(/"g": \d+/, '"g": 1'), ContractError],
  ["a multiplier that folds cells", "oracle_lh", (t) => t.replace(/"multipliers": \{"(\d+)": \d+/, '"multipliers": {"$1": 3'), ContractError],
  ["fewer draws", "oracle_oue", (t) => t.replace(/"draws": \d+/, '"draws": 3'), ContractError],
  ["a bit that is always true", "oracle_oue", (t) => t.replace(/"one": \d+/, `"one": ${2 ** 53}`), PrivacyError],
  ["sets of the true cell only", "oracle_ss", (t) => t.replace(/"outside": \d+/, '"outside": 0'), PrivacyError],
  ["another alphabet", "layout_hio", (t) => t.replace(/"codes": (\d+)/, (_, n) => `"codes": ${n - 1}`), ContractError],
  ["an oracle nobody knows", "oracle_grr", (t) => t.replaceAll('"oracle": "grr", "flip"', '"oracle": "none", "flip"'), ContractError],
  ["a smaller total", "many_three_slots", (t) => t.replace('"epsilon": "3"', '"epsilon": "2.9"'), PrivacyError],
  ["a smaller share", "layout_hio", (t) => t.replace(/"epsilon": "1", "draws"/, '"epsilon": "0.99", "draws"'), PrivacyError],
  ["a negative share", "layout_sc", (t) => t.replace(/"epsilon": "[^"]+", "draws"/, '"epsilon": "-1", "draws"'), ContractError],
  ["an endless budget", "layout_hio", (t) => t.replaceAll(/"epsilon": "1"/g, `"epsilon": "${"9".repeat(39)}"`), ContractError],
  ["fewer values", "layout_hio", (t) => t.replace(/"count": 100/, '"count": 99'), ContractError],
  ["a level too many", "layout_am_1", (t) => t.replace(/"widths": \[(\d+), /, '"widths": ['), ContractError],
  ["smaller draws", "layout_hio", (t) => t.replace('"draw_bits": 53', '"draw_bits": 52'), ContractError],
  ["another version", "layout_hio", (t) => t.replace('"tacit": 1', '"tacit": 2'), ContractError],
  ["half a text", "layout_hio", (t) => t.slice(0, t.length / 2), ContractError],
  ["no object", "layout_hio", () => "null", ContractError],
  ["no services", "layout_hio", (t) => t.replace('"services"', '"servants"'), ContractError],
];

for (const [what, name, mutate, error] of MUTANTS) {
  test(`a contract with ${what} is refused`, () => {
    const { contract } = vectors.find((vector) => vector.name === name)!;
    const mutant = mutate(contract);
    assert.notEqual(mutant, contract);
    assert.throws(() => audit(new Interpreter(mutant)), error);
  });
}
