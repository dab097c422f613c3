// Names the rule that a contract breaks, by the bundle given: a line of JSON with a contract's text in, its rule out.
import { createInterface } from "node:readline";

const { audit, ContractError, Interpreter, PrivacyError } = await import(process.argv[2]);

function ruleOf(text) {
  try {
    audit(new Interpreter(text));
    return "";
  } catch (error) {
    const known = error instanceof ContractError || error instanceof PrivacyError;
    return known ? error.rule : `crash: ${error}`;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(ruleOf(JSON.parse(line)))}\n`);
}
