/**
 * The class apps hold: one person, one round. It draws a report once, keeps it, and sends it until it is acknowledged.
 */
import { spending } from "./audit.js";
import type { TacitError } from "./errors.js";
import { exact, toNumber } from "./exact.js";
import type { Interpreter, Row, Service } from "./interpreter.js";
import { type Meaning, meaningOf } from "./meaning.js";
import { type Address, type Attempt, batches, deletions, deliver, type Envelope, envelope, waiting } from "./outbox.js";
import { publicText } from "./person.js";
import type { Draws } from "./randomness.js";
import { askReceipts } from "./receipts.js";
import { guarantee, NOTHING_LEAVES } from "./sentences.js";
import type { Named, Services } from "./services.js";
import { atTicks, backOff, type Clock, type Patience } from "./time.js";
import { type Claim, type Entry, spent, type Wallet } from "./wallet.js";

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
  readonly assigned?: (rules: Service) => Promise<number[]>;
  /** Whether the browser promised to keep the wallet; undefined where nobody can say. */
  readonly kept?: Promise<boolean | undefined>;
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

/** A row, the exact bytes to be sent for it, and what anyone can learn from them. */
export interface Preview {
  readonly raw: unknown;
  /** The exact text of each report. */
  readonly leaves: readonly string[];
  readonly epsilon: number;
  /** What a certainty of one half about any fact can become at most. */
  readonly certainty: number;
  /** The guarantee in words: first what is sent unchanged, then what the noise hides. */
  readonly sentence: string;
  readonly meanings: readonly Meaning[];
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

export class Client<S extends Services = Services> {
  readonly #parts: Parts;
  #failures = 0;
  #running: Promise<Attempt> | undefined;
  readonly #stops: (() => void)[] = [];
  #stopRetry = (): void => undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { clock, period, draws } = parts;
    if (period > 0) this.#stops.push(atTicks(clock, period, draws, () => void this.attemptAndRetry()));
  }

  /** Report a person's row in a service that has exactly one. The first call of a round counts, later ones are kept. */
  async record<Name extends Named<S["one"]>>(service: Name, row: S["one"][Name]): Promise<Receipt> {
    this.#parts.interpreter.service(service).needOneToOne();
    return this.#take(service, [row], false);
  }

  /** Report a person's current rows, none or many, once a round: the number of reports is always the same. */
  async rows<Name extends Named<S["all"]>>(service: Name, rows: readonly S["all"][Name][]): Promise<Receipt> {
    return this.#take(service, rows, false);
  }

