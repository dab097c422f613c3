/**
 * From an address and a pinned hash to a client: fetch the contract, compare, audit, and only then encode by it.
 */
import { audit } from "./audit.js";
import { type Client, createClient, type Parts } from "./client.js";
import { CollectorError, ContractError, need, told } from "./errors.js";
import { exact } from "./exact.js";
import { indexedDBStore } from "./indexeddb.js";
import { Interpreter, type Service } from "./interpreter.js";
import { bytesOf } from "./members.js";
import { access, type Token } from "./outbox.js";
import { type Person, personText } from "./person.js";
import { BITS, secureDraws } from "./randomness.js";
import type { Services } from "./services.js";
import type { Store } from "./store.js";
import { PATIENCE, systemClock } from "./time.js";
import { fetchText, post } from "./transport.js";
import { walletOf } from "./wallet.js";
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
  return told(connectWith(url, options, {}));
}

/** @internal As `connect`, with parts replaced by tests. */
export async function connectWith(url: string, options: Options, parts: Partial<Parts>): Promise<Client> {
  const { collection, person, key, token, cap = CAP, per, round, every = EVERY } = options;
  need(/^[0-9a-f]{64}$/.test(collection), "bad-collection");
  need(every >= 0, "bad-option", "every");
  const days = typeof per === "string" ? PERIODS[per] : per;
  need(per === undefined || isWhole(days, 1, MOST_DAYS), "bad-option", "per");
  const limit = exact(cap);
  const address = { url: checkedUrl(url), collection, person: personText(person), key, token };
  need(options.store ?? globalThis.indexedDB, "no-store");
  const store = options.store ?? indexedDBStore();
  // Browsers clear storage when disks are full, or after weeks without a visit, unless they promised not to.
  const kept = options.store ? undefined : navigator.storage?.persist?.().catch(() => false);
  const timeout = parts.timeout ?? TIMEOUT;
  const text = await pinned(store, `${address.url}/v1/collections/`, collection, timeout);
  const plain = new Interpreter(text);
  audit(plain);
  const lists: Record<string, string[]> = {};
  for (const { dictionary, size } of plain.contract.services.flatMap(({ attributes }) => attributes)) {
    if (dictionary === undefined) continue;
    const list = (await pinned(store, `${address.url}/v1/dictionaries/`, dictionary, timeout)).split("\n").slice(0, -1);
    if (new Set(list).size !== size) throw new ContractError("bad-dictionary");
    lists[dictionary] = list;
  }
  const interpreter = new Interpreter(text, BITS, lists);
  const { contract } = interpreter;
  const turn = (contract.panel ?? round) !== undefined && await (await import("./assigned.js")).turnOf(contract, text, round, person, hashOf);
  need(typeof turn !== "string", turn as string);
  const wallet = walletOf(store, address.person, limit, days);
  await wallet.read();
  const target = { ...address, round: contract.round, ...turn };
  const draws = parts.draws ?? secureDraws;
  const assigned = async (rules: Service): Promise<number[]> => {
    const { assign, coinOf } = await import("./assigned.js");
    const body = `{${access(target)},"person":${target.person}}`;
    const coin = await coinOf(store, target, () => post(`${target.url}/v1/collections/${target.collection}/coin`, body, timeout));
    if (!coin) throw new CollectorError("no-coin");
    return assign(rules, draws(rules.draws), coin, hashOf);
  };
  return createClient({
    address: target, interpreter, wallet, timeout, draws, clock: systemClock, patience: PATIENCE,
    period: 1000 * every, kept, assigned: contract.assigned && assigned, ...parts,
  });
}

/** Return the text of a contract or a dictionary: kept from an earlier visit, or fetched; its hash decides. */
async function pinned(store: Store, url: string, id: string, timeout: number): Promise<string> {
  const name = `contract/${id}`;
  const kept = await store.read(name);
  if (kept !== undefined && await hashOf(kept) === id) return kept;
  const text = await fetchText(url + id, timeout);
  if (await hashOf(text) !== id) throw new ContractError("contract-not-pinned");
  await store.update(name, () => text);
  return text;
}

async function hashOf(text: string): Promise<string> {
  need(globalThis.crypto?.subtle, "insecure-page");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Keys and tokens travel in the body, so beyond this machine only encrypted. */
function checkedUrl(text: string): string {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch { /* refused below */ }
  const safe = /^https:|^http:\/\/((.+\.)?localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/;
  need(url && safe.test(url.origin) && !url.search && !url.hash, "bad-url");
  return url.href.replace(/\/+$/, "");
}
