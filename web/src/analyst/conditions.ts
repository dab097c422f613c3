/** The tree of a condition: all of, any of, not, and comparisons of a column with constants. */
import { type Child, h } from "../shared/dom.js";
import { type Attribute, attributeOf, type Condition, firstValue, type Leaf, type Value } from "./model.js";

const SIGNS: readonly (readonly [string, string])[] = [
  ["=", "is"], ["<>", "is not"], ["<", "below"], ["<=", "at most"], [">", "above"], [">=", "at least"],
  ["between", "between"], ["in", "one of"], ["not in", "none of"], ["is null", "is missing"], ["is not null", "is given"],
];
const ORDERED = new Set(["<", "<=", ">", ">=", "between"]);

/** Redraw if the shape has changed; otherwise what was typed stays where it is. */
export type Changed = (shape: boolean) => void;

export interface Place {
  readonly columns: Map<string, Attribute>;
  readonly changed: Changed;
  /** What the place is called, for those who hear the page. */
  readonly name: string;
}

/** Draw a condition that may not be there; `put` replaces it. */
export function conditionEditor(condition: Condition | null, put: (made: Condition | null) => void, place: Place): HTMLElement {
  const change = (made: Condition | null): void => { put(made); place.changed(true); };
  if (!condition) return h("div", { class: "conditions" }, addButtons((made) => change(made), place));
  const many = "all" in condition || "any" in condition;
  return h("div", { class: "conditions" },
    node(condition, change, place, 0),
    !many && addButtons((made) => change({ all: [condition, made] }), place));
}

function node(condition: Condition, put: (made: Condition | null) => void, place: Place, depth: number): HTMLElement {
  if ("not" in condition) {
    return h("div", { class: "not" }, h("span", { class: "word" }, "not"),
      node(condition.not, (made) => put(made && { not: made }), place, depth + 1),
      remove("not", () => put(condition.not)));
  }
  if ("all" in condition) return branch("all", condition.all, put, place, depth);
  if ("any" in condition) return branch("any", condition.any, put, place, depth);
  return leaf(condition, put, place, depth);
}

function branch(
  word: "all" | "any", parts: Condition[], put: (made: Condition | null) => void, place: Place, depth: number,
): HTMLElement {
  const made = (changed: Condition[], as: "all" | "any" = word): Condition | null =>
    changed.length > 1 ? (as === "all" ? { all: changed } : { any: changed }) : changed[0] ?? null;
  const replaced = (i: number, part: Condition | null): Condition[] =>
    parts.flatMap((old, j) => i === j ? (part ? flat(word, part) : []) : [old]);
  const choice = menu([["all", "all of these"], ["any", "any of these"]], word,
    (chosen) => put(made(parts, chosen as "all" | "any")), `${place.name}: how conditions are joined`);
  return h("div", { class: depth ? "branch nested" : "branch" }, choice,
    h("ul", {}, ...parts.map((part, i) => h("li", {}, node(part, (now) => put(made(replaced(i, now))), place, depth + 1)))),
    addButtons((more) => put(made([...parts, more])), place, word));
}

/** A part that joins by the same word belongs to the list itself. */
function flat(word: "all" | "any", part: Condition): Condition[] {
  if (word === "all" && "all" in part) return part.all;
  return word === "any" && "any" in part ? part.any : [part];
}

function addButtons(add: (made: Condition) => void, place: Place, inside?: "all" | "any"): HTMLElement {
  const fresh = (): Leaf => {
    const [column = "", attribute] = place.columns.entries().next().value ?? [];
    return { column, op: attribute?.kind === "ordinal" ? ">=" : "=", value: firstValue(attribute) };
  };
  const other = inside === "any" ? "all" : "any";
  return h("div", { class: "row small" },
    h("button", { type: "button", class: "add", "aria-label": `Add a condition to ${place.name}`, onclick: () => add(fresh()) },
      "+ condition"),
    inside && h("button", {
      type: "button", class: "add", "aria-label": `Add ${other} of these to ${place.name}`,
      onclick: () => add(other === "any" ? { any: [fresh(), fresh()] } : { all: [fresh(), fresh()] }),
    }, `+ ${other} of`));
}

