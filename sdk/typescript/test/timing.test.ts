/** P6: encoding takes about as long whatever the values are. `bench/timing` measures the nanoseconds that are left. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Interpreter, type Row } from "../src/interpreter.js";
import { canaries, collections } from "./fixtures.js";
import { drawsOf, words } from "./vectors.js";

const ENCODINGS = 20_000;

const orders = (count: number): Row[] => Array.from({ length: count }, (_, i) => ({ amount: 97 * i, item: canaries[i % 3] }));

const CASES: Record<string, [contract: string, service: string, left: Row[], right: Row[]]> = {
  "first or last of a thousand categories": [collections.wide.contract, "s", [{ x: "v000" }], [{ x: "v999" }]],
  "a category or NULL": [collections.wide.contract, "s", [{ x: "v500" }], [{ x: null }]],
  "no rows or one": [collections.november.contract, "orders", [], orders(1)],
  "no rows or as many as count": [collections.november.contract, "orders", [], orders(5)],
  "a row or none": [collections.november.contract, "card", [{ brand: canaries[0] }], []],
};

/** Return a time of each class that a quarter of its encodings beat, interleaved by fixed words. */
function quartiles([contract, service, left, right]: (typeof CASES)[string], name: string): [number, number] {
  const interpreter = new Interpreter(contract);
  const stream = words(name, 2 * ENCODINGS);
  const pool = Array.from({ length: 100 }, (_, i) => drawsOf(words(`${name} ${i}`, 2 * interpreter.service(service).draws)));
  const times: [number[], number[]] = [[], []];
  stream.forEach((word, i) => {
    const own = (word & 1) as 0 | 1;
    const start = performance.now();
    interpreter.service(service).encode(own ? right : left, pool[i % 100]!);
    times[own].push(performance.now() - start);
  });
  return times.map((found) => found.slice(1_000).sort((a, b) => a - b)[found.length >> 2]!) as [number, number];
}

for (const [name, parts] of Object.entries(CASES)) {
  test(`encoding takes about as long: ${name}`, () => {
    const [left, right] = quartiles(parts, name);
    assert.ok(Math.abs(right - left) < 0.1 * left, `${(1e6 * left).toFixed()} and ${(1e6 * right).toFixed()} ns`);
  });
}
