/** Rotating panels: the same people are asked in the same rounds as by every other program. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { audit } from "../src/audit.js";
import type { Contract } from "../src/contract.js";
import { Interpreter } from "../src/interpreter.js";
import { assignedRounds, turnOf } from "../src/assigned.js";

interface Vector {
  readonly contract: string;
  readonly people: readonly (readonly [string | number, readonly number[]])[];
  readonly rounds: Readonly<Record<string, readonly [string, string]>>;
}

const hash = async (text: string): Promise<string> => createHash("sha256").update(text).digest("hex");

for (const name of ["panel", "panel_of_three"]) {
  const file = join(process.cwd(), "../../tests/vectors/v2", `${name}.json`);
  const vector = JSON.parse(readFileSync(file, "utf8")) as Vector;
  const contract = JSON.parse(vector.contract) as Contract;

  test(`${name}: rounds of people and ids of rounds`, async () => {
    audit(new Interpreter(vector.contract));
    for (const [person, rounds] of vector.people) {
      assert.deepEqual(await assignedRounds(contract, person, hash), rounds);
      for (const [number, [collection, round]] of Object.entries(vector.rounds)) {
        const turn = turnOf(contract, vector.contract, Number(number), person, hash);
        if (rounds.includes(Number(number))) assert.deepEqual(await turn, { collection, round });
        else assert.equal(await turn, "not-asked");
      }
    }
    assert.deepEqual(await assignedRounds(contract, 42n, hash), await assignedRounds(contract, 42, hash));
  });

  test(`${name}: rounds that there are not`, async () => {
    for (const number of [0, -1, 1.5, contract.rounds! + 1, NaN, undefined as unknown as number]) {
      assert.equal(await turnOf(contract, vector.contract, number, "ada", hash), "no-such-round");
    }
    const { panel: _panel, rounds: _rounds, reports: _reports, ...plain } = contract;
    assert.equal(await turnOf(plain, vector.contract, 1, "ada", hash), "no-such-round");
  });
}
