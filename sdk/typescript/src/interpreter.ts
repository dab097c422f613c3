/**
 * Follow a contract for one person: integers in, integers out. The same structure as `tacit.client.interpreter`.
 *
 * It knows no formula for a probability, and its codes equal those of the Python encoders for the same draws.
 */
import {
  type Attribute, type ChannelData, type Contract, levelsOf, needBudget, needLabel, readContract, type ServiceData,
  widthsOf,
} from "./contract.js";
import { needContract, RandomnessError, RecordError, UnknownNameError, UsageError } from "./errors.js";
import { BITS, drawOfWords } from "./randomness.js";
import { Column, isDithered, type Known, type Read } from "./record.js";
import { type Step, stepOf } from "./steps.js";
import { type Limits, limits, readViews } from "./views.js";
import { isWhole, power, product, quotient } from "./whole.js";

/** Values by column name: numbers, text, dates as text like 2026-11-15, null where the contract declares it. */
export type Row = Readonly<Record<string, unknown>>;

/** The values of dictionaries, by the SHA-256 of their files. */
export type Lists = Readonly<Record<string, readonly string[]>>;

/** Encodes people's rows by the thresholds of a contract. */
export class Interpreter {
  readonly contract: Contract;
  readonly services: ReadonlyMap<string, Service>;

  /** `bits` differs from 53 only in tests that exhaust all draws. */
  constructor(text: string, bits = BITS, readonly lists: Lists = {}) {
    this.contract = readContract(text, bits);
    const left = limits();
    this.services = new Map(this.contract.services.map((data) => [data.name, new Service(data, power(2, bits), left, lists)]));
  }

  service(name: string): Service {
    const service = this.services.get(name);
    if (!service) throw new UnknownNameError("service", [...this.services.keys()]);
    return service;
  }

  /** Return how many draws a person's reports to a service consume, whatever they have to report. */
  draws(service: string): number {
    return this.service(service).draws;
  }

  /** Return the code of each channel, for a service with one row per person. */
  encode(service: string, row: Row, draws: readonly number[]): number[] {
    const rules = this.service(service);
    rules.needOneToOne();
    return rules.encode([row], draws)[0]!;
  }

  /** Return the codes of each slot, one for each channel: as many whatever the number of rows. */
  encodeRows(service: string, rows: readonly Row[], draws: readonly number[]): number[][] {
    const rules = this.service(service);
    rules.check(rows);
    return rules.encode(rows, draws);
  }
}

/** One service's rules. */
export class Service {
  readonly name: string;
  /** Sensitive attributes, then derived ones. */
  readonly attributes: readonly Known[];
  readonly channels: readonly Channel[];
  /** Reports a person sends. */
  readonly sends: number;
  /** Draws that a person's reports consume. */
  readonly draws: number;
  /** Cells beside those of rows: none, and skip. */
  readonly extras: number;
  readonly publicColumns: readonly string[];
  /** What each public column declares. */
  readonly shown: readonly Attribute[];
  readonly #sensitive: readonly Known[];
  readonly #columns: readonly Column[];
  readonly #many: boolean;
  readonly #atMost: number;
  readonly #ownDraws: number;
  readonly #reportDraws: number;
  readonly data: ServiceData;
  readonly #span: number;

