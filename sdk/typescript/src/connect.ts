/**
 * From an address and a pinned hash to a client: fetch the contract, compare, audit, and only then encode by it.
 */
import { audit } from "./audit.js";
import { Client, type Parts } from "./client.js";
import { coinOf } from "./coin.js";
import { ContractError, UsageError } from "./errors.js";
import { exact } from "./exact.js";
import { indexedDBStore } from "./indexeddb.js";
import { Interpreter, type Service } from "./interpreter.js";
import type { Token } from "./outbox.js";
import { attachToPage } from "./page.js";
import { turnOf } from "./panel.js";
import { type Person, personText } from "./person.js";
import { BITS, secureDraws } from "./randomness.js";
import type { Services } from "./services.js";
import type { Store } from "./store.js";
import { PATIENCE, systemClock } from "./time.js";
import { fetchBytes } from "./transport.js";
import { Wallet } from "./wallet.js";
import { isWhole } from "./whole.js";

export interface Options {
  /** The id of the collection: the SHA-256 of its contract, in hexadecimal. */
  readonly collection: string;
  /** The person's key in all services. */
  readonly person: Person;
  /** The ingest key of the app. */
  readonly key?: string;
  /** A token by the app's own server that says who the person is; or a function that returns a fresh one. */
  readonly token?: Token;
  /** Epsilon that the person spends at most, over all services and rounds; a number or an exact decimal text. */
  readonly cap?: number | string;
  /**
   * The period of the cap: in any so many days in a row, at most the cap is spent. What anyone can learn is then bounded
   * for each such period, not for ever. Without it the cap never renews.
   */
  readonly per?: "week" | "month" | "quarter" | "year" | number;
  /** Where the wallet is kept: IndexedDB in browsers; Node needs `directoryStore` of `@tacit/client/node`. */
  readonly store?: Store;
  /** For a panel: which of its rounds, from 1 on; a person who is not asked in it is refused (`not-asked`). */
  readonly round?: number;
  /** Seconds between the moments at which reports leave; 0 sends on `flush` only. */
  readonly every?: number;
}

const CAP = 4;
const PERIODS: Readonly<Record<string, number>> = { week: 7, month: 30, quarter: 91, year: 365 };
const MOST_DAYS = 36_500;
const EVERY = 300;
const TIMEOUT = 15_000;

/** `connect<Shop>(…)` with the types that `tacit-types` wrote refuses wrong names and values at compile time. */
export async function connect<S extends Services = Services>(url: string, options: Options): Promise<Client<S>> {
  return connectWith(url, options, {});
}

/** @internal As `connect`, with parts replaced by tests. */
export async function connectWith(url: string, options: Options, parts: Partial<Parts>): Promise<Client> {
  const { collection, person, key, token, cap = CAP, per, round, every = EVERY } = options;
  if (!/^[0-9a-f]{64}$/.test(collection)) {
    throw new UsageError("collection is not a contract's id: 64 hexadecimal digits.", "bad-collection");
  }
  if (!(every >= 0)) throw new UsageError("every is not a number of seconds from 0.", "bad-option");
  const days = typeof per === "string" ? PERIODS[per] : per;
  if (per !== undefined && !isWhole(days, 1, MOST_DAYS)) {
    throw new UsageError(`per is ${Object.keys(PERIODS).join(", ")}, or days from 1 to ${MOST_DAYS}.`, "bad-option");
  }
  const limit = exact(cap);
  const address = { url: checkedUrl(url), collection, person: personText(person), key, token };
  const store = options.store ?? defaultStore();
  const kept = options.store ? undefined : askToKeep();
  const timeout = parts.timeout ?? TIMEOUT;
  const text = await pinned(store, `${address.url}/v1/collections/`, collection, timeout);
  const plain = new Interpreter(text);
  audit(plain);
  const lists: Record<string, string[]> = {};
  for (const { dictionary, size } of plain.contract.services.flatMap(({ attributes }) => attributes)) {
    if (dictionary === undefined) continue;
    const list = (await pinned(store, `${address.url}/v1/dictionaries/`, dictionary, timeout)).split("\n").slice(0, -1);
    if (new Set(list).size !== size) throw new ContractError("The dictionary has other values than the contract says.", "bad-dictionary");
    lists[dictionary] = list;
  }
  const interpreter = new Interpreter(text, BITS, lists);
  const hash = (part: string): Promise<string> => hashOf(new TextEncoder().encode(part));
  const isPanel = interpreter.contract.panel !== undefined || round !== undefined;
  const turn = isPanel && await turnOf(interpreter.contract, text, round!, person, hash);
  const wallet = new Wallet(store, address.person, limit, days);
  await wallet.read();
  const target = { ...address, round: interpreter.contract.round, ...turn };
  const draws = parts.draws ?? secureDraws;
  const assigned = async (rules: Service): Promise<number[]> =>
    rules.assign(draws(rules.draws), await coinOf(store, target, timeout), hash);
  const client = new Client({
    address: target, interpreter, wallet, timeout, draws, clock: systemClock, patience: PATIENCE,
    period: 1000 * every, ...(kept ? { kept } : {}), ...(interpreter.contract.assigned ? { assigned } : {}), ...parts,
  });
  if (typeof document !== "undefined" && every > 0) attachToPage(client);
  return client;
}

/** Return the text of a contract or a dictionary: kept from an earlier visit, or fetched; its hash decides. */
async function pinned(store: Store, url: string, id: string, timeout: number): Promise<string> {
  const name = `contract/${id}`;
  const kept = await store.read(name);
  if (kept !== undefined && await hashOf(new TextEncoder().encode(kept)) === id) return kept;
  const bytes = await fetchBytes(url + id, timeout);
  if (await hashOf(bytes) !== id) {
    throw new ContractError("The collector's contract is not the pinned one.", "contract-not-pinned");
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  await store.update(name, () => text);
  return text;
}

async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!globalThis.crypto?.subtle) {
    throw new UsageError("Contracts are checked on secure pages only: use https.", "insecure-page");
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Keys and tokens travel in the body, so beyond this machine only encrypted. */
function checkedUrl(text: string): string {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch { /* refused below */ }
  const local = /^(.+\.)?localhost$|^127(\.\d+){3}$|^\[::1\]$/.test(url?.hostname ?? "");
  if (!url || !(url.protocol === "https:" || (url.protocol === "http:" && local)) || url.search || url.hash) {
    throw new UsageError("The collector's address is not https, nor of this machine.", "bad-url");
  }
  return url.href.replace(/\/+$/, "");
}

/** Browsers clear storage when disks are full, or after weeks without a visit, unless they promised not to. */
async function askToKeep(): Promise<boolean | undefined> {
  return navigator.storage?.persist?.().catch(() => false);
}

function defaultStore(): Store {
  if (typeof indexedDB !== "undefined") return indexedDBStore();
  throw new UsageError("There is no IndexedDB here. In Node pass a directoryStore of @tacit/client/node.", "no-store");
}
