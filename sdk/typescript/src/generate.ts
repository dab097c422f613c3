/**
 * `tacit-types`: writes a module with the types of a contract's services, so that a wrong name or value does not compile.
 *
 *   npx tacit-types contract.json > shop.ts
 *   npx tacit-types https://stats.example.org 9f3c… > shop.ts
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Attribute, audit, Interpreter, type ServiceData, TacitError, UsageError } from "@tacit/client";

const TYPES = { int: "number", float: "number", str: "string", bool: "boolean" } as const;
const TIMEOUT = 15_000;

function typeOf({ kind, values, other, type, null: nullable }: Attribute): string {
  const listed = values?.map((value) => JSON.stringify(value)).join(" | ");
  const base = {
    ordinal: () => "number | bigint",
    date: () => "`${number}-${number}-${number}`",
    categorical: () => (!values ? "string" : other !== undefined ? typeof other : values!.includes("true") ? `${listed} | boolean` : listed!),
    public: () => listed ?? (type ? TYPES[type] : "string | number | boolean | null"),
  }[kind]();
  return nullable ? `${base} | null` : base;
}

function rowOf({ attributes }: ServiceData): string {
  const columns = attributes.map((attribute) => `    readonly ${JSON.stringify(attribute.name)}: ${typeOf(attribute)};\n`);
  return `{\n${columns.join("")}  }`;
}

/** Return the module of a contract's text. */
function moduleOf(text: string, id: string): string {
  const interpreter = new Interpreter(text);
  audit(interpreter);
  const { services } = interpreter.contract;
  const pick = (from: readonly ServiceData[]): string =>
    `Pick<Rows, ${from.map(({ name }) => JSON.stringify(name)).join(" | ") || "never"}>`;
  const one = services.filter(({ at_most, optional }) => at_most === undefined && !optional);
  return `// Written by tacit-types from the contract with this id; write it again when the contract changes.
/** What \`connect(address, { collection, … })\` pins: any other contract is refused. */
export const collection = "${id}";

/** The rows of each service. */
export type Rows = {
${services.map((service) => `  readonly ${JSON.stringify(service.name)}: ${rowOf(service)};\n`).join("")}};

/** For \`connect<Contract>(…)\`. */
export type Contract = { readonly one: ${pick(one)}; readonly all: Rows };
`;
}

async function textOf(place: string, id: string | undefined): Promise<string> {
  if (!/^https?:/.test(place)) return readFileSync(place, "utf8");
  if (!id) throw new UsageError("bad-collection", "Name the collection's id after the address.");
  const answer = await fetch(`${place.replace(/\/+$/, "")}/v1/collections/${id}`, { signal: AbortSignal.timeout(TIMEOUT) });
  if (!answer.ok) throw new UsageError("unknown-collection", `The collector answered ${answer.status}.`);
  return answer.text();
}

async function main([place, wanted]: readonly string[]): Promise<void> {
  if (!place) throw new UsageError("bad-option", "Use: tacit-types CONTRACT.json, or tacit-types ADDRESS ID.");
  const text = await textOf(place, wanted);
  const id = createHash("sha256").update(text).digest("hex");
  if (wanted && wanted !== id) throw new UsageError("contract-not-pinned", "The contract is not the one with this id.");
  process.stdout.write(moduleOf(text, id));
}

await main(process.argv.slice(2)).catch((problem: unknown) => {
  const known = problem instanceof TacitError;
  process.stderr.write(`tacit-types: ${known ? problem.message : "The file or the collector cannot be read."}\n`);
  process.exitCode = 2;
});
