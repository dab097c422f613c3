/**
 * What is assigned to a person: rounds of a panel, by a public coin that devices and collectors compute alike, and views
 * and seeds, by a coin of the collector. A file of its own, loaded for contracts that say so.
 * `docs/panels.md` and `docs/assigned.md` describe it; `tests/vectors/v2` fixes it.
 */
import type { Contract } from "./contract.js";
import type { Service } from "./interpreter.js";
import type { Address } from "./outbox.js";
import type { Person } from "./person.js";
import { drawOfWords } from "./randomness.js";
import type { Store } from "./store.js";
import type { Outcome } from "./transport.js";

/** A round of a panel: its id, and its name. */
export interface Turn {
  readonly collection: string;
  readonly round: string;
}

export type Hash = (text: string) => Promise<string>;

/** Return the rounds, from 1 on, in which a person is asked. */
export async function assignedRounds({ panel, rounds, reports }: Contract, person: Person, hash: Hash): Promise<number[]> {
  const places = Array.from({ length: rounds! }, (_, i) => i + 1);
  for (let j = 0; j < reports!; j++) {
    const mark = typeof person === "string" ? "t" : "n";
    const word = parseInt((await hash(`tacit panel\0${panel}\0${mark}${person}\0${j}`)).slice(0, 12), 16);
    const i = j + word % (rounds! - j);
    [places[j], places[i]] = [places[i]!, places[j]!];
  }
  return places.slice(0, reports).sort((a, b) => a - b);
}

/** Return the round of a panel that a person reports to, or the code of an error if there is none. */
export async function turnOf(contract: Contract, text: string, round: unknown, person: Person, hash: Hash): Promise<Turn | string> {
  const { panel, rounds = 0 } = contract;
  if (!(Number.isInteger(round) && 1 <= (round as number) && (round as number) <= rounds)) return "no-such-round";
  if (!(await assignedRounds(contract, person, hash)).includes(round as number)) return "not-asked";
  const digits = String(rounds).length;
  return { collection: await hash(`${text}${round}`), round: `${panel}/${String(round).padStart(digits, "0")}` };
}

/** Return a person's coin: kept from before, or asked for and kept; undefined if what came is none. */
export async function coinOf(store: Store, { collection, person }: Address, ask: () => Promise<Outcome>): Promise<string | undefined> {
  const name = `coin/${collection}/${person}`;
  const kept = await store.read(name);
  if (kept) return kept;
  const { answer, problem } = await ask();
  if (problem) throw problem;
  const { coin } = Object(answer) as { coin?: unknown };
  if (typeof coin !== "string" || !/^[0-9a-f]{32}$/.test(coin)) return undefined;
  await store.update(name, () => coin);
  return coin;
}

/** Replace the draws of places, views and seeds by those that a person's coin assigns: see docs/wire.md. */
export async function assign({ data, channels, sends, draws: count }: Service, draws: number[], coin: string, hash: Hash): Promise<number[]> {
  const places = data.at_most ? 1 : 0;
  const before = channels.reduce((left, channel) => left - channel.draws, count / sends - places);
  let at = 0;
  const put = async (count: number, ...parts: readonly (string | number)[]): Promise<void> => {
    const words = (await hash([coin, ...parts].join("\0"))).match(/.{8}/g)!.map((word) => parseInt(word, 16));
    for (let i = 0; i < count; i++) draws[at + i] = drawOfWords(words[2 * i]!, words[2 * i + 1]!);
  };
  for (; at < places * sends; at++) await put(1, "place", data.name, at);
  for (let slot = 0; slot < sends; slot++) {
    at += before;
    for (const [i, channel] of channels.entries()) {
      await put(2, "view", data.name, slot, i);
      at += channel.draws;
    }
  }
  return draws;
}
