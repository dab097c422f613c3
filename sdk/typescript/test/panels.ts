/** A panel of the shared vectors: twelve rounds, three reports each, as all programs read it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Contract } from "../src/contract.js";

interface Vector {
  readonly id: string;
  readonly contract: string;
}

const vector = JSON.parse(readFileSync(join(process.cwd(), "../../tests/vectors/v2/panel_of_three.json"), "utf8")) as Vector;
const contract = JSON.parse(vector.contract) as Contract;

export const panel = {
  id: vector.id,
  text: vector.contract,
  contract,
  rounds: contract.rounds!,
  epsilon: contract.epsilon,
};

export const sha256 = async (text: string): Promise<string> => createHash("sha256").update(text).digest("hex");
