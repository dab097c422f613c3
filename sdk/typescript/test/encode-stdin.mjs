// Encodes what another language hands over: contracts, rows and draws in, codes out, by the built bundle.
import { readFileSync } from "node:fs";
import { audit, Interpreter } from "../dist/tacit.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ contract, people }) => {
  const interpreter = new Interpreter(contract);
  audit(interpreter);
  return people.map(({ rows, draws }) => interpreter.service("s").encode(rows, draws));
});
process.stdout.write(JSON.stringify(answers));
