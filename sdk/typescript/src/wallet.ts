/**
 * A person's wallet: what every report cost, and the very bytes that were drawn for it.
 *
 * Charge, memory and outbox are one text, changed in one step of the store. So a crash can never leave a report that
 * was sent but not remembered (it would be drawn again) or remembered but not charged. A report is drawn once for a
 * (collection, service); asking again finds it. Nothing in here is a raw value.
 */
import { dateOf, daysOf } from "./members.js";
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
  /**
   * What stays here until the collector has said which reports it holds: a collection, a space and a service; in wallets
   * of earlier versions a collection.
   */
  readonly unasked?: readonly string[];
}

const EMPTY: Pages = { tacit: 1, entries: [], forgotten: [], deletions: [] };

/** A person's wallet in a store, with a cap over any `days` days in a row; without them, for ever. */
export interface Wallet {
  readonly cap: Fraction;
  readonly days: number | undefined;
  /** What the store held last: for a closing page, which cannot wait for it. */
  latest: Pages;
  read(): Promise<Pages>;
  /**
   * Return the entry of a claim, and whether it was there before; `draw` runs only if it was not. If the collector could
   * not be asked which reports it has, reports that are drawn or released now stay until `noteTaken` has its answer.
   */
  take(claim: Claim, draw: () => readonly string[], asked?: boolean): Promise<{ entry: Entry; again: boolean }>;
  /** Return the charges that still count on a day, oldest first. */
  counted(pages: Pages, today: string): Entry[];
  /** Return the day on which the oldest charge that counts stops counting, if there is one. */
  renews(pages: Pages, today: string): string | undefined;
  /** Record the services for which the collector already has reports: ours are not sent, and cost nothing. */
  noteTaken(collection: string, claims: readonly Claim[]): Promise<unknown>;
  settle(settled: readonly Settled[]): Promise<unknown>;
  /** Delete the reports of a collector, here and, once it confirms, there. The spent budget stays spent. */
  forget(url: string, collection: string): Promise<unknown>;
  deleted(deletion: string): Promise<unknown>;
}

/** Tiers of a round are alternatives: reporting in two would spend both. */
const isOtherTier = ({ url, round, tier, service, services }: Claim) => (entry: Entry): boolean =>
  entry.url === url && entry.round === round && entry.tier !== tier &&
  (entry.services === undefined ? entry.service === service : entry.services === services);

function refuse(condition: unknown, code: string, ...facts: readonly (string | number | undefined)[]): void {
  if (condition) throw new PrivacyError(code, ...facts);
}

type Place = Pick<Entry, "collection" | "service">;

/** Tell whether an entry is about the same service of the same collection. */
export const isOf = ({ collection, service }: Place) => (entry: Place): boolean =>
  entry.collection === collection && entry.service === service;

const placeOf = ({ collection, service }: Place): string => `${collection} ${service}`;

/** Tell whether reports stay here until the collector has said which it holds. */
export const isUnasked = ({ unasked = [] }: Pages, entry: Place): boolean =>
  unasked.includes(entry.collection) || unasked.includes(placeOf(entry));

const union = (texts: readonly string[] | undefined, ...more: readonly string[]): string[] => [...new Set([...texts ?? [], ...more])];

