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
type Fact = string | number | undefined;

/** Its message is its code and the facts, until `told` has loaded the sentence. */
export class TacitError extends Error {
  readonly facts: readonly Fact[];

  constructor(readonly code: string, ...facts: readonly Fact[]) {
    super(`[${code}] ${facts.join(", ")}`);
    this.facts = facts;
  }
}

export class UsageError extends TacitError {}

/** Return the first eight of some public names. */
export function listed(names: readonly unknown[]): string {
  return names.slice(0, 8).join(", ") + (names.length > 8 ? ", …" : "");
}

export class UnknownNameError extends UsageError {
  constructor(readonly known: readonly string[]) {
    super("unknown-name", listed(known));
  }
}

/** Says what the service or the column takes. A sentence would be loaded for some values only, and so tell of them. */
export class RecordError extends UsageError {
  constructor(code: string, takes: string, readonly service: string, readonly column?: string) {
    super(code, `${service}${column ? `.${column}` : ""} takes ${takes}.`);
  }
}

/** `rule` is the first rule of docs/wire.md that a contract breaks, if the error is about one. */
class RuleError extends TacitError {
  declare rule: string;
}
RuleError.prototype.rule = "";

export class PrivacyError extends RuleError {}

export class RandomnessError extends PrivacyError {}

export class ContractError extends RuleError {}

export class StoreError extends TacitError {}

/** `status` is the HTTP status, or 0 where no answer arrived. */
export class CollectorError extends TacitError {
  declare status: number;
}
CollectorError.prototype.status = 0;

const kinds = {
  TacitError, UsageError, UnknownNameError, RecordError, PrivacyError, RandomnessError, ContractError, StoreError,
  CollectorError,
};
for (const [name, kind] of Object.entries(kinds)) kind.prototype.name = name; // minified classes have none of their own

/** Refuse a wrong argument. */
export function need(condition: unknown, code: string, ...facts: readonly Fact[]): asserts condition {
  if (!condition) throw new UsageError(code, ...facts);
}

/** Refuse a contract that breaks a rule of docs/wire.md. */
export function needContract(condition: unknown, rule: string): asserts condition {
  if (condition) return;
  const code = /^(too-large|not-json|version)$/.test(rule) ? `contract-${rule}`
    : rule === "not-for-clients" ? rule : "contract-damaged";
  throw Object.assign(new ContractError(code, rule), { rule });
}

/** Give an error its sentence, from a file that is loaded for it: most pages meet none. */
export async function tell<Cause>(error: Cause): Promise<Cause> {
  if (error instanceof TacitError && !(error instanceof RecordError)) {
    await import("./texts.js").then(({ sentenceOf }) => error.message = sentenceOf(error), () => undefined);
  }
  return error;
}

/** Return what a promise holds, or fail with its error in a sentence. */
export function told<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch(async (error: unknown) => {
    throw await tell(error);
  });
}
