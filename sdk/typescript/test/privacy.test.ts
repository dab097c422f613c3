/** The shipped encoder with the platform's generator: audited by its outputs alone. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { RandomnessError } from "../src/errors.js";
import { Interpreter, secureDraws } from "./encoder.js";
import { collections } from "./fixtures.js";
import { client, collector, howMany, USER } from "./setup.js";
import { drawsOf, vectors, words } from "./vectors.js";

const TRIALS = howMany(250_000, 1_000_000, "reports of each value");
const SEEDS = 1_000_000;
const VALUES = ["x", "y", "z"];
const EPSILON = 4;
const FLIP = Number(/"flip": (\d+)/.exec(collections.tight.contract)![1]);
const SPAN = 2 ** 53;

/** Family-wise chance of a false alarm, shared by all comparisons: 9 codes or pairs of codes, 6 ordered pairs of values. */
const ALPHA = 1e-6 / (2 * 9 * 6);

function withFlip(flip: number): string {
  return collections.tight.contract.replace(/"flip": \d+/, `"flip": ${flip}`);
}

/** Return how often each output occurs for a value; `reports` of a value are one output. */
function outputs(contract: string, value: string, reports = 1): number[] {
  const interpreter = new Interpreter(contract);
  const counts = new Array<number>(3 ** reports).fill(0);
  const [row, need, chunk] = [{ c: value }, interpreter.service("s").draws, 8_000];
  for (let done = 0; done < TRIALS; done += chunk) {
    const draws = secureDraws(chunk * reports * need);
    for (let i = 0; i < chunk; i++) {
      let output = 0;
      for (let j = 0; j < reports; j++) {
        const start = (i * reports + j) * need;
        output = 3 * output + interpreter.service("s").encode([row], draws.slice(start, start + need))[0]![0]!;
      }
      counts[output]!++;
    }
  }
  return counts;
}

/** Return a bound of a probability at confidence 1 - ALPHA, by the Chernoff bound: a little wider than Clopper-Pearson. */
function bound(count: number, side: "lower" | "upper"): number {
  const seen = count / TRIALS;
  const gap = (p: number): number =>
    (seen ? seen * Math.log(seen / p) : 0) + (seen < 1 ? (1 - seen) * Math.log((1 - seen) / (1 - p)) : 0);
  let [far, near] = side === "lower" ? [0, seen] : [1, seen];
  for (let i = 0; i < 60; i++) {
    const middle = (far + near) / 2;
    if (TRIALS * gap(middle) > -Math.log(ALPHA)) far = middle;
    else near = middle;
  }
  return far;
}

/** Return a lower bound of epsilon that the outputs prove, over all pairs of values and all outputs. */
function proven(counts: readonly number[][]): number {
  let worst = 0;
  for (const one of counts) {
    for (const other of counts) {
      one.forEach((count, output) => worst = Math.max(worst, Math.log(bound(count, "lower") / bound(other[output]!, "upper"))));
    }
  }
  return worst;
}

function truthIsLikeliest(counts: readonly number[][]): boolean {
  return counts.every((own, value) => own.every((count) => count <= own[value]!));
}

test("reports of each value prove no more than epsilon, and nearly that", () => {
  const counts = VALUES.map((value) => outputs(collections.tight.contract, value));
  assert.ok(proven(counts) <= EPSILON);
  assert.ok(proven(counts) > EPSILON - 0.1, "the budget is used");
  assert.ok(truthIsLikeliest(counts));
});

const MUTANTS: [string, string, number][] = [
  ["an epsilon 1.1 times as large", withFlip(Math.floor(SPAN / (Math.exp(1.1 * EPSILON) + 2))), 1],
  ["truth and lie swapped", withFlip(Math.floor((SPAN - FLIP) / 2)), 1],
  ["the truth's probability rounded up to 8 bits", withFlip(Math.floor(FLIP / 2 ** 45) * 2 ** 45), 1],
  ["no lies", withFlip(0), 1],
  ["two reports for one", collections.tight.contract, 2],
];

for (const [what, contract, reports] of MUTANTS) {
  test(`reports reveal ${what}`, () => {
    const counts = ["x", "y"].map((value) => outputs(contract, value, reports));
    assert.ok(proven(counts) > EPSILON || !truthIsLikeliest(counts));
  });
}

