/**
 * Types of a contract's services. Without them a client takes any names; `tacit-types` writes those of one contract, so
 * that a wrong name or value does not compile. Types only: nothing of this is in the bundle.
 */
import type { Row } from "./interpreter.js";

/** The rows that services take, by the name of the service. */
export interface Services {
  /** Services with exactly one row per person, for `record`. */
  readonly one: Readonly<Record<string, Row>>;
  /** All services, for `rows` and `preview`. */
  readonly all: Readonly<Record<string, Row>>;
}

export type Named<Rows> = keyof Rows & string;