  /**
   * Show what will leave for a row (or rows), and what it tells. The report is drawn, charged and kept, but does not
   * leave before `record` or `rows` is called: drawing again until one likes the result would give the row away.
   */
  async preview<Name extends Named<S["all"]>>(
    service: Name, raw: S["all"][Name] | readonly S["all"][Name][],
  ): Promise<Preview> {
    const rules = this.#parts.interpreter.service(service);
    const { reports, epsilon } = await this.#take(service, (Array.isArray(raw) ? raw : [raw]) as Row[], true);
    const certainty = 1 / (1 + Math.exp(-epsilon));
    const leaves = reports.flatMap(({ body }) => body || []);
    const meanings = leaves.flatMap((body, slot) => {
      const { codes } = JSON.parse(body) as { codes: number[] };
      return codes.map((code, i) => meaningOf(rules, rules.channels[i]!, slot, code));
    });
    const sentence = leaves.length ? guarantee(this.#parts.interpreter.contract, rules.data).join(" ") : NOTHING_LEAVES;
    return { raw, epsilon, certainty, meanings, leaves, sentence };
  }

  /** Send what waits, with retries, for some seconds; only a request that was under way may take longer. */
  async flush({ seconds = FLUSH_SECONDS }: { seconds?: number } = {}): Promise<Delivery> {
    const { clock, wallet, address } = this.#parts;
    const deadline = clock.now() + 1000 * seconds;
    let [sent, rejected] = [0, 0];
    for (;;) {
      const attempt = await this.#attempt(deadline);
      sent += attempt.sent;
      rejected += attempt.rejected;
      const pages = wallet.latest; // the attempt read it and wrote its results
      const pending = waiting({ ...pages, unasked: [] }, address).length + deletions(pages, address).length;
      const { problem } = attempt;
      const wait = problem ? this.#waitAfter(attempt) : 0; // what came while another delivery ran is sent at once
      if (!pending || wait === undefined || clock.now() + wait >= deadline) {
        return { sent, rejected, pending, ...(problem && pending ? { problem } : {}) };
      }
      await new Promise<void>((resolve) => clock.after(wait, resolve));
    }
  }

  /**
   * Delete this person's reports of this collector here, and there. The spent budget stays spent; the rounds are over for
   * them. A token is for one collection: deletions in others wait until a client of those delivers.
   */
  async forget(options: { seconds?: number } = {}): Promise<Delivery> {
    await this.#parts.wallet.forget(this.#parts.address.url, this.#parts.address.collection);
    await this.#running?.catch(() => undefined); // reports under way arrive first
    return this.flush(options);
  }

  /** What this person may spend over all services, rounds and collectors of this store, and has. */
  async budget(): Promise<Budget> {
    const { wallet } = this.#parts;
    const pages = await wallet.read();
    const [cap, used] = [wallet.cap, spent({ entries: wallet.counted(pages, this.#today()) })].map(toNumber) as [number, number];
    const renews = wallet.renews(pages, this.#today());
    return {
      cap, spent: used, left: Math.max(0, cap - used),
      ...(wallet.days ? { days: wallet.days } : {}), ...(renews ? { renews } : {}),
    };
  }

  /** Whether the browser promised not to clear the wallet by itself; undefined outside of browsers. */
  async isKept(): Promise<boolean | undefined> {
    return this.#parts.kept;
  }

  /** All receipts of this person, oldest first. */
  async history(): Promise<Receipt[]> {
    return (await this.#parts.wallet.read()).entries.map((entry) => receiptOf(entry, true));
  }

  /** Stop sending. What waits is kept, and sent by the next client of this person. */
  close(): void {
    this.#stopRetry();
    this.#stops.splice(0).forEach((stop) => stop());
  }

  /** @internal Have something called off with the client. */
  onClose(stop: () => void): void {
    this.#stops.push(stop);
  }

  /** @internal Return requests for what waits, from memory: a closing page cannot wait for its storage. */
  lastWords(): Envelope[] {
    const { wallet, address } = this.#parts;
    return batches(waiting(wallet.latest, address)).map((batch) => envelope(address, batch));
  }

  /** @internal Try now, and again after failures. */
  async attemptAndRetry(): Promise<void> {
    const attempt = await this.#attempt().catch((): Attempt => ({ sent: 0, rejected: 0 })); // the next tick tries again
    const wait = this.#waitAfter(attempt);
    this.#stopRetry(); // another call may have waited for the same attempt
    if (wait !== undefined && this.#stops.length) {
      this.#stopRetry = this.#parts.clock.after(wait, () => void this.attemptAndRetry(), true);
    }
  }

  async #take(service: string, rows: readonly Row[], held: boolean): Promise<Receipt> {
    const { address, interpreter, wallet, draws, timeout } = this.#parts;
    const rules = interpreter.service(service);
    const asked = !address.token || wallet.isAsked(await wallet.read(), address.collection) || !await this.#ask(timeout);
    const claim = this.#claim(service, held);
    const assign = this.#parts.assigned;
    const drawn = assign && !wallet.isDrawn(await wallet.read(), claim) ? await assign(rules) : undefined;
    const { entry, again } = await wallet.take(claim, () => {
      rules.check(rows);
      const shown = rows.map((row) => publicText(rules, row)); // only services with exactly one row have any
      return rules.encode(rows, drawn ?? draws(rules.draws)).map((codes, slot) =>
        `{"person":${address.person},"service":${JSON.stringify(service)},"slot":${slot},"codes":[${codes.join()}]` +
        `${rules.publicColumns.length ? shown[0] : ""}}`);
    }, asked);
    return receiptOf(entry, again);
  }

  #today(): string {
    return new Date(this.#parts.clock.now()).toISOString().slice(0, 10);
  }

  #claim(service: string, held: boolean): Claim {
    const { address: { url, collection, round = "" }, interpreter } = this.#parts;
    const { tier = "" } = interpreter.contract;
    const services = [...interpreter.services.keys()].join();
    const epsilon = spending(interpreter.service(service));
    return { url, collection, round, tier, service, services, held, epsilon, day: this.#today() };
  }

  #ask(timeout: number): ReturnType<typeof askReceipts> {
    const { wallet, address, interpreter } = this.#parts;
    const claims = [...interpreter.services.keys()].map((service) => this.#claim(service, false));
    return askReceipts(wallet, address, claims, timeout);
  }

  /** Two callers share one delivery, so nothing is sent twice at a time. */
  #attempt(deadline = Infinity): Promise<Attempt> {
    const { wallet, address, clock, timeout } = this.#parts;
    const left = (): number => Math.max(1, Math.min(timeout, deadline - clock.now()));
    this.#running ??= deliver(wallet, address, left, () => this.#ask(left()))
      .then((attempt) => {
        this.#failures = attempt.problem ? this.#failures + 1 : 0;
        return attempt;
      })
      .finally(() => this.#running = undefined);
    return this.#running;
  }

  #waitAfter(attempt: Attempt): number | undefined {
    if (attempt.wait === undefined) return undefined;
    return Math.max(attempt.wait, backOff(this.#failures, this.#parts.patience, this.#parts.draws));
  }
}

function receiptOf(entry: Entry, again: boolean): Receipt {
  return { ...entry, again, epsilon: toNumber(exact(entry.epsilon)) };
}