test("fixed streams have the stated distribution (chi-square), another epsilon's is rejected", () => {
  // Two bins: the answer is the hash of the cell, or a lie. The same draws without lies tell which.
  const { contract } = vectors.find(({ name }) => name === "oracle_lh")!;
  const interpreter = new Interpreter(contract);
  const { g: hashes, flip } = interpreter.service("s").channels[0]!.views[0]!.step.entry;
  const [g, stay, trials] = [hashes!, 1 - (hashes! - 1) * flip! / SPAN, 60_000];
  let kept = 0;
  const row = { age: 5, state: "NY" };
  const quiet = new Interpreter(contract.replace(/"flip": \d+/, '"flip": 0'));
  for (let i = 0; i < trials; i++) {
    const draws = drawsOf(words(`fit ${i}`, 6));
    if (interpreter.service("s").encode([row], draws)[0]![0]! === quiet.service("s").encode([row], draws)[0]![0]!) kept++;
  }
  const chi = (p: number): number => (kept - trials * p) ** 2 / (trials * p * (1 - p)); // one degree of freedom
  assert.ok(chi(stay) < 37.3, "the 1e-9 quantile");
  const other = Math.exp(1.1) / (Math.exp(1.1) + g - 1);
  assert.ok(chi(other) > 2 * 37.3, "the test has power");
});

test("a million seeds collide as often as chance says", () => {
  const seeds = new Uint32Array(SEEDS);
  for (let i = 0; i < SEEDS; i += 10_000) secureDraws(10_000).forEach((draw, j) => seeds[i + j] = draw % 2 ** 32);
  seeds.sort();
  let collisions = 0;
  for (let i = 1; i < SEEDS; i++) if (seeds[i] === seeds[i - 1]) collisions++;
  const expected = SEEDS * (SEEDS - 1) / 2 / 2 ** 32; // Poisson, 116
  assert.ok(Math.abs(collisions - expected) <= 6.5 * Math.sqrt(expected));
});

test("processes started together share no draw", async () => {
  const script = join(process.cwd(), "build/test/print-draws.mjs");
  const run = promisify(execFile);
  const streams: string[] = [];
  for (let i = 0; i < 5; i++) {
    const five = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, [script])));
    streams.push(...five.flatMap(({ stdout }) => stdout.trim().split("\n")));
  }
  assert.equal(streams.length, 20 * 50);
  assert.equal(new Set(streams).size, streams.length);
});

test("without a sound generator nothing is encoded, and there is no fallback", async (t) => {
  const to = await collector(t);
  const real = Object.getOwnPropertyDescriptor(globalThis, "crypto")!;
  const me = await client(t, to);
  const broken: unknown[] = [
    undefined, {}, { getRandomValues: () => { throw new Error("no entropy"); } }, { getRandomValues: () => new Uint32Array(2) },
  ];
  t.after(() => Object.defineProperty(globalThis, "crypto", real));
  for (const crypto of broken) {
    Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true });
    await assert.rejects(me.record("users", USER), RandomnessError);
  }
  Object.defineProperty(globalThis, "crypto", real);
  assert.equal((await me.budget()).spent, 0);
  assert.equal((await me.record("users", USER)).again, false);
});

test("the shipped code names no other source of randomness", () => {
  const files = readdirSync("src").map((name) => join("src", name));
  for (const file of [...files, "dist/tacit.js", "dist/node.js"]) {
    assert.doesNotMatch(readFileSync(file, "utf8"), /Math\s*\.\s*random|randomBytes|pseudoRandom|randomUUID/, file);
  }
});

test("every record of a service takes the same number of draws", async (t) => {
  const to = await collector(t);
  const taken = new Set<number>();
  for (const [person, age, os] of [[1, 0, "a"], [2, 99, "b"], [3, 50, "c"]] as const) {
    let count = 0;
    const draws = (n: number): number[] => (count += n, secureDraws(n));
    const me = await client(t, to, { person }, { draws });
    await me.record("users", { ...USER, age, os });
    await me.rows("orders", person === 1 ? [] : Array.from({ length: 4 * person }, () => ({ amount: person, item: USER.state })));
    taken.add(count);
  }
  assert.equal(taken.size, 1);
});
