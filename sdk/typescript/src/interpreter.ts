/**
 * Follow a contract for one person: integers in, integers out. The same structure as `tacit.client.interpreter`.
 *
 * It knows no formula for a probability, and its codes equal those of the Python encoders for the same draws.
 */
import { type Channel, channelOf } from "./channel.js";
import { type Contract, levelsOf, needLabel, readContract, type ServiceData, widthsOf } from "./contract.js";
import { need, needContract, RandomnessError, RecordError, UnknownNameError } from "./errors.js";
import { BITS } from "./randomness.js";
import { columnOf, isDithered, type Known, type Read } from "./record.js";
import { type Limits, limits } from "./views.js";
import { isWhole, power } from "./whole.js";

/** Values by column name: numbers, text, dates as text like 2026-11-15, null where the contract declares it. */
export type Row = Readonly<Record<string, unknown>>;

/** The values of dictionaries, by the SHA-256 of their files. */
export type Lists = Readonly<Record<string, readonly string[]>>;

/** Encodes people's rows by the thresholds of a contract. */
export class Interpreter {
  readonly contract: Contract;
  readonly services: ReadonlyMap<string, Service>;

  /** `bits` differs from 53 only in tests that exhaust all draws. */
  constructor(text: string, bits = BITS, lists: Lists = {}) {
    this.contract = readContract(text, bits);
    const left = limits();
    this.services = new Map(this.contract.services.map((data) => [data.name, serviceOf(data, power(2, bits), left, lists)]));
  }

  service(name: string): Service {
    const service = this.services.get(name);
    if (!service) throw new UnknownNameError([...this.services.keys()]);
    return service;
  }
}

/** One service's rules. */
export interface Service {
  readonly data: ServiceData;
  /** Sensitive attributes, then derived ones. */
  readonly attributes: readonly Known[];
  readonly channels: readonly Channel[];
  /** Reports a person sends. */
  readonly sends: number;
  /** Draws that a person's reports consume. */
  readonly draws: number;
  /** Cells beside those of rows: none, and skip. */
  readonly extras: number;
  readonly needOneToOne: () => void;
  /** Refuse rows that cannot be reported; nothing is drawn for it. */
  readonly check: (rows: readonly Row[]) => void;
  /** Return the codes of each slot, one for each channel: as many whatever the number of rows. */
  readonly encode: (rows: readonly Row[], draws: readonly number[]) => number[][];
}

function serviceOf(data: ServiceData, span: number, left: Limits, lists: Lists): Service {
  const { name, at_most: most = 0, sends = 1, derived = [] } = data;
  const atMost = most || 1;
  const extras = most || data.optional ? Math.min(atMost, 2) : 0;
  const declared = data.attributes.filter(({ kind }) => kind !== "public");
  needLabel(data.layout);
  needLabel(data.why ?? "-", 1);
  const levels = declared.map((attribute, i) => levelsOf(attribute, data.levels[i]));
  needContract(JSON.stringify(levels) === JSON.stringify(data.levels), "bad-levels");
  const sensitive = declared.map((attribute, i): Known => {
    const values = attribute.values ?? lists[attribute.dictionary!];
    return { ...attribute, ...levels[i]!, ...values && { values } };
  });
  const columns = sensitive.map((attribute) => columnOf(name, attribute));
  const attributes = [...sensitive, ...derivedLevels()];
  needContract(data.channels.length <= 1000, "too-many-channels");
  const channels = data.channels.map((channel) => channelOf(channel, attributes, extras, span, left));
  const ownDraws = sensitive.filter(isDithered).length + derived.length;
  const reportDraws = channels.reduce((total, channel) => total + channel.draws, ownDraws);
  const total = sends * (reportDraws + (most ? 1 : 0));
  needContract(total <= 1_000_000, "too-many-draws");

  /** Return the levels of derived attributes: of rounded ones (two values) or those in a doubled domain. */
  function derivedLevels(): Known[] {
    needContract(derived.every(([, kind]) => (kind as string) !== "pair"), "not-for-clients");
    for (const [source, kind] of derived) {
      const { count = 0, ticks, null: missing } = sensitive[source] ?? {};
      const possible = count > 1 && ticks && !missing && !extras && /^(round|embed)$/.test(kind);
      needContract(possible && kind === derived[0]![1], "bad-derived");
    }
    needContract(new Set(derived.map(([source]) => source)).size === derived.length, "bad-derived");
    return derived.map(([source, kind]) => {
      const { name, count: values, fanout } = sensitive[source]!;
      const [count, by] = kind === "round" ? [2, 2] : [2 * values, fanout!];
      return { name: `${kind}(${name})`, kind: "ordinal", count, widths: widthsOf(count, by) };
    });
  }

  function needTaken(condition: unknown, code: string, takes: string): void {
    if (!condition) throw new RecordError(code, takes, name);
  }

  /** Read all rows, those that are not drawn, too; fillers behind them: up to at_most, and in powers of two beyond. */
  function readAll(rows: readonly Row[]): Read[][] {
    let count = atMost;
    while (count < rows.length) count *= 2;
    const filler = Object.fromEntries(columns.map((column, i) => [sensitive[i]!.name, column.filler]));
    return Array.from({ length: count }, (_, i) => columns.map((column) => column.read(rows[i] ?? filler)));
  }

  /** Return a different place for each slot: rows stand at the first ones. */
  function placesOf(rows: number, draws: readonly number[]): number[] {
    const chosen: number[] = [];
    draws.forEach((draw, slot) => {
      let place = draw % (Math.max(rows, atMost) - slot);
      for (const taken of [...chosen].sort((a, b) => a - b)) if (place >= taken) place++;
      chosen.push(place);
    });
    return chosen;
  }

  /** Return a row's value indices, those of derived attributes behind them. */
  function valuesOf(read: readonly Read[], dither: number[]): number[] {
    const values = columns.map((column, i) => column.index(read[i]!, isDithered(sensitive[i]!) ? dither.shift()! : 0));
    for (const [source, kind] of derived) {
      const { count } = sensitive[source]!;
      const value = values[source]!;
      const up = dither.shift()! % (count - 1) < value ? 1 : 0;
      values.push(kind === "round" ? up : count - 1 - value + up * (2 * value + 1));
    }
    return values;
  }

  return {
    data, attributes, channels, sends, extras, draws: total,
    needOneToOne: () => needTaken(!extras, "not-one-to-one", "a list of rows"),
    check(rows) {
      need(Array.isArray(rows) && rows.every((row) => typeof row === "object" && row), "not-rows", name);
      const fits = most || rows.length === 1 || (!rows.length && extras);
      needTaken(fits, "duplicate-key", `${extras ? "at most " : ""}one row`);
      readAll(rows);
    },
    encode(rows, draws) {
      needTaken(draws.length === total, "wrong-draws", `${total} draws`);
      if (!draws.every((draw) => isWhole(draw, 0, span - 1))) throw new RandomnessError("randomness");
      const read = readAll(rows);
      const left = [...draws];
      const places = most ? placesOf(rows.length, left.splice(0, sends)) : [0];
      return places.map((place) => {
        const values = valuesOf(read[place]!, left.splice(0, ownDraws));
        return channels.map(({ draws, encode }) =>
          encode(values, place < rows.length, rows.length ? 1 : 0, left.splice(0, draws)));
      });
    },
  };
}
