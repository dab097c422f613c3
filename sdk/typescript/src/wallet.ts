/**
 * A person's wallet: what every report cost, and the very bytes that were drawn for it.
 *
 * Charge, memory and outbox are one text, changed in one step of the store. So a crash can never leave a report that
 * was sent but not remembered (it would be drawn again) or remembered but not charged. A report is drawn once for a
 * (collection, service); asking again finds it. Nothing in here is a raw value.
 */
import { dateOf } from "./contract.js";
import { daysOf } from "./members.js";
import { PrivacyError, StoreError } from "./errors.js";
import { exact, type Fraction, fractionText, isAtMost, sum, toNumber } from "./exact.js";
import type { Store } from "./store.js";

/** Taken: the collector had a report for the slot from a wallet that is gone, so none was sent from this one. */
export type Status = "waiting" | "stored" | "refused" | "taken";

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
  /** All services of the collection: tiers of a round have the same ones. */
  readonly services?: string;
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
  /** Deletions that were not confirmed yet: a collection and its collector's address, or the address of all of it. */
  readonly deletions: readonly string[];
  /** Collections whose reports stay here until the collector has said which of them it holds. */
  readonly unasked?: readonly string[];
}

const EMPTY: Pages = { tacit: 1, entries: [], forgotten: [], deletions: [] };

export class Wallet {
  /** What the store held last: for a closing page, which cannot wait for it. */
  latest = EMPTY;
  readonly #name: string;
  readonly #store: Store;

  /** A cap over any `days` days in a row; without them, for ever. */
  constructor(store: Store, person: string, readonly cap: Fraction, readonly days?: number) {
    this.#store = store;
    this.#name = `wallet/${person}`;
  }

  async read(): Promise<Pages> {
    return this.latest = parse(await this.#store.read(this.#name));
  }

  /**
   * Return the entry of a claim, and whether it was there before; `draw` runs only if it was not. If the collector could
   * not be asked which reports it has, the reports stay until `noteTaken` has its answer.
   */
  async take(claim: Claim, draw: () => readonly string[], asked = true): Promise<{ entry: Entry; again: boolean }> {
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
      const day = latestDay(pages, claim.day); // a clock that was set back renews nothing
      this.#refuseOverspending(pages, claim, day);
      const reports = draw().map((body) => ({ body, status: "waiting" as const }));
      const entry = { ...claim, day, epsilon: fractionText(claim.epsilon), reports };
      return { ...pages, entries: [...pages.entries, entry], ...(asked ? {} : unask(pages, claim.collection)) };
    });
    return { entry: pages.entries.find(isClaimed)!, again };
  }

  /** Tell whether nothing is left to be drawn for a claim: there are reports, or the person has left. */
  isDrawn(pages: Pages, { collection, service }: Claim): boolean {
    return pages.forgotten.includes(collection) ||
      pages.entries.some((entry) => entry.collection === collection && entry.service === service);
  }

  /** Return the charges that still count on a day, oldest first. */
  counted(pages: Pages, today: string): Entry[] {
    return pages.entries.filter((entry) => this.days === undefined || later(entry.day, this.days) > today)
      .sort((a, b) => a.day < b.day ? -1 : 1);
  }

  /** Return the day on which the oldest charge that counts stops counting, if there is one. */
  renews(pages: Pages, today: string): string | undefined {
    const oldest = this.counted(pages, today).find(({ epsilon }) => epsilon !== "0");
    return oldest && this.days ? later(oldest.day, this.days) : undefined;
  }

  #refuseOverspending(pages: Pages, { epsilon, service }: Claim, today: string): void {
    const counted = this.counted(pages, today);
    const before = spent({ entries: counted });
    if (isAtMost(sum([before, epsilon]), this.cap)) return;
    const [cost, used, most] = [epsilon, before, this.cap].map(toNumber);
    const last = this.days && isAtMost(epsilon, this.cap) ? counted.findIndex((_, i) =>
      isAtMost(sum([spent({ entries: counted.slice(i + 1) }), epsilon]), this.cap)) : -1;
    const free = last < 0 ? "" : ` There is enough again on ${later(counted[last]!.day, this.days!)}.`;
    throw new PrivacyError(`${service} costs ${cost}; ${used} of the wallet's ${most}` +
      `${this.days ? ` per ${this.days} days` : ""} is spent.${free}`, "cap-exceeded");
  }

  /** Tell whether the wallet remembers this person in a collection, and the collector was asked before. */
  isAsked(pages: Pages, collection: string): boolean {
    return pages.entries.some((entry) => entry.collection === collection) && !pages.unasked?.includes(collection);
  }

  /** Record the services for which the collector already has reports: ours are not sent, and cost nothing. */
  async noteTaken(collection: string, claims: readonly Claim[]): Promise<void> {
    await this.#change((pages) => {
      const wasUnasked = pages.unasked?.includes(collection); // then nothing of it was ever sent
      const isOf = ({ service }: Claim) => (entry: Entry): boolean =>
        entry.collection === collection && entry.service === service;
      const taken = { epsilon: "0", reports: [{ body: "", status: "taken" as const }] };
      const known = pages.entries.map((entry) =>
        wasUnasked && claims.some((claim) => isOf(claim)(entry)) ? { ...entry, ...taken } : entry);
      const fresh = claims.filter((claim) => !pages.entries.some(isOf(claim)));
      return {
        ...pages, entries: [...known, ...fresh.map((claim) => ({ ...claim, ...taken }))],
        unasked: (pages.unasked ?? []).filter((one) => one !== collection),
      };
    });
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

  /** Delete the reports of a collector, here and, once it confirms, there. The spent budget stays spent. */
  async forget(url: string, collection: string): Promise<void> {
    await this.#change((pages) => {
      const left = [...pages.entries.filter((entry) => entry.url === url).map((entry) => entry.collection), collection];
      return {
        ...pages,
        entries: pages.entries.map((entry) => entry.url === url ? { ...entry, reports: [] } : entry),
        forgotten: [...new Set([...pages.forgotten, ...left])],
        deletions: [...new Set([...pages.deletions, ...left.map((name) => `${name} ${url}`)])],
      };
    });
  }

  async deleted(deletion: string): Promise<void> {
    await this.#change((pages) => ({ ...pages, deletions: pages.deletions.filter((one) => one !== deletion) }));
  }

  async #change(step: (pages: Pages) => Pages): Promise<Pages> {
    let next = EMPTY;
    await this.#store.update(this.#name, (text) => JSON.stringify(next = step(parse(text))));
    return this.latest = next; // only now is it durable
  }
}

