/** The second guarantee: what readers of answers learn, who do not see reports. */
import { get, Problem, replyOf } from "./api.js";
import { atMost, certainty, number } from "./numbers.js";

export interface Central {
  readonly epsilon: number | null;
  readonly delta: string;
  readonly people: number;
  readonly reason: string;
}

/** Return what everybody learns who sees answers and no reports. */
export function readersText({ epsilon, delta, people, reason }: Central): string {
  if (epsilon === null) return `Everybody else, who sees answers only: no better limit is claimed, because ${reason}`;
  const [top = "0", bottom = "1"] = delta.split("/");
  return `Everybody else, who sees answers only: from 50\u00a0% to at most ${certainty(epsilon)} (central ε = ${atMost(epsilon)}), ` +
    `but for a chance of ${number(Number(top) / Number(bottom), 2)}. There a person hides among ${number(people, 12)} people.`;
}

/** Ask the collector what answers about a collection tell readers by now; empty if it does not say. */
export async function readersOf(id: string): Promise<string> {
  const found = await replyOf(get<{ readonly central?: Central }>(`/v1/collections/${encodeURIComponent(id)}/audit`));
  return found instanceof Problem || !found.central ? "" : readersText(found.central).replace(/ With tacit serve .*/, ""); // said to operators
}
