/**
 * Who reports, and a row's columns: what the client adds to the interpreter's rules.
 */
import { type Attribute, isTyped } from "./contract.js";
import { listed, RecordError, UsageError } from "./errors.js";
import type { Row, Service } from "./interpreter.js";
import { isText } from "./members.js";

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
  if (!text && !whole) {
    throw new UsageError(`person is neither text of 1 to ${MOST_LETTERS} printable letters nor a 64-bit whole number.`,
      "bad-person");
  }
  return text ? JSON.stringify(person) : String(person);
}

/** Return a row's public columns as JSON, or nothing if there are none; refuse columns that are not declared. */
export function publicText(service: Service, row: Row): string {
  const { name, attributes, publicColumns, shown: columns } = service;
  const known = [...attributes.map((attribute) => attribute.name), ...publicColumns];
  if (Object.keys(row).some((column) => !known.includes(column))) {
    throw new RecordError(`a column is not declared. Pass these only: ${listed(known)}.`, "unknown-column", name);
  }
  const shown = columns.map((column) => {
    const value = row[column.name];
    if (value === undefined) throw new RecordError("the column is missing.", "missing-column", name, column.name);
    if (!takes(column, value)) {
      const { values, type, null: none } = column;
      const allowed = values ? listed(values) : type ?? "text, numbers, true, false, null";
      throw new RecordError(`the public column takes: ${allowed}${none ? ", null" : ""}.`,
        isTyped(column) ? "wrong-public" : "wrong-type", name, column.name);
    }
    return `${JSON.stringify(column.name)}:${JSON.stringify(value)}`;
  });
  if (new TextEncoder().encode(JSON.stringify(columns.map((column) => row[column.name]))).length > MOST_PUBLIC) {
    throw new RecordError(`the public columns have more than ${MOST_PUBLIC} bytes.`, "wrong-public", name);
  }
  return shown.length ? `,"public":{${shown.join()}}` : "";
}

/** Whether a public column takes a value; numbers must stay what they are on the way. */
function takes(column: Attribute, value: unknown): boolean {
  const { values, type } = column;
  if (value === null) return !isTyped(column) || column.null === true;
  if (values) return values.includes(value as string);
  switch (typeof value) {
    case "boolean": return !type || type === "bool";
    case "string": return (!type || type === "str") && isText(value) && !value.includes("\0");
    case "number": {
      const size = Math.abs(value); // whole numbers beyond 64 bits are written with all their digits below 1e21
      return type === "int" ? Number.isSafeInteger(value)
        : (!type || type === "float") && Number.isFinite(value) && (size < 2 ** 63 || size >= 1e21);
    }
    default: return false;
  }
}
