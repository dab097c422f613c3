/**
 * Who reports, and a row's columns: what the client adds to the interpreter's rules.
 */
import { type Attribute, isTyped, type ServiceData } from "./contract.js";
import { listed, need, RecordError } from "./errors.js";
import type { Row } from "./interpreter.js";
import { bytesOf, isText } from "./members.js";
import { takenText } from "./record.js";

/** A person's key: text, or a whole number of 64 bits, as in the collector's tables. */
export type Person = string | number | bigint;

const MOST_LETTERS = 200;

/** Bytes of a report's public values, as JSON: collectors refuse more. */
const MOST_PUBLIC = 4096;

/** A letter that collectors refuse in a key: it cannot be printed, or it is a space other than the usual one. */
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/u;

/** Return a person's key as JSON; errors do not show it. */
export function personText(person: Person): string {
  const text = isText(person) && person.length > 0 && person.length <= MOST_LETTERS && !UNPRINTABLE.test(person);
  const whole = Number.isSafeInteger(person) ||
    (typeof person === "bigint" && BigInt.asIntN(64, person) === person);
  need(text || whole, "bad-person", MOST_LETTERS);
  return text ? JSON.stringify(person) : String(person);
}

/** Return a row's public columns as JSON, or nothing if there are none; refuse columns that are not declared. */
export function publicText(service: ServiceData, row: Row): string {
  const { name, attributes } = service;
  const known = attributes.map((attribute) => attribute.name);
  if (Object.keys(row).some((column) => !known.includes(column))) {
    throw new RecordError("unknown-column", listed(known), name);
  }
  const columns = attributes.filter(({ kind }) => kind === "public");
  const shown = columns.map((column) => {
    const value = row[column.name];
    if (!takes(column, value)) {
      const code = value === undefined ? "missing-column" : isTyped(column) ? "wrong-public" : "wrong-type";
      throw new RecordError(code, takenText(column), name, column.name);
    }
    return `${JSON.stringify(column.name)}:${JSON.stringify(value)}`;
  });
  if (bytesOf(JSON.stringify(columns.map((column) => row[column.name]))).length > MOST_PUBLIC) {
    throw new RecordError("wrong-public", `${MOST_PUBLIC} public bytes`, name);
  }
  return shown.length ? `,"public":{${shown.join()}}` : "";
}

/** Whether a public column takes a value; numbers must stay what they are on the way. */
function takes(column: Attribute, value: unknown): boolean | undefined {
  const { values, type = "" } = column;
  if (value === null) return !isTyped(column) || column.null;
  if (values) return values.includes(value as string);
  if (typeof value === "boolean") return /^(bool)?$/.test(type);
  if (typeof value === "string") return /^(str)?$/.test(type) && isText(value) && !value.includes("\0");
  if (type === "int") return Number.isSafeInteger(value);
  const size = typeof value === "number" ? Math.abs(value) : NaN; // whole numbers beyond 64 bits have all digits below 1e21
  return /^(float)?$/.test(type) && (size < 2 ** 63 || (size >= 1e21 && size < Infinity));
}
