/** What a shared address holds: the question, its confidence, the row and the order of its tuples. */
export interface State {
  sql: string;
  confidence: number;
  /** The row of the answer whose tuples are shown: its columns of GROUP BY. */
  group: Record<string, unknown> | null;
  order: "size" | "value" | "person";
  descending: boolean;
  measure: number;
  offset: number;
}

export const LEVELS = [0.8, 0.9, 0.95, 0.99] as const;

export const START: State = {
  sql: "", confidence: 0.95, group: null, order: "size", descending: true, measure: 0, offset: 0,
};

/** Read the part of an address after #; what is not as it should be is left out. */
export function readState(fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...START, sql: given.get("q") ?? "" };
  const level = Number(given.get("c"));
  if (level > 0 && level < 1) state.confidence = level;
  const order = given.get("o");
  if (order === "value" || order === "person") state.order = order;
  if (given.get("d") === "0") state.descending = false;
  for (const [word, letter] of [["measure", "m"], ["offset", "p"]] as const) {
    const number = Number(given.get(letter));
    if (Number.isSafeInteger(number) && number > 0) state[word] = number;
  }
  try {
    const group: unknown = JSON.parse(given.get("g") ?? "null");
    if (group && typeof group === "object" && !Array.isArray(group)) state.group = group as Record<string, unknown>;
  } catch {
    // a damaged address shows the first row
  }
  return state;
}

/** Write the part of an address after #: short, with what differs from the start only. */
export function writeState(state: State): string {
  const given = new URLSearchParams({ q: state.sql });
  if (state.confidence !== START.confidence) given.set("c", String(state.confidence));
  if (state.group && Object.keys(state.group).length) given.set("g", JSON.stringify(state.group));
  if (state.order !== START.order) given.set("o", state.order);
  if (!state.descending) given.set("d", "0");
  if (state.measure) given.set("m", String(state.measure));
  if (state.offset) given.set("p", String(state.offset));
  return `#${given}`;
}
