/** The device's side of tacit: encode locally, spend at most a cap, deliver once. */
export { audit } from "./audit.js";
export type { Budget, Client, Delivery, Receipt } from "./client.js";
export { connect, type Options } from "./connect.js";
export type { Attribute, Contract, ServiceData } from "./contract.js";
export type { Token } from "./outbox.js";
export {
  CollectorError, ContractError, PrivacyError, RandomnessError, RecordError, StoreError, TacitError, UnknownNameError,
  UsageError,
} from "./errors.js";
export { indexedDBStore } from "./indexeddb.js";
export { Interpreter, type Row } from "./interpreter.js";
export type { Person } from "./person.js";
export type { Meaning, Preview } from "./preview.js";
export { drawOfWords } from "./randomness.js";
export type { Services } from "./services.js";
export { memoryStore, type Store } from "./store.js";
