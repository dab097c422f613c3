/** Which contracts a person has seen: a changed one is compared in words before anything is encoded by it. */
import { indexedDBStore } from "@tacit/client";
import { type Child, h } from "../shared/dom.js";
import type { Round } from "../shared/rounds.js";
import { type Contract, sentences } from "../shared/words.js";

const SEEN = "tacit.seen";

type Seen = Record<string, string>;

const nameOf = (round: Round, tier: string): string => JSON.stringify([round.services, tier]);

const read = (): Seen => JSON.parse(localStorage.getItem(SEEN) ?? "{}") as Seen;

/** Remember that the person has seen a round's contracts. */
export function accept(round: Round): void {
  const seen = Object.fromEntries(round.tiers.map(({ tier, id }) => [nameOf(round, tier), id]));
  localStorage.setItem(SEEN, JSON.stringify({ ...read(), ...seen }));
}

/** Return what changed since the person's last visit, as lines taken away and lines added; nothing if nothing did. */
export async function changes(round: Round, tier: string, now: Contract): Promise<{ gone: string[]; came: string[] } | undefined> {
  const [before, current] = [read()[nameOf(round, tier)], round.tiers.find((one) => one.tier === tier)!.id];
  if (before === undefined || before === current) return undefined;
  const kept = await indexedDBStore().read(`contract/${before}`);
  const [old, fresh] = [kept ? sentences(JSON.parse(kept) as Contract) : [], sentences(now)];
  return { gone: old.filter((line) => !fresh.includes(line)), came: fresh.filter((line) => !old.includes(line)) };
}

export function changesView({ gone, came }: { gone: string[]; came: string[] }, onread: () => void): Child[] {
  const lines = (name: "del" | "ins", texts: string[]): HTMLElement[] => texts.map((text) => h("li", {}, h(name, {}, text)));
  return [
    h("h2", {}, "The contract has changed since your last visit"),
    gone.length + came.length
      ? h("ul", {}, ...lines("del", gone), ...lines("ins", came))
      : h("p", {}, "It collects the same things: it is another round, or its internal layout differs."),
    h("button", { type: "button", class: "main", onclick: onread }, "I have read this"),
  ];
}
