/** Every committed vector is reproduced bit for bit, and every bad record refused by its code. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { audit } from "../src/audit.js";
import { RecordError } from "../src/errors.js";
import { Interpreter, type Row } from "../src/interpreter.js";
import { drawsOf, vectors } from "./vectors.js";

for (const vector of vectors.filter(({ name }) => !name.startsWith("bad_"))) {
  test(`vector ${vector.name}`, () => {
    assert.equal(createHash("sha256").update(vector.contract).digest("hex"), vector.id);
    const interpreter = new Interpreter(vector.contract, undefined, vector.lists);
    audit(interpreter);
    const [draws, count] = [drawsOf(vector.words), interpreter.service("s").draws];
    const own = (i: number): number[] => draws.slice(i * count, (i + 1) * count);
    const codes = vector.people?.map((rows, i) => interpreter.service("s").encode(rows, own(i)))
      ?? vector.records!.map((row, i) => interpreter.service("s").encode([row], own(i))[0]!);
    assert.deepEqual(codes, vector.codes);
    assert.equal(draws.length, codes.length * count);
  });
}

for (const { name, contract, record, error } of vectors.filter(({ name }) => name.startsWith("bad_"))) {
  test(`vector ${name}`, () => {
    const interpreter = new Interpreter(contract);
    const encode = (): unknown => interpreter.service("s").encode([record as Row], new Array(interpreter.service("s").draws).fill(0));
    assert.throws(encode, (refusal) => refusal instanceof RecordError && refusal.code === error);
  });
}

test("all vectors were found", () => assert.ok(vectors.length >= 32));
