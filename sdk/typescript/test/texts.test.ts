/** Errors have a sentence for every code that the client chooses, none that depends on a record is loaded, and all work without. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CollectorError, RecordError, tell, UsageError } from "../src/errors.js";
import { sentenceOf } from "../src/texts.js";

/** Sources with errors of their own; those of records say what is taken. */
const SOURCES = readdirSync("src").filter((name) => !/^(generate|record|texts)\.ts$/.test(name));

test("every code of the client has a sentence", () => {
  const lines = SOURCES.flatMap((name) => readFileSync(join("src", name), "utf8").split("\n"));
  const codes = lines.filter((line) => !line.includes("RecordError("))
    .flatMap((line) => /Error\("([a-z-]+)"|\b(?:need|refuse)\(.*?, "([a-z-]+)"|return "(no-such-round|not-asked)"/.exec(line)?.slice(1) ?? [])
    .filter(Boolean);
  assert.ok(codes.length >= 25, codes.join());
  for (const code of codes) assert.match(sentenceOf(new UsageError(code, "a", 1, 2, 3)), /^\[[a-z-]+\] .*\.$/, code);
});

test("a sentence is given once an error leaves the client; what the collector chose stays", async () => {
  assert.match((await tell(new UsageError("bad-url"))).message, /^\[bad-url\] The collector's address is not https/);
  assert.equal((await tell(new CollectorError("over-quota", "Come back tomorrow."))).message, "[over-quota] Come back tomorrow.");
  const wrong = new RecordError("outside-domain", "0..99 in steps of 1", "users", "age");
  assert.equal((await tell(wrong)).message, "[outside-domain] users.age takes 0..99 in steps of 1.");
  assert.equal(await tell(undefined), undefined);
});
