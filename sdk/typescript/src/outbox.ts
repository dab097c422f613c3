/**
 * Bring what waits in a wallet to the collector: in batches, the stored bytes as they are, until each is acknowledged.
 */
import { CollectorError } from "./errors.js";
import { type Outcome, post, statusesOf } from "./transport.js";
import type { Pages, Settled, Wallet } from "./wallet.js";

/** Asks which reports the collector holds; returns an outcome that does not say so. */
export type Ask = () => Promise<Outcome | undefined>;

/** Reports of a request, and the bytes of their bodies: a page-close beacon may hold 64 KiB. */
const MAX_REPORTS = 100;
const MAX_BYTES = 60_000;

/** What says who the person is, in one collection: text, or a function that returns a fresh one. */
export type Token = string | (() => string);

/** Where reports go, and what lets them in. `key` and `token` are sent in the body, so beacons have them, too. */
export interface Address {
  readonly url: string;
  readonly collection: string;
  readonly person: string;
  readonly key: string | undefined;
  readonly token: Token | undefined;
  /** The name of a panel's round; otherwise the contract has one. */
  readonly round?: string;
}

interface Letter {
  readonly collection: string;
  readonly service: string;
  readonly slot: number;
  readonly body: string;
}

/** What a delivery achieved; `wait` is set if trying again later may help. */
export interface Attempt {
  readonly sent: number;
  readonly rejected: number;
  readonly problem?: CollectorError;
  readonly wait?: number;
}

/** A request's address and body. */
export interface Envelope {
  readonly url: string;
  readonly body: string;
}

/** Send everything that waits, once. */
export async function deliver(wallet: Wallet, address: Address, timeout: () => number, ask: Ask): Promise<Attempt> {
  let [sent, rejected] = [0, 0];
  const pages = await wallet.read();
  let failed: Pick<Attempt, "problem" | "wait"> = {}; // a deletion that is refused keeps no report back
  for (const deletion of deletions(pages, address)) {
    const named = deletion === address.url ? "" : `,"collection":"${deletion.slice(0, 64)}"`;
    const body = `{${access(address)},"person":${address.person}${named}}`;
    const outcome = await post(`${address.url}/v1/forget`, body, timeout());
    if (outcome.kind === "done" || outcome.problem.code === "nothing-to-delete") await wallet.deleted(deletion);
    else failed = failure(outcome);
    if (failed.wait !== undefined) return { sent, rejected, ...failed };
  }
  const { collection } = address;
  if (pages.unasked?.includes(collection)) {
    const outcome = await ask();
    if (outcome) return { sent, rejected, ...failure(outcome) }; // it may hold them: a second draw must not leave
  }
  const queue = batches(waiting(wallet.latest, address));
  for (let batch = queue.shift(); batch; batch = queue.shift()) {
    const { url, body } = envelope(address, batch);
    const outcome = await post(url, body, timeout());
    if (outcome.kind === "smaller" && batch.length > 1) {
      queue.unshift(batch.slice(0, batch.length >> 1), batch.slice(batch.length >> 1));
      continue;
    }
    const settled = settle(batch, outcome);
    if (settled.length) await wallet.settle(settled);
    sent += settled.filter(({ status }) => status === "stored").length;
    rejected += settled.filter(({ status }) => status === "refused").length;
    if (settled.length < batch.length) return { sent, rejected, ...failure(outcome) };
  }
  return { sent, rejected, ...failed };
}

/** Return the deletions that this client can ask for: a token is about one collection, those of others wait for theirs. */
export function deletions(pages: Pages, { url, collection, token }: Address): string[] {
  return pages.deletions.filter((one) => one.endsWith(url) && (!token || one === url || one.startsWith(collection)));
}

/** Return the reports that wait for this collector, oldest first; held ones wait for the person. */
export function waiting(pages: Pages, { url, collection, token }: Address): Letter[] {
  return pages.entries // a token is about one collection: reports of other rounds wait for theirs
    .filter((entry) => !entry.held && ((entry.url === url && !token) || entry.collection === collection))
    .filter((entry) => !pages.unasked?.includes(entry.collection))
    .flatMap((entry) => entry.reports.flatMap(({ body, status }, slot) =>
      status === "waiting" ? [{ collection: entry.collection, service: entry.service, slot, body }] : []));
}

/** Cut the queue into requests: of one collection each, and small enough. */
export function batches(letters: readonly Letter[]): Letter[][] {
  const found: Letter[][] = [];
  let bytes = 0;
  for (const letter of letters) {
    const last = found.at(-1);
    const own = new TextEncoder().encode(letter.body).length + 1;
    bytes += own;
    if (last && last.length < MAX_REPORTS && bytes <= MAX_BYTES && last[0]!.collection === letter.collection) {
      last.push(letter);
    } else {
      found.push([letter]);
      bytes = own;
    }
  }
  return found;
}

export function envelope(address: Address, batch: readonly Letter[]): Envelope {
  const url = `${address.url}/v1/collections/${batch[0]!.collection}/reports`;
  return { url, body: `{${access(address)},"reports":[${batch.map(({ body }) => body).join()}]}` };
}

export function freshToken({ token }: Address): string | undefined {
  return typeof token === "function" ? token() : token;
}

export function access(address: Address): string {
  return JSON.stringify({ tacit: 1, key: address.key, token: freshToken(address) }).slice(1, -1); // undefined ones are left out
}

function settle(batch: readonly Letter[], outcome: Outcome): Settled[] {
  if (outcome.kind === "never" || outcome.kind === "smaller") { // the collection is closed; or one report is too large
    return batch.map((letter) => ({ ...letter, status: "refused", code: outcome.problem.code }));
  }
  const statuses = outcome.kind === "done" ? statusesOf(outcome.answer, batch.length) : undefined;
  return (statuses ?? []).flatMap(({ status, code = "refused" }, i): Settled[] => {
    const { collection, service, slot } = batch[i]!;
    if (status === "stored" || status === "again") return [{ collection, service, slot, status: "stored" }];
    return status === "refused" ? [{ collection, service, slot, status, code }] : []; // unknown words: try again
  });
}

function failure(outcome: Outcome): Pick<Attempt, "problem" | "wait"> {
  if (outcome.kind === "done") {
    const problem = new CollectorError("The answer is not about this batch.", "bad-answer", 200);
    return { problem, wait: 0 };
  }
  return { problem: outcome.problem, ...(outcome.kind === "later" ? { wait: outcome.wait } : {}) };
}
