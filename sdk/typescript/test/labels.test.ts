/** Booleans are the texts "false" and "true" of a contract's list, and of no other list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Column, columnOf } from "../src/record.js";

const column = (values: readonly string[], other?: string): Column =>
  columnOf("users", { name: "smoker", kind: "categorical", values, other, count: values.length, widths: [1] } as never);

test("booleans are read as the listed texts", () => {
  const smoker = column(["false", "true"]);
  for (const [value, place] of [[true, 1], [false, 0], ["true", 1]] as const) {
    assert.equal(smoker.index(smoker.read({ smoker: value }), 0), place);
  }
});

test("other lists take no boolean, not even for their catch-all", () => {
  for (const one of [column(["no", "yes"]), column(["no", "yes"], "no")]) {
    assert.throws(() => one.read({ smoker: true }), { code: "wrong-type" });
  }
  assert.throws(() => column(["false", "true"]).read({ smoker: 1 }), { code: "wrong-type" });
});