  constructor(data: ServiceData, span: number, left: Limits, lists: Lists) {
    this.data = data;
    this.#span = span;
    this.name = data.name;
    const sensitive = data.attributes.filter((attribute) => attribute.kind !== "public");
    needLabel(data.layout);
    needLabel(data.why ?? "-", 1);
    const levels = sensitive.map((attribute, i) => levelsOf(attribute, data.levels[i]));
    needContract(JSON.stringify(levels) === JSON.stringify(data.levels), "bad-levels");
    this.#sensitive = sensitive.map((attribute, i) => {
      const values = attribute.values ?? lists[attribute.dictionary!];
      return { ...attribute, ...levels[i]!, ...(values ? { values } : {}) };
    });
    this.#columns = this.#sensitive.map((attribute) => new Column(data.name, attribute));
    this.shown = data.attributes.filter(({ kind }) => kind === "public");
    this.publicColumns = this.shown.map(({ name }) => name);
    this.#many = data.at_most !== undefined;
    this.#atMost = data.at_most ?? 1;
    this.sends = data.sends ?? 1;
    this.extras = this.#many || data.optional ? Math.min(this.#atMost, 2) : 0;
    const derived = this.#derivedLevels();
    this.attributes = [...this.#sensitive, ...derived];
    needContract(data.channels.length <= 1000, "too-many-channels");
    this.channels = data.channels.map((channel) => new Channel(channel, this.attributes, this.extras, span, left));
    this.#ownDraws = this.#sensitive.filter(isDithered).length + derived.length;
    this.#reportDraws = this.channels.reduce((total, channel) => total + channel.draws, this.#ownDraws);
    this.draws = this.sends * (this.#reportDraws + (this.#many ? 1 : 0));
    needContract(this.draws <= 1_000_000, "too-many-draws");
  }

  /** Return the levels of derived attributes: of rounded ones (two values) or those in a doubled domain. */
  #derivedLevels(): Known[] {
    const derived = this.data.derived ?? [];
    needContract(derived.every(([, kind]) => (kind as string) !== "pair"), "not-for-clients");
    for (const [source, kind] of derived) {
      const { count = 0, ticks, null: missing } = this.#sensitive[source] ?? {};
      const possible = count > 1 && ticks && !missing && !this.extras && /^(round|embed)$/.test(kind);
      needContract(possible && kind === derived[0]![1], "bad-derived");
    }
    needContract(new Set(derived.map(([source]) => source)).size === derived.length, "bad-derived");
    return derived.map(([source, kind]) => {
      const { name, count: values, fanout } = this.#sensitive[source]!;
      const count = kind === "round" ? 2 : 2 * values;
      const widths = widthsOf(count, kind === "round" ? 2 : fanout!);
      return { name: `${kind}(${name})`, kind: "ordinal", count, widths };
    });
  }

  needOneToOne(): void {
    if (this.extras) {
      throw new RecordError("people may have any number of rows. Use rows with a list.", "not-one-to-one", this.name);
    }
  }

  /** Refuse rows that cannot be reported; nothing is drawn for it. */
  check(rows: readonly Row[]): void {
    if (!Array.isArray(rows) || rows.some((row) => typeof row !== "object" || row === null)) {
      throw new UsageError(`${this.name}: rows are objects with a value for each column.`, "not-rows");
    }
    if (!this.#many && rows.length !== 1 && (rows.length || !this.extras)) {
      throw new RecordError("there must be one row, or at most one if it is optional.", "duplicate-key", this.name);
    }
    this.#read(rows);
  }

  /** Read all rows, those that are not drawn, too; fillers behind them: up to at_most, and in powers of two beyond. */
  #read(rows: readonly Row[]): Read[][] {
    let count = this.#atMost;
    while (count < rows.length) count *= 2;
    const filler = Object.fromEntries(this.#columns.map(({ attribute, filler }) => [attribute.name, filler]));
    return Array.from({ length: count }, (_, i) => this.#columns.map((column) => column.read(rows[i] ?? filler)));
  }

  encode(rows: readonly Row[], draws: readonly number[]): number[][] {
    if (draws.length !== this.draws) {
      throw new RecordError(`a person's reports take ${this.draws} draws.`, "wrong-draws", this.name);
    }
    if (!draws.every((draw) => Number.isInteger(draw) && 0 <= draw && draw < this.#span)) {
      throw new RandomnessError("A draw is not a whole number below 2**53.");
    }
    const read = this.#read(rows);
    const left = [...draws];
    const places = this.#many ? this.#places(rows.length, left.splice(0, this.sends)) : [0];
    return places.map((place) => {
      const dither = left.splice(0, this.#ownDraws);
      const values = this.#values(read[place]!, dither);
      const extra = rows.length ? 1 : 0;
      return this.channels.map((channel) =>
        channel.encode(values, place < rows.length, extra, left.splice(0, channel.draws)));
    });
  }

  /** Replace the draws of places, views and seeds by those that a person's coin assigns: see docs/wire.md. */
  async assign(draws: number[], coin: string, hash: (text: string) => Promise<string>): Promise<number[]> {
    let at = 0;
    const put = async (count: number, ...parts: readonly (string | number)[]): Promise<void> => {
      const words = (await hash([coin, ...parts].join("\0"))).match(/.{8}/g)!.map((word) => parseInt(word, 16));
      for (let i = 0; i < count; i++) draws[at + i] = drawOfWords(words[2 * i]!, words[2 * i + 1]!);
    };
    if (this.#many) for (; at < this.sends; at++) await put(1, "place", this.name, at);
    for (let slot = 0; slot < this.sends; slot++) {
      at += this.#ownDraws;
      for (const [i, { draws: count }] of this.channels.entries()) {
        await put(2, "view", this.name, slot, i);
        at += count;
      }
    }
    return draws;
  }

  /** Return a different place for each slot: rows stand at the first ones. */
  #places(rows: number, draws: readonly number[]): number[] {
    const chosen: number[] = [];
    draws.forEach((draw, slot) => {
      let place = draw % (Math.max(rows, this.#atMost) - slot);
      for (const taken of [...chosen].sort((a, b) => a - b)) if (place >= taken) place++;
      chosen.push(place);
    });
    return chosen;
  }

  /** Return a row's value indices, those of derived attributes behind them. */
  #values(read: readonly Read[], dither: readonly number[]): number[] {
    let used = 0;
    const values = this.#columns.map((column, i) => column.index(read[i]!, column.isDithered ? dither[used++]! : 0));
    for (const [source, kind] of this.data.derived ?? []) {
      const [count, value] = [this.#sensitive[source]!.count, values[source]!];
      const up = dither[used++]! % (count - 1) < value ? 1 : 0;
      values.push(kind === "round" ? up : count - 1 - value + up * (2 * value + 1));
    }
    return values;
  }
}

/** A view: its level of each attribute, the attributes it tells of, how it is drawn and the first of its codes. */
export interface View {
  readonly levels: readonly number[];
  readonly active: readonly number[];
  readonly step: Step;
  readonly offset: number;
}

/** One channel's views. */
export class Channel {
  readonly name: string;
  readonly epsilon: string;
  readonly draws: number;
  readonly views: readonly View[];
  /** Whether views have masks of bits for levels, and report their parity. */
  readonly parities: boolean;
  readonly #attributes: readonly Known[];
  readonly #extras: number;
  /** Weights of the views, added up. */
  readonly #weights: readonly number[] | undefined;

  constructor(data: ChannelData, attributes: readonly Known[], extras: number, span: number, left: Limits) {
    [this.#attributes, this.#extras] = [attributes, extras];
    ({ name: this.name, epsilon: this.epsilon, draws: this.draws } = data);
    needLabel(this.name);
    needBudget(this.epsilon);
    let [offset, answers, fits] = [0, 0, true];
    this.parities = data.views.parities !== undefined;
    const tops = attributes.map(({ widths, starts = [] }) => starts.length + widths.length);
    const sizesOf = attributes.map((attribute, i) => cellCount(attribute, tops[i]!));
    const { by_domain: domains, otherwise } = data;
    const steps = new Map<string, Step>(); // views of equal sizes share one
    const views = readViews(data.views, tops, sizesOf, extras, left);
    let total = 0;
    this.#weights = data.weights?.map((weight) => total += isWhole(weight, 1, 2 ** 20) ? weight : NaN);
    const possible = data.weights?.length === views.length && total <= 2 ** 20 && !(total & total - 1);
    needContract(!data.weights || possible, "bad-weights");
    this.views = views.map((levels) => {
      const below = levels.flatMap((level, i) => level ? [i] : []);
      const active = below.length ? below : [0];
      const sizes = this.parities ? [2] : active.map((i) => cellCount(attributes[i]!, levels[i]!));
      sizes[0]! += extras;
      let step = steps.get(`${sizes}`);
      if (!step) {
        const domain = product(sizes);
        needContract(domain < 2 ** 53, "codes-too-large");
        const entry = domains[domain] ?? otherwise;
        needContract(entry, "no-oracle");
        steps.set(`${sizes}`, step = stepOf(entry, sizes, span));
      }
      const view = { levels, active, step, offset };
      const codes = step.codes;
      fits &&= codes <= 2 ** 53 - offset; // the sum may be rounded
      offset += codes;
      answers = Math.max(answers, step.answers);
      return view;
    });
    needContract(fits, "codes-too-large");
    // With fewer draws than a view takes, or overlapping codes, a report would lose its noise or its meaning.
    needContract(data.draws === 2 + answers, "bad-draws");
    needContract(data.codes === offset, "bad-codes");
    const made = [...steps.values()];
    const digits = made.flatMap((step) => step.digits ?? []);
    const isUsed = (entries: object, numbers: readonly number[]): boolean =>
      `${Object.keys(entries)}` === `${[...new Set(numbers)].sort((a, b) => a - b)}`;
    const used = made.flatMap(({ entry, domain }) => entry === otherwise ? [] : [domain]);
    needContract(isUsed(domains, used) && isUsed(otherwise?.multipliers ?? {}, digits), "unused-entry");
    needContract(!otherwise || digits.length, "unused-entry");
  }

  /** Return the code of a row's values or, if it is none, of an extra cell: the same work in both cases. */
  encode(values: readonly number[], isRow: boolean, extra: number, [pick, ...draws]: readonly number[]): number {
    const weights = this.#weights;
    const number = weights ? weights.findIndex((upTo) => pick! % weights.at(-1)! < upTo) : pick! % this.views.length;
    const { levels, active, step, offset } = this.views[number]!;
    const cells = this.parities
      ? [parity(active.reduce((bits, i) => bits ^ values[i]! & levels[i]!, 0))]
      : active.map((i) => cellOf(this.#attributes[i]!, levels[i]!, values[i]!));
    const none = step.sizes.map((size, i) => i ? 0 : size - this.#extras + extra);
    return offset + step.draw(isRow ? cells : none, draws);
  }
}

/** Return whether the number of bits that are set is odd. */
function parity(bits: number): number {
  for (const by of [16, 8, 4, 2, 1]) bits ^= bits >> by;
  return bits & 1;
}

/** Return the number of cells of a level; NULL is one of its own below the root. */
export function cellCount(attribute: Known, level: number): number {
  return level === 0 ? 1 : cellAt(attribute, level, attribute.count - 1) + (attribute.null ? 2 : 1);
}

/** Return the cell of a value on a level below the root: the same work for every value. */
function cellAt({ widths, offsets, starts = [] }: Known, level: number, value: number): number {
  const run = level - 1 - starts.length;
  return run < 0 ? starts[level - 1]!.filter((start) => start <= value).length - 1
    : quotient(value + (offsets?.[run] ?? 0), widths[run]!);
}

/** Return the first value of a cell on a level below the root. */
export function firstOf({ widths, offsets, starts = [], count }: Known, level: number, cell: number): number {
  const run = level - 1 - starts.length;
  const first = run < 0 ? starts[level - 1]![cell] : Math.max(0, cell * widths[run]! - (offsets?.[run] ?? 0));
  return Math.min(first ?? count, count);
}

function cellOf(attribute: Known, level: number, value: number): number {
  if (level === 0) return 0;
  const [cell, last] = [cellAt(attribute, level, value), cellCount(attribute, level) - 1];
  return attribute.null && value === attribute.count ? last : cell;
}
