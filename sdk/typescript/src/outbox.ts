/**
 * Bring what waits in a wallet to the collector: in batches, the stored bytes as they are, until each is acknowledged.
 */
import { CollectorError } from "./errors.js";
import { bytesOf } from "./members.js";
import { type Outcome, post, wordOf } from "./transport.js";
import { isUnasked, type Pages, type Settled, type Wallet } from "./wallet.js";

/** Asks which reports the collector holds; returns an outcome that does not say so. */
export type Ask = () => Promise<Outcome | undefined>;

/** Reports of a request, and the bytes of their bodies: a page-close beacon may hold 64 KiB. */
const MAX_REPORTS = 100;
const MAX_BYTES = 60_000;

/** The statuses of a closed collection, and of a request (or one report) that is too large. */
const GONE = 410;
const TOO_LARGE = 413;

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
  let sent = 0;
  let rejected = 0;
  const pages = await wallet.read();
  let failed: Outcome = {}; // a deletion or a question that is refused keeps no other report back
  for (const deletion of deletions(pages, address)) {
    const named = deletion === address.url ? "" : `,"collection":"${deletion.slice(0, 64)}"`;
    const outcome = await post(`${address.url}/v1/forget`, `{${access(address)},"person":${address.person}${named}}`, timeout());
    if (outcome.problem && outcome.problem.code !== "nothing-to-delete") failed = outcome;
    else await wallet.deleted(deletion);
    if (failed.wait !== undefined) return { sent, rejected, ...failed };
  }
  if (pages.unasked?.some((one) => one.startsWith(address.collection))) {
    const outcome = await ask();
    if (outcome) failed = orBad(outcome); // it may hold them: a second draw must not leave
  }
  const queue = batches(waiting(wallet.latest, address));
  for (let batch; batch = queue.shift();) {
    const { url, body } = envelope(address, batch);
    const outcome = await post(url, body, timeout());
    if (outcome.problem?.status === TOO_LARGE && batch.length > 1) {
      queue.unshift(batch.slice(0, batch.length >> 1), batch.slice(batch.length >> 1));
      continue;
    }
    const settled = settle(batch, outcome);
    if (settled.length) await wallet.settle(settled);
    for (const { status } of settled) {
      if (status === "stored") sent++;
      else rejected++;
    }
    if (settled.length < batch.length) return { sent, rejected, ...orBad(outcome) };
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
    .filter((entry) => !entry.held && ((entry.url === url && !token) || entry.collection === collection) &&
      !isUnasked(pages, entry))
    .flatMap((entry) => entry.reports.flatMap(({ body, status }, slot) =>
      status === "waiting" ? [{ collection: entry.collection, service: entry.service, slot, body }] : []));
}

/** Cut the queue into requests: of one collection each, and small enough. */
export function batches(letters: readonly Letter[]): Letter[][] {
  const found: Letter[][] = [];
  let bytes = 0;
  for (const letter of letters) {
    const last = found.at(-1);
    const own = bytesOf(letter.body).length + 1;
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

/** Return what became of a batch: nothing of reports that an answer leaves open, or that were not answered. */
function settle(batch: readonly Letter[], { answer, problem }: Outcome): Settled[] {
  const { statuses } = Object(answer) as { statuses?: unknown };
  const known = Array.isArray(statuses) && statuses.length === batch.length;
  return batch.flatMap((letter, i): Settled[] => {
    const { status, code } = Object(problem && [GONE, TOO_LARGE].includes(problem.status)
      ? { status: "refused", code: problem.code } : known && statuses[i]) as { status?: unknown; code?: unknown };
    if (status === "stored" || status === "again") return [{ ...letter, status: "stored" }];
    return status === "refused" ? [{ ...letter, status, code: wordOf(code) ?? status }] : []; // unknown: try again
  });
}

/** An answer that is not about the batch is a problem, too. */
function orBad(outcome: Outcome): Outcome {
  return outcome.problem ? outcome : { problem: new CollectorError("bad-answer"), wait: 0 };
}