function leaf(condition: Leaf, put: (made: Condition | null) => void, place: Place, depth: number): HTMLElement {
  const attribute = attributeOf(condition.column, place.columns);
  const names = [...place.columns.keys()];
  const listed = names.includes(condition.column) ? names : [condition.column, ...names];
  const column = menu(listed.map((name) => [name, name]), condition.column, (chosen) => {
    const known = attributeOf(chosen, place.columns);
    const op = known?.kind === "categorical" && ORDERED.has(condition.op) ? "=" : condition.op;
    put(withOperator({ column: chosen, op }, op, known));
  }, `${place.name}: column`);
  const signs = SIGNS.filter(([sign]) => sign === condition.op || attribute?.kind !== "categorical" || !ORDERED.has(sign));
  const sign = menu(signs, condition.op, (chosen) => put(withOperator(condition, chosen, attribute)), `${place.name}: comparison`);
  const values: Child[] = condition.values
    ? condition.values.flatMap((value, i) => [
      i > 0 && h("span", { class: "word" }, condition.op === "between" ? "and" : "or"),
      valueEditor(value, attribute, (now) => { condition.values![i] = now; place.changed(false); }, `${place.name}: value ${i + 1}`)])
    : condition.value
      ? [valueEditor(condition.value, attribute, (now) => { condition.value = now; place.changed(false); }, `${place.name}: value`)]
      : [];
  const list = condition.op === "in" || condition.op === "not in";
  return h("div", { class: "leaf" }, column, sign, ...values,
    list && h("button", {
      type: "button", class: "add", "aria-label": "Another value",
      onclick: () => put({ ...condition, values: [...condition.values!, firstValue(attribute)] }),
    }, "+"),
    list && condition.values!.length > 1 && h("button", {
      type: "button", class: "add", "aria-label": "One value fewer",
      onclick: () => put({ ...condition, values: condition.values!.slice(0, -1) }),
    }, "−"),
    depth < 6 && h("button", { type: "button", class: "add", "aria-label": "Say the opposite", onclick: () => put({ not: condition }) }, "not"),
    remove("condition", () => put(null)));
}

/** Return a comparison by another sign; constants that fit stay. */
function withOperator(old: Leaf, op: string, attribute: Attribute | undefined): Leaf {
  const had = old.values ?? (old.value ? [old.value] : []);
  const first = had[0] ?? firstValue(attribute);
  if (op.startsWith("is")) return { column: old.column, op };
  if (op === "between") return { column: old.column, op, values: [first, had[1] ?? last(attribute) ?? first] };
  if (op === "in" || op === "not in") return { column: old.column, op, values: had.length ? had : [first] };
  return { column: old.column, op, value: first };
}

function last(attribute: Attribute | undefined): Value | undefined {
  if (attribute?.kind !== "ordinal" || attribute.high === undefined) return undefined;
  return typeof attribute.high === "string" ? { date: attribute.high } : { number: String(attribute.high) };
}

function valueEditor(value: Value, attribute: Attribute | undefined, put: (now: Value) => void, name: string): HTMLElement {
  if ("column" in value) return field(value.column, (text) => put({ column: text }), name, "text", "column");
  if ("flag" in value) {
    return menu([["true", "true"], ["false", "false"]], String(value.flag), (text) => put({ flag: text === "true" }), name);
  }
  const known = attribute?.kind === "categorical" ? (attribute.values ?? []) : [];
  const text = "text" in value ? value.text : "date" in value ? value.date : value.number;
  const same = (one: string): Value => "text" in value ? { text: one } : "date" in value ? { date: one } : { number: one };
  if (known.length && known.length <= 200) {
    const words = known.map(String);
    const listed = words.includes(text) ? words : [text, ...words];
    return menu(listed.map((word) => [word, word]), text, (one) => put(same(one)), name);
  }
  return field(text, (one) => put(same(one)), name, "date" in value ? "date" : "text", "text" in value ? "text" : "number");
}

function field(value: string, put: (text: string) => void, name: string, type: string, kind: string): HTMLElement {
  return h("input", {
    type, value, class: `value ${kind}`, "aria-label": name, ...(kind === "number" ? { inputmode: "decimal" } : {}),
    oninput: (event) => put((event.target as HTMLInputElement).value),
  });
}

/** Draw a menu of pairs: what is meant, what is read. */
export function menu(
  options: readonly (readonly [string, string])[], chosen: string, put: (value: string) => void, name: string,
): HTMLSelectElement {
  const made = h("select", { "aria-label": name, onchange: () => put(made.value) },
    ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return made;
}

export function remove(what: string, act: () => void): HTMLElement {
  return h("button", { type: "button", class: "remove", "aria-label": `Remove this ${what}`, onclick: act }, "×");
}
