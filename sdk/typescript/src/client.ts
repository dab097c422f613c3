/**
 * What apps hold: one person, one round. It draws a report once, keeps it, and sends it until it is acknowledged.
 */
import { spending } from "./audit.js";
import { type TacitError, tell, told } from "./errors.js";
import { exact, toNumber } from "./exact.js";
import type { Interpreter, Row, Service } from "./interpreter.js";
import { dateOf } from "./members.js";
import { type Address, type Attempt, batches, deletions, deliver, type Envelope, envelope, waiting } from "./outbox.js";
import { attachToPage } from "./page.js";
import { publicText } from "./person.js";
import type { Preview } from "./preview.js";
import type { Draws } from "./randomness.js";
import { askReceipts } from "./receipts.js";
import type { Named, Services } from "./services.js";
import { atTicks, backOff, type Clock, type Patience } from "./time.js";
import type { Outcome } from "./transport.js";
import { type Claim, type Entry, isOf, spent, type Wallet } from "./wallet.js";

/** What a client is made of; `connect` fills it in, tests use clocks and draws of their own. */
export interface Parts {
  readonly address: Address;
  readonly interpreter: Interpreter;
  readonly wallet: Wallet;
  readonly draws: Draws;
  readonly clock: Clock;
  readonly patience: Patience;
  /** Milliseconds between ticks; 0 sends on `flush` only. */
  readonly period: number;
  /** Milliseconds a request may take. */
  readonly timeout: number;
  /** Returns draws of which the person's coin assigns some, if the contract says so. */
  readonly assigned?: ((rules: Service) => Promise<number[]>) | undefined;
  /** Whether the browser promised to keep the wallet; undefined where nobody can say. */
  readonly kept?: Promise<boolean | undefined> | undefined;
}

/** One service's reports of a round: what they cost, and what became of them. */
export interface Receipt extends Omit<Entry, "epsilon"> {
  readonly epsilon: number;
  /** Whether the reports had been drawn before; then what was handed over now was not looked at. */
  readonly again: boolean;
}

/** What a flush achieved: acknowledged, still waiting, refused by the collector; and why something waits. */
export interface Delivery {
  readonly sent: number;
  readonly pending: number;
  readonly rejected: number;
  readonly problem?: TacitError;
}

export interface Budget {
  readonly cap: number;
  readonly spent: number;
  readonly left: number;
  /** Days of the cap's period, and the day on which the oldest charge stops counting; absent without a period. */
  readonly days?: number;
  readonly renews?: string;
}

const FLUSH_SECONDS = 10;

export interface Client<S extends Services = Services> {
  /** Report a person's row in a service that has exactly one. The first call of a round counts, later ones are kept. */
  record<Name extends Named<S["one"]>>(service: Name, row: S["one"][Name]): Promise<Receipt>;
  /** Report a person's current rows, none or many, once a round: the number of reports is always the same. */
  rows<Name extends Named<S["all"]>>(service: Name, rows: readonly S["all"][Name][]): Promise<Receipt>;
  /**
   * Show what will leave for a row (or rows), and what it tells. The report is drawn, charged and kept, but does not
   * leave before `record` or `rows` is called: drawing again until one likes the result would give the row away.
   */
  preview<Name extends Named<S["all"]>>(service: Name, raw: S["all"][Name] | readonly S["all"][Name][]): Promise<Preview>;
  /** Send what waits, with retries, for some seconds; only a request that was under way may take longer. */
  flush(options?: { seconds?: number }): Promise<Delivery>;
  /**
   * Delete this person's reports of this collector here, and there. The spent budget stays spent; the rounds are over for
   * them. A token is for one collection: deletions in others wait until a client of those delivers.
   */
  forget(options?: { seconds?: number }): Promise<Delivery>;
  /** What this person may spend over all services, rounds and collectors of this store, and has. */
  budget(): Promise<Budget>;
  /** Whether the browser promised not to clear the wallet by itself; undefined outside of browsers. */
  isKept(): Promise<boolean | undefined>;
  /** All receipts of this person, oldest first. */
  history(): Promise<Receipt[]>;
  /** Stop sending. What waits is kept, and sent by the next client of this person. */
  close(): void;
}

