/** Collections that belong together. */
import type { Listed } from "./api.js";

/** A round: its tiers are alternatives, from the most careful one on. */
export interface Round {
  readonly services: readonly string[];
  readonly round: string;
  readonly tiers: readonly Listed[];
}

/** Sort what is collected into rounds, the newest first. */
export function roundsOf(listed: readonly Listed[]): Round[] {
  const found = new Map<string, Listed[]>();
  for (const one of listed) {
    const name = JSON.stringify([one.services, one.round]);
    found.set(name, [...(found.get(name) ?? []), one]);
  }
  return [...found.values()].reverse().map((tiers) => ({
    services: tiers[0]!.services, round: tiers[0]!.round, tiers: [...tiers].sort((a, b) => a.epsilon - b.epsilon),
  }));
}
