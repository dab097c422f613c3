/**
 * Who reports, and a row's columns: what the client adds to the interpreter's rules.
 */
import { listed, RecordError, UsageError } from "./errors.js";
import type { Row, Service } from "./interpreter.js";
import { isText } from "./record.js";

/** A person's key: text, or a whole number of 64 bits, as in the collector's tables. */
export type Person = string | number | bigint;

const MOST_LETTERS = 200;

/** Return a person's key as JSON; errors do not show it. */
export function personText(person: Person): string {
  const text = isText(person) && person.length > 0 && person.length <= MOST_LETTERS;
  const whole = Number.isSafeInteger(person) ||
    (typeof person === "bigint" && BigInt.asIntN(64, person) === person);
  if (!text && !whole) {
    throw new UsageError(`person is neither text of 1 to ${MOST_LETTERS} letters nor a 64-bit whole number.`,
      "bad-person");
  }
  return text ? JSON.stringify(person) : String(person);
}

/** Return a row's public columns as JSON, or nothing if there are none; refuse columns that are not declared. */
export function publicText(service: Service, row: Row): string {
  const { name, attributes, publicColumns } = service;
  const known = [...attributes.map((attribute) => attribute.name), ...publicColumns];
  if (Object.keys(row).some((column) => !known.includes(column))) {
    throw new RecordError(`a column is not declared. Pass these only: ${listed(known)}.`, "unknown-column", name);
  }
  const shown = publicColumns.map((column) => {
    const value = row[column];
    if (value === undefined) throw new RecordError("the column is missing.", "missing-column", name, column);
    const plain = value === null || typeof value === "boolean" || isText(value) || Number.isFinite(value);
    if (!plain) throw new RecordError("the value is no text, number, true, false or null.", "wrong-type", name, column);
    return `${JSON.stringify(column)}:${JSON.stringify(value)}`;
  });
  return shown.length ? `,"public":{${shown.join()}}` : "";
}
