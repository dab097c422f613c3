/** Assigned views and seeds: the same codes as every other program, one request for the coin, and none after that. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assign } from "../src/assigned.js";
import { audit } from "../src/audit.js";
import { Interpreter, type Row } from "../src/interpreter.js";
import { memoryStore } from "../src/store.js";
import { collector, client } from "./setup.js";
import { problem } from "./collector.js";
import { drawsOf } from "./vectors.js";

interface Vector {
  readonly contract: string;
  readonly id: string;
  readonly people: readonly (readonly [string | number, string])[];
  readonly rows: readonly (readonly Row[])[];
  readonly words: readonly number[];
  readonly codes: readonly (readonly (readonly number[])[])[];
}

const hash = async (text: string): Promise<string> => createHash("sha256").update(text).digest("hex");
const refused = (code: string) => (cause: unknown): boolean => (cause as { code?: string }).code === code;
const vectorOf = (name: string): Vector =>
  JSON.parse(readFileSync(join(process.cwd(), "../../tests/vectors/v2", `${name}.json`), "utf8")) as Vector;

for (const name of ["assigned", "assigned_split", "assigned_many"]) {
  test(`${name}: a coin assigns places, views and seeds`, async () => {
    const vector = vectorOf(name);
    const interpreter = new Interpreter(vector.contract);
    audit(interpreter);
    const [service, draws] = [interpreter.service("s"), drawsOf(vector.words)];
    for (const [i, [, coin]] of vector.people.entries()) {
      const own = await assign(service, draws.slice(i * service.draws, (i + 1) * service.draws), coin, hash);
      assert.deepEqual(interpreter.service("s").encode(vector.rows[i]!, own), vector.codes[i]);
    }
  });
}

test("a client fetches the coin once, keeps it, and draws by it", async (t) => {
  const vector = vectorOf("assigned");
  const [[person, coin]] = vector.people as [[string, string]];
  const to = await collector(t);
  to.published = { [vector.id]: { id: vector.id, contract: vector.contract } as never };
  const own = vector.words.slice(0, 2 * new Interpreter(vector.contract).service("s").draws);
  const draws = (): number[] => drawsOf(own);
  const store = memoryStore();
  const options = { collection: vector.id, person, store };
  const first = await client(t, to, options, { draws });
  to.faults.push((_, response) => problem(response, 403, "token-needed"));
  await assert.rejects(first.record("s", vector.rows[0]![0]!), refused("token-needed"));
  to.faults.push((_, response) => {
    response.end(JSON.stringify({ coin: "no coin" }));
    return true;
  });
  await assert.rejects(first.record("s", vector.rows[0]![0]!), refused("no-coin"));
  assert.equal((await first.history()).length, 0, "nothing was drawn or charged");
  to.faults.push(({ path, body }, response) => {
    assert.equal(path, `/v1/collections/${vector.id}/coin`);
    assert.deepEqual(JSON.parse(body), { tacit: 1, key: "tacit_test_key", person });
    response.end(JSON.stringify({ coin }));
    return true;
  });
  to.always = (_, response) => problem(response, 503, "overloaded");
  const { reports } = await first.record("s", vector.rows[0]![0]!);
  assert.deepEqual(JSON.parse(reports[0]!.body).codes, vector.codes[0]![0]);
  const asked = to.posts.length;
  const again = await client(t, to, options, { draws });
  assert.equal((await again.record("s", vector.rows[1]![0]!)).reports[0]!.body, reports[0]!.body);
  assert.equal(await store.read(`coin/${vector.id}/"${person}"`), coin);
  assert.equal(to.posts.length, asked, "the coin is kept");
});