function refuseForgotten(pages: Pages, { collection }: Claim): void {
  if (pages.forgotten.includes(collection)) {
    throw new PrivacyError("This person has left this round. The next one is open.", "forgotten");
  }
}

/** Tiers of a round are alternatives: reporting in two would spend both. */
function refuseTier(pages: Pages, { url, round, tier, service, services }: Claim): void {
  const other = pages.entries.some((entry) => entry.url === url && entry.round === round && entry.tier !== tier &&
    (entry.services === undefined ? entry.service === service : entry.services === services));
  if (other) throw new PrivacyError(`${service}: you have reported in another tier of this round.`, "other-tier");
}

/** Return a day, or the latest one on which something was charged if that is later. */
export function latestDay(pages: Pages, day: string): string {
  return pages.entries.reduce((latest, entry) => entry.day > latest ? entry.day : latest, day);
}

function unask(pages: Pages, collection: string): Pick<Pages, "unasked"> {
  return { unasked: [...new Set([...pages.unasked ?? [], collection])] };
}

function later(day: string, days: number): string {
  return dateOf(daysOf(day) + days);
}

export function spent({ entries }: Pick<Pages, "entries">): Fraction {
  return sum(entries.map((entry) => exact(entry.epsilon)));
}

/** A wallet that cannot be read counts as full: starting an empty one would spend everything twice. */
function parse(text: string | undefined): Pages {
  if (text === undefined) return EMPTY;
  try {
    const pages = JSON.parse(text) as Pages;
    const lists = [pages.forgotten, pages.deletions, pages.unasked ?? []];
    if (pages.tacit === 1 && lists.every(Array.isArray) && spent(pages)) return pages;
  } catch { /* the same error as below, without the parser's words */ }
  throw new StoreError("The wallet is damaged or of a newer version. Nothing was encoded.", "wallet-damaged");
}
