/**
 * A person's wallet: what every report cost, and the very bytes that were drawn for it.
 *
 * Charge, memory and outbox are one text, changed in one step of the store. So a crash can never leave a report that
 * was sent but not remembered (it would be drawn again) or remembered but not charged. A report is drawn once for a
 * (collection, service); asking again finds it. Nothing in here is a raw value.
 */
import { PrivacyError, StoreError } from "./errors.js";
import { exact, type Fraction, fractionText, isAtMost, sum, toNumber } from "./exact.js";
import type { Store } from "./store.js";

export type Status = "waiting" | "stored" | "refused";

/** The bytes of a report, and what became of them; `code` says why it was refused. */
export interface StoredReport {
  readonly body: string;
  readonly status: Status;
  readonly code?: string;
}

/** One service in one round: its reports by slot. Held ones were shown to the person, but not yet released. */
export interface Entry {
  readonly url: string;
  readonly collection: string;
  readonly round: string;
  readonly tier: string;
  readonly service: string;
  readonly epsilon: string;
  readonly day: string;
  readonly held: boolean;
  /** By slot; empty once forgotten. */
  readonly reports: readonly StoredReport[];
}

/** What is asked for: everything of an entry but its reports. */
export type Claim = Omit<Entry, "reports" | "epsilon"> & { readonly epsilon: Fraction };

/** What became of a report that was sent. */
export interface Settled {
  readonly collection: string;
  readonly service: string;
  readonly slot: number;
  readonly status: Status;
  readonly code?: string;
}

export interface Pages {
  readonly tacit: 1;
  readonly entries: readonly Entry[];
  /** Collections this person left: nothing is drawn for them again. */
  readonly forgotten: readonly string[];
  /** Collectors that have yet to be told to delete. */
  readonly deletions: readonly string[];
}

const EMPTY: Pages = { tacit: 1, entries: [], forgotten: [], deletions: [] };

export class Wallet {
  /** What the store held last: for a closing page, which cannot wait for it. */
  latest = EMPTY;
  readonly #name: string;
  readonly #store: Store;

  constructor(store: Store, person: string, readonly cap: Fraction) {
    this.#store = store;
    this.#name = `wallet/${person}`;
  }

  async read(): Promise<Pages> {
    return this.latest = parse(await this.#store.read(this.#name));
  }

  /** Return the entry of a claim, and whether it was there before; `draw` runs only if it was not. */
  async take(claim: Claim, draw: () => readonly string[]): Promise<{ entry: Entry; again: boolean }> {
    let again = false;
    const isClaimed = (entry: Entry): boolean =>
      entry.collection === claim.collection && entry.service === claim.service;
    const pages = await this.#change((pages) => {
      refuseForgotten(pages, claim);
      again = pages.entries.some(isClaimed);
      if (again) {
        const release = (entry: Entry): Entry => ({ ...entry, url: claim.url, held: entry.held && claim.held });
        return { ...pages, entries: pages.entries.map((entry) => isClaimed(entry) ? release(entry) : entry) };
      }
      refuseTier(pages, claim);
      refuseOverspending(pages, claim, this.cap);
      const reports = draw().map((body) => ({ body, status: "waiting" as const }));
      return { ...pages, entries: [...pages.entries, { ...claim, epsilon: fractionText(claim.epsilon), reports }] };
    });
    return { entry: pages.entries.find(isClaimed)!, again };
  }

  async settle(settled: readonly Settled[]): Promise<void> {
    await this.#change((pages) => ({
      ...pages,
      entries: pages.entries.map((entry) => ({
        ...entry,
        reports: entry.reports.map((report, slot) => {
          const news = settled.find((one) =>
            one.collection === entry.collection && one.service === entry.service && one.slot === slot);
          if (!news || report.status !== "waiting") return report;
          return { ...report, status: news.status, ...(news.code === undefined ? {} : { code: news.code }) };
        }),
      })),
    }));
  }

  /** Delete the reports of a collector, here and (when it has been told) there. What was spent stays spent. */
  async forget(url: string, collection: string): Promise<void> {
    await this.#change((pages) => {
      const left = pages.entries.filter((entry) => entry.url === url).map((entry) => entry.collection);
      return {
        ...pages,
        entries: pages.entries.map((entry) => entry.url === url ? { ...entry, reports: [] } : entry),
        forgotten: [...new Set([...pages.forgotten, ...left, collection])],
        deletions: [...new Set([...pages.deletions, url])],
      };
    });
  }

  async deleted(url: string): Promise<void> {
    await this.#change((pages) => ({ ...pages, deletions: pages.deletions.filter((one) => one !== url) }));
  }

  async #change(step: (pages: Pages) => Pages): Promise<Pages> {
    let next = EMPTY;
    await this.#store.update(this.#name, (text) => JSON.stringify(next = step(parse(text))));
    return this.latest = next; // only now is it durable
  }
}

function refuseForgotten(pages: Pages, { collection }: Claim): void {
  if (pages.forgotten.includes(collection)) {
    throw new PrivacyError("This person's reports of the round were forgotten. The next round is open.", "forgotten");
  }
}

/** Tiers of a round are alternatives: reporting in two would spend both. */
function refuseTier(pages: Pages, { url, round, tier, service }: Claim): void {
  const other = pages.entries.some((entry) =>
    entry.url === url && entry.round === round && entry.service === service && entry.tier !== tier);
  if (other) throw new PrivacyError(`${service} was reported in another tier of this round.`, "other-tier");
}

function refuseOverspending(pages: Pages, { epsilon, service }: Claim, cap: Fraction): void {
  const before = spent(pages);
  if (isAtMost(sum([before, epsilon]), cap)) return;
  const [cost, used, most] = [epsilon, before, cap].map(toNumber);
  throw new PrivacyError(`${service} costs ${cost}; ${used} of the wallet's ${most} is spent.`, "over-cap");
}

export function spent(pages: Pages): Fraction {
  return sum(pages.entries.map((entry) => exact(entry.epsilon)));
}

/** A wallet that cannot be read counts as full: starting an empty one would spend everything twice. */
function parse(text: string | undefined): Pages {
  if (text === undefined) return EMPTY;
  try {
    const pages = JSON.parse(text) as Pages;
    if (pages.tacit === 1 && Array.isArray(pages.forgotten) && Array.isArray(pages.deletions) && spent(pages)) {
      return pages;
    }
  } catch { /* the same error as below, without the parser's words */ }
  throw new StoreError("The wallet is damaged or of a newer version. Nothing was encoded.", "wallet-damaged");
}
