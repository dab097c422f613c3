/** Contracts that lie are refused by the rule that they break first; `tests/vectors/lies` holds them for all validators. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { audit } from "../src/audit.js";
import { ContractError, PrivacyError, RecordError } from "../src/errors.js";
import { Interpreter } from "../src/interpreter.js";
import { publicText } from "../src/person.js";

const VECTORS = join(process.cwd(), "../../tests/vectors");

interface Lie {
  readonly name: string;
  readonly rule: string;
  readonly contract: string;
  readonly pad?: number;
}

for (const file of readdirSync(join(VECTORS, "lies")).filter((name) => name.endsWith(".json"))) {
  test(`lies about ${file.slice(0, -5)}`, () => {
    const lies = JSON.parse(readFileSync(join(VECTORS, "lies", file), "utf8")) as Lie[];
    assert.ok(lies.length > 10);
    for (const { name, rule, contract, pad = 0 } of lies) {
      assert.throws(() => audit(new Interpreter(contract + " ".repeat(pad))), (error: unknown) => {
        assert.ok(error instanceof ContractError || error instanceof PrivacyError, `${name}: ${error}`);
        assert.equal(error.rule, rule, name);
        return true;
      });
    }
  });
}

test("public columns take what they declare", () => {
  const { contract, takes, refuses } = JSON.parse(readFileSync(join(VECTORS, "v2/public.json"), "utf8"));
  const { data: service } = new Interpreter(contract).service("s");
  const good = Object.fromEntries(Object.entries(takes as Record<string, unknown[]>).map(([name, values]) => [name, values[0]]));
  for (const [name, values] of Object.entries(takes as Record<string, unknown[]>)) {
    for (const value of values) assert.ok(publicText(service, { ...good, [name]: value }).includes(`"${name}":`));
  }
  for (const [name, values] of Object.entries(refuses as Record<string, unknown[]>)) {
    for (const value of values) {
      assert.throws(() => publicText(service, { ...good, [name]: value }), (error: unknown) =>
        error instanceof RecordError && error.code === (name === "free" ? "wrong-type" : "wrong-public") && error.column === name);
    }
  }
});