export function walletOf(store: Store, person: string, cap: Fraction, days?: number): Wallet {
  const name = `wallet/${person}`;

  async function change(step: (pages: Pages) => Partial<Pages>): Promise<Pages> {
    let next = EMPTY;
    await store.update(name, (text) => {
      const pages = parse(text);
      return JSON.stringify(next = { ...pages, ...step(pages) });
    });
    return wallet.latest = next; // only now is it durable
  }

  const counted = ({ entries }: Pages, today: string): Entry[] =>
    entries.filter(({ day }) => !days || later(day, days) > today).sort((a, b) => a.day < b.day ? -1 : 1);

  function refuseOverspending(pages: Pages, { epsilon, service }: Claim, today: string): void {
    const charges = counted(pages, today);
    const fits = (entries: readonly Entry[]): boolean => isAtMost(sum([spent(entries), epsilon]), cap);
    if (fits(charges)) return;
    const enough = days && charges.find((_, i) => fits(charges.slice(i + 1)));
    refuse(true, "cap-exceeded", service, ...[epsilon, spent(charges), cap].map(toNumber), days,
      enough ? later(enough.day, days) : "");
  }

  const wallet: Wallet = {
    cap, days, counted, latest: EMPTY,
    read: async () => wallet.latest = parse(await store.read(name)),
    async take(claim, draw, asked = true) {
      let again = false;
      const changed = await change((pages) => {
        const { entries, forgotten, unasked } = pages;
        refuse(forgotten.includes(claim.collection), "forgotten");
        const own = entries.find(isOf(claim));
        const kept = !asked && (!own || own.held) && { unasked: union(unasked, placeOf(claim)) };
        again = !!own;
        if (own) {
          const released = { ...own, url: claim.url, held: own.held && claim.held };
          return { ...kept, entries: entries.map((entry) => entry === own ? released : entry) };
        }
        refuse(entries.some(isOtherTier(claim)), "other-tier", claim.service);
        const day = latestDay(pages, claim.day); // a clock that was set back renews nothing
        refuseOverspending(pages, claim, day);
        const reports = draw().map((body) => ({ body, status: "waiting" as const }));
        const entry = { ...claim, day, epsilon: fractionText(claim.epsilon), reports };
        return { ...kept, entries: [...entries, entry] };
      });
      return { entry: changed.entries.find(isOf(claim))!, again };
    },
    renews(pages, today) {
      const oldest = counted(pages, today).find(({ epsilon }) => epsilon !== "0");
      return oldest && days ? later(oldest.day, days) : undefined;
    },
    noteTaken: (collection, claims) => change((pages) => {
      const { entries, unasked = [] } = pages;
      const taken = { epsilon: "0", reports: [{ body: "", status: "taken" as const }] };
      const known = entries.map((entry) => // nothing of what is held or unasked was ever sent
        (entry.held || isUnasked(pages, entry)) && claims.some(isOf(entry)) ? { ...entry, ...taken } : entry);
      const fresh = claims.filter((claim) => !entries.some(isOf(claim)));
      return {
        entries: [...known, ...fresh.map((claim) => ({ ...claim, ...taken }))],
        unasked: unasked.filter((one) => !one.startsWith(collection)),
      };
    }),
    settle: (settled) => change(({ entries }) => ({
      entries: entries.map((entry) => ({
        ...entry,
        reports: entry.reports.map((report, slot) => {
          const news = settled.find((one) => one.slot === slot && isOf(entry)(one));
          if (!news || report.status !== "waiting") return report;
          return { ...report, status: news.status, ...news.code && { code: news.code } };
        }),
      })),
    })),
    forget: (url, collection) => change(({ entries, forgotten, deletions }) => {
      const left = [...entries.filter((entry) => entry.url === url).map((entry) => entry.collection), collection];
      return {
        entries: entries.map((entry) => entry.url === url ? { ...entry, reports: [] } : entry),
        forgotten: union(forgotten, ...left),
        deletions: union(deletions, ...left.map((name) => `${name} ${url}`)),
      };
    }),
    deleted: (deletion) => change(({ deletions }) => ({ deletions: deletions.filter((one) => one !== deletion) })),
  };
  return wallet;
}

/** Return a day, or the latest one on which something was charged if that is later. */
export function latestDay(pages: Pages, day: string): string {
  return [day, ...pages.entries.map((entry) => entry.day)].sort().at(-1)!;
}

function later(day: string, days: number): string {
  return dateOf(daysOf(day) + days);
}

export function spent(entries: readonly Entry[]): Fraction {
  return sum(entries.map((entry) => exact(entry.epsilon)));
}

/** A wallet that cannot be read counts as full: starting an empty one would spend everything twice. */
function parse(text: string | undefined): Pages {
  if (text === undefined) return EMPTY;
  try {
    const pages = JSON.parse(text) as Pages;
    const lists = [pages.forgotten, pages.deletions, pages.unasked ?? []];
    if (pages.tacit === 1 && lists.every(Array.isArray) && spent(pages.entries)) return pages;
  } catch { /* the same error as below, without the parser's words */ }
  throw new StoreError("wallet-damaged");
}
