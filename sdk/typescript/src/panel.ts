/**
 * Rotating panels: who is asked in which rounds, by a public coin that devices and collectors compute alike.
 * `docs/panels.md` describes it; `tests/vectors/v2/panel.json` fixes it.
 */
import type { Contract } from "./contract.js";
import { UsageError } from "./errors.js";
import type { Person } from "./person.js";

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

/** Return the round of a panel that a person reports to; refuse a round in which the person is not asked. */
export async function turnOf(contract: Contract, text: string, round: number, person: Person, hash: Hash): Promise<Turn> {
  const { panel, rounds = 0 } = contract;
  if (!(Number.isInteger(round) && 1 <= round && round <= rounds)) {
    throw new UsageError("round is not the number of a panel's round, from 1 on.", "no-such-round");
  }
  if (!(await assignedRounds(contract, person, hash)).includes(round)) {
    throw new UsageError("This person is not asked in this round of the panel.", "not-asked");
  }
  const digits = String(rounds).length;
  return { collection: await hash(text + round), round: `${panel}/${String(round).padStart(digits, "0")}` };
}
