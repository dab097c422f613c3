// Times encodings of the built TypeScript client: cases on stdin, nanoseconds (two classes, interleaved) to a file.
import { readFileSync, writeFileSync } from "node:fs";
import { Interpreter } from "../../sdk/typescript/dist/tacit.js";

const { contract, classes, draws, order, out } = JSON.parse(readFileSync(0, "utf8"));
const interpreter = new Interpreter(contract);
const found = new Float64Array(order.length);
for (let i = 0; i < order.length; i++) {
  const own = order[i];
  const [rows, drawn] = [classes[own], draws[own][i % draws[own].length]];
  const start = performance.now();
  interpreter.service("s").encode(rows, drawn);
  found[i] = (performance.now() - start) * 1e6;
}
writeFileSync(out, found);
