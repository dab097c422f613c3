/**
 * Every error of the client.
 *
 *     TacitError
 *     ├─ UsageError           an argument is wrong
 *     │   ├─ UnknownNameError  a name that does not exist
 *     │   └─ RecordError       a record cannot be encoded; never shows a value
 *     ├─ PrivacyError         would break or overspend a guarantee; nothing was released
 *     │   └─ RandomnessError   the platform's generator failed
 *     ├─ ContractError        a contract is damaged, not the pinned one, or of another version
 *     ├─ StoreError           the device's storage failed or is damaged
 *     └─ CollectorError       the collector cannot be reached, or refused
 *
 * Names and codes are those of the Python package. `code` is stable across versions, the wording is not. No message
 * contains a value of a record, a word of randomness, a person or a key: names, sizes and budgets only.
 */
export class TacitError extends Error {
  constructor(message: string, readonly code: string) {
    super(`[${code}] ${message}`);
  }
}

export class UsageError extends TacitError {}

/** Return the first eight of some public names. */
export function listed(names: readonly unknown[]): string {
  return names.slice(0, 8).join(", ") + (names.length > 8 ? ", …" : "");
}

export class UnknownNameError extends UsageError {
  constructor(kind: string, readonly known: readonly string[]) {
    super(`There is no such ${kind}. Known: ${listed(known)}.`, "unknown-name");
  }
}

export class RecordError extends UsageError {
  constructor(problem: string, code: string, readonly service: string, readonly column?: string) {
    super(`${service}${column === undefined ? "" : `.${column}`}: ${problem}`, code);
  }
}

/** `rule` is the first rule of docs/wire.md that a contract breaks, if the error is about one. */
class RuleError extends TacitError {
  constructor(message: string, code: string, readonly rule = "") {
    super(message, code);
  }
}

export class PrivacyError extends RuleError {}

export class RandomnessError extends PrivacyError {
  constructor(problem: string) {
    super(`${problem} Nothing was encoded.`, "randomness");
  }
}

export class ContractError extends RuleError {}

export class StoreError extends TacitError {}

/** `status` is the HTTP status, or 0 where no answer arrived. */
export class CollectorError extends TacitError {
  constructor(message: string, code: string, readonly status = 0) {
    super(message, code);
  }
}

const kinds = {
  TacitError, UsageError, UnknownNameError, RecordError, PrivacyError, RandomnessError, ContractError, StoreError,
  CollectorError,
};
for (const [name, kind] of Object.entries(kinds)) kind.prototype.name = name; // minified classes have none of their own

/** Refuse a contract that breaks a rule of docs/wire.md. */
export function needContract(condition: unknown, rule: string): asserts condition {
  if (condition) return;
  const code = /^(too-large|not-json|version)$/.test(rule) ? `contract-${rule}`
    : rule === "not-for-clients" ? rule : "contract-damaged";
  throw new ContractError(`The contract breaks the rule ${rule}. Fetch it again.`, code, rule);
}