export function createClient(parts: Parts): Client {
  const { address, interpreter, wallet, draws, clock, patience, period, timeout } = parts;
  const { url, collection, round = "" } = address;
  const services = [...interpreter.services.keys()];
  const stops: (() => void)[] = [];
  let failures = 0;
  let running: Promise<Attempt> | undefined;
  let stopRetry = (): void => undefined;

  const today = (): string => dateOf(clock.now() / 86_400_000);

  const claimOf = (service: string, held = false): Claim => ({
    url, collection, round, tier: interpreter.contract.tier ?? "", service, services: services.join(), held,
    epsilon: spending(interpreter.service(service)), day: today(),
  });

  const ask = (most: number): Promise<Outcome | undefined> =>
    askReceipts(wallet, address, services.map((service) => claimOf(service)), most);

  async function take(service: string, rows: readonly Row[], held = false, single = false): Promise<Receipt> {
    const rules = interpreter.service(service);
    if (single) rules.needOneToOne();
    const claim = claimOf(service, held);
    const { entries, forgotten } = await wallet.read();
    const own = entries.find(isOf(claim));
    const isNew = own ? own.held && !held : !forgotten.includes(collection); // what a preview held may be sent elsewhere
    const asked = !(isNew && address.token && await ask(timeout));
    const drawn = isNew ? await parts.assigned?.(rules) : undefined;
    const { entry, again } = await wallet.take(claim, () => {
      rules.check(rows);
      const shown = rows.map((row) => publicText(rules.data, row)); // only services with exactly one row have any
      return rules.encode(rows, drawn ?? draws(rules.draws)).map((codes, slot) =>
        `{"person":${address.person},"service":${JSON.stringify(service)},"slot":${slot},"codes":[${codes.join()}]${shown[0] ?? ""}}`);
    }, asked);
    return receiptOf(entry, again);
  }

  /** Two callers share one delivery, so nothing is sent twice at a time. */
  function attempt(deadline = Infinity): Promise<Attempt> {
    const left = (): number => Math.max(1, Math.min(timeout, deadline - clock.now()));
    return running ??= deliver(wallet, address, left, () => ask(left()))
      .then((result) => {
        failures = result.problem ? failures + 1 : 0;
        return result;
      })
      .finally(() => running = undefined);
  }

  const waitAfter = ({ wait }: Attempt): number | undefined =>
    wait === undefined ? wait : Math.max(wait, backOff(failures, patience, draws));

  /** Try now, and again after failures. */
  async function attemptAndRetry(): Promise<void> {
    const result = await attempt().catch((): Attempt => ({ sent: 0, rejected: 0 })); // the next tick tries again
    const wait = waitAfter(result);
    stopRetry(); // another call may have waited for the same attempt
    if (wait !== undefined && stops.length) stopRetry = clock.after(wait, attemptAndRetry, true);
  }

  async function flush({ seconds = FLUSH_SECONDS }: { seconds?: number } = {}): Promise<Delivery> {
    const deadline = clock.now() + 1000 * seconds;
    let sent = 0;
    let rejected = 0;
    for (;;) {
      const result = await attempt(deadline);
      sent += result.sent;
      rejected += result.rejected;
      const pages = wallet.latest; // the attempt read it and wrote its results
      const pending = waiting({ ...pages, unasked: [] }, address).length + deletions(pages, address).length;
      const { problem } = result;
      const wait = problem ? waitAfter(result) : 0; // what came while another delivery ran is sent at once
      if (!pending || wait === undefined || clock.now() + wait >= deadline) {
        return { sent, rejected, pending, ...problem && pending && { problem: await tell(problem) } };
      }
      await new Promise<void>((resolve) => clock.after(wait, resolve));
    }
  }

  /** Return requests for what waits, from memory: a closing page cannot wait for its storage. */
  const lastWords = (): Envelope[] => batches(waiting(wallet.latest, address)).map((batch) => envelope(address, batch));

  if (period > 0) {
    stops.push(atTicks(clock, period, draws, attemptAndRetry));
    if (globalThis.document) stops.push(attachToPage(lastWords, attemptAndRetry));
  }
  return {
    record: (service, row) => told(take(service, [row], false, true)),
    rows: (service, rows) => told(take(service, rows)),
    async preview(service, raw) {
      const { explain } = await import("./preview.js"); // before anything is drawn: few apps show it, and it may be missing
      const { reports, epsilon } = await told(take(service, (Array.isArray(raw) ? raw : [raw]) as Row[], true));
      return explain(interpreter, service, raw, epsilon, reports.flatMap(({ body }) => body || []));
    },
    flush,
    async forget(options) {
      await wallet.forget(url, collection);
      await running?.catch(() => undefined); // reports under way arrive first
      return flush(options);
    },
    async budget() {
      const pages = await wallet.read();
      const { days } = wallet;
      const [cap, used] = [wallet.cap, spent(wallet.counted(pages, today()))].map(toNumber) as [number, number];
      const renews = wallet.renews(pages, today());
      return { cap, spent: used, left: Math.max(0, cap - used), ...days && { days }, ...renews && { renews } };
    },
    isKept: async () => parts.kept,
    history: async () => (await wallet.read()).entries.map((entry) => receiptOf(entry, true)),
    close() {
      stopRetry();
      stops.splice(0).forEach((stop) => stop());
    },
  };
}

function receiptOf(entry: Entry, again: boolean): Receipt {
  return { ...entry, again, epsilon: toNumber(exact(entry.epsilon)) };
}
