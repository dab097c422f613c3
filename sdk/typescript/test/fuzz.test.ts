/** Contracts that are damaged in any way are refused by name, or encode within their alphabet: never a crash or a hang. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { audit } from "../src/audit.js";
import { ContractError, PrivacyError } from "../src/errors.js";
import { Interpreter } from "../src/interpreter.js";
import { canonical } from "../src/members.js";
import { howMany } from "./setup.js";
import { drawsOf, vectors, words } from "./vectors.js";

type Tree = { [name: string]: unknown } | unknown[];

const STRANGE = [null, true, "", "x", -1, 0, 1, 2, 3.5, 1e308, 2 ** 53, [], {}, [[]], "1/0", "-1", "9".repeat(40)];

/** Return every place of a tree that something can be put into. */
function places(tree: Tree): [Tree, string][] {
  return Object.entries(tree).flatMap(([name, value]): [Tree, string][] =>
    [[tree, name], ...(typeof value === "object" && value !== null ? places(value as Tree) : [])]);
}

function damaged(contract: string, name: string): string {
  const tree = JSON.parse(contract) as Tree;
  const [where, how, what] = words(name, 3) as [number, number, number];
  const all = places(tree);
  const [owner, place] = all[where % all.length]!;
  const one = owner as Record<string, unknown>;
  if (how % 4 === 0) delete one[place];
  else if (how % 4 === 1 && typeof one[place] === "number") one[place] = one[place] + (what % 2 ? 1 : -1);
  else if (how % 4 === 2) one[place] = structuredClone((all[what % all.length]![0] as Record<string, unknown>)[all[what % all.length]![1]]);
  else one[place] = STRANGE[what % STRANGE.length];
  return `${canonical(tree)}\n`; // so that more than the form is looked at
}

const DAMAGES = howMany(15, 340, "damaged contracts of each kind, to the TypeScript client");

test("damaged contracts", () => {
  let [refused, kept] = [0, 0];
  for (const { name, contract, people, records } of vectors.filter(({ name }) => !name.startsWith("bad_"))) {
    for (let i = 0; i < DAMAGES; i++) {
      let interpreter: Interpreter;
      try {
        interpreter = new Interpreter(damaged(contract, `${name} ${i}`));
        audit(interpreter);
      } catch (refusal) {
        assert.ok(refusal instanceof ContractError || refusal instanceof PrivacyError, `${name} ${i}: ${refusal}`);
        refused++;
        continue;
      }
      kept++;
      const service = [...interpreter.services.values()][0]!;
      const { channels } = interpreter.contract.services[0]!;
      for (const rows of people?.slice(0, 4) ?? records!.slice(0, 4).map((row) => [row])) {
        let codes: number[][] = [];
        try {
          codes = service.encode(rows, drawsOf(words(`draws ${i}`, 2 * service.draws)));
        } catch (refusal) {
          assert.equal((refusal as Error).name, "RecordError", `${name} ${i}: ${refusal}`);
        }
        for (const slot of codes) slot.forEach((code, k) => assert.ok(Number.isInteger(code) && 0 <= code && code < channels[k]!.codes));
      }
    }
  }
  assert.ok(refused > 6 * DAMAGES && kept > DAMAGES / 2, `${refused} refused, ${kept} kept`);
});
