/** The builder: menus over a model of the question. It never sees a text; the collector turns one into the other. */
import { type Child, h, redraw, show } from "../shared/dom.js";
import { conditionEditor, menu, remove } from "./conditions.js";
import { type Attribute, columnsOf, type Model, type Output, type Service } from "./model.js";

const FUNCTIONS: readonly (readonly [string, string])[] = [
  ["COUNT", "count"], ["SUM", "sum"], ["AVG", "average"], ["STDDEV", "standard deviation"], ["VARIANCE", "variance"],
  ["STDDEV_POP", "standard deviation (all)"], ["STDDEV_SAMP", "standard deviation (sample)"], ["VAR_POP", "variance (all)"],
];

export interface Builder {
  readonly element: HTMLElement;
  /** Show a model, or say why there is none. */
  show(model: Model | null, outside: string | null): void;
}

export function builder(services: readonly Service[], onchange: (model: Model) => void): Builder {
  const element = h("div", { class: "builder" });
  let model: Model | null = null;
  const changed = (shape: boolean): void => {
    if (!model) return;
    if (shape) redraw(element, ...sections(model, services, changed));
    onchange(model);
  };
  return {
    element,
    show: (made, outside) => {
      model = made && structuredClone(made);
      if (model) redraw(element, ...sections(model, services, changed));
      else show(element, h("p", { class: "soft" }, outside ?? "The builder appears when the question is valid."));
    },
  };
}

function sections(model: Model, services: readonly Service[], changed: (shape: boolean) => void): Child[] {
  const columns = columnsOf(model, services);
  const measures = model.outputs.filter((output) => output.kind === "measure" || output.kind === "formula");
  const place = (name: string, known = columns): Parameters<typeof conditionEditor>[2] => ({ columns: known, changed, name });
  const outputs = new Map(model.outputs.filter(({ name }) => name)
    .map(({ name }): [string, Attribute] => [name, { name, kind: "ordinal", low: 0 }]));
  return [
    part("Measure",
      ...measures.map((output) => measure(output, model, columns, changed)),
      h("button", { type: "button", class: "add", onclick: () => { model.outputs.push(fresh(model)); changed(true); } }, "+ measure")),
    part("From", ...from(model, services, changed)),
    part("Where", conditionEditor(model.where, (made) => { model.where = made; }, place("where"))),
    part("By", ...by(model, columns, changed)),
    model.having && part("Only rows with", conditionEditor(model.having, (made) => { model.having = made; }, place("rows", outputs))),
    part("Order", ...order(model, changed)),
  ];
}

function part(title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "part", "aria-label": title }, h("h3", {}, title), h("div", {}, ...children));
}

function fresh(model: Model): Output {
  const taken = new Set(model.outputs.map(({ name }) => name));
  let number = 1;
  while (taken.has(`n${number}`)) number++;
  return { kind: "measure", function: "COUNT", of: "*", name: `n${number}`, where: null };
}

function measure(output: Output, model: Model, columns: Map<string, Attribute>, changed: (shape: boolean) => void): HTMLElement {
  const gone = remove("measure", () => {
    model.outputs.splice(model.outputs.indexOf(output), 1);
    changed(true);
  });
  const name = text(output.name, "name", "Name of the measure", (made) => { output.name = made; changed(false); });
  const named = [h("span", { class: "word" }, "as"), name, model.outputs.length > 1 && gone];
  if (output.kind !== "measure") {
    if (output.kind === "group") return h("div", {});
    return h("div", { class: "leaf" },
      text(output.text, "wide", "Formula", (made) => { output.text = made; changed(false); }), ...named);
  }
  const numbers = [...columns].filter(([, { kind, low, values }]) =>
    kind === "ordinal" ? typeof low !== "string" : kind === "public" || typeof values?.[0] === "number").map(([one]) => one);
  const offered = output.function === "COUNT" ? ["*", ...columns.keys()] : numbers;
  const listed = offered.includes(output.of) ? offered : [output.of, ...offered];
  const function_ = menu(FUNCTIONS, output.function, (made) => {
    output.function = made;
    if (made !== "COUNT" && !numbers.includes(output.of)) output.of = numbers[0] ?? output.of;
    if (made === "COUNT" && !output.distinct) output.of = "*";
    changed(true);
  }, "What is measured");
  const of = menu(listed.map((one) => [one, one === "*" ? "rows" : one]), output.of,
    (made) => { output.of = made; changed(false); }, "Of which column");
  return h("div", {},
    h("div", { class: "leaf" }, function_, h("span", { class: "word" }, output.distinct ? "of different" : "of"), of, ...named),
    output.where && h("div", { class: "only" }, h("span", { class: "word" }, "only where"),
      conditionEditor(output.where, (made) => { output.where = made; }, { columns, changed, name: "this measure" })));
}

function from(model: Model, services: readonly Service[], changed: (shape: boolean) => void): Child[] {
  const [first, ...joined] = model.tables;
  if (!first) return [];
  const names = services.map(({ name }) => name);
  const known = (name: string): string[] => names.some((one) => one.toLowerCase() === name.toLowerCase()) ? names : [name, ...names];
  const own = services.find(({ name }) => name.toLowerCase() === first.name.toLowerCase());
  const others = services.filter(({ name, collection, key }) => collection === own?.collection && key === own.key &&
    !model.tables.some((table) => table.name.toLowerCase() === name.toLowerCase()));
  const renamed = (table: Model["tables"][number]): Child => table.alias && h("span", { class: "word" }, `as ${table.alias}`);
  return [
    h("div", { class: "leaf" },
      menu(known(first.name).map((name) => [name, name]), first.name, (made) => { first.name = made; changed(true); }, "From which service"),
      renamed(first)),
    ...joined.map((table) => h("div", { class: "leaf" }, h("span", { class: "word" }, "joined with"), h("code", {}, table.name), renamed(table),
      h("span", { class: "word" }, table.using ? `on ${table.using}` : `on ${table.on?.join(" = ")}`),
      remove("join", () => { model.tables.splice(model.tables.indexOf(table), 1); changed(true); }))),
    others.length > 0 && menu([["", "+ join"], ...others.map(({ name }) => [name, `with ${name}`] as const)], "", (made) => {
      if (!made) return;
      model.tables.push({ name: made, alias: "", using: own!.key });
      changed(true);
    }, "Join with a service"),
  ];
}

function by(model: Model, columns: Map<string, Attribute>, changed: (shape: boolean) => void): Child[] {
  const shown = model.outputs.filter((output) => output.kind === "group" || output.kind === "bands");
  const label = (output: Output): string => output.kind === "group" ? output.column : output.name;
  const free = [...columns.keys()].filter((name) => !model.group.includes(name));
  const drop = (name: string): void => {
    model.group = model.group.filter((one) => one !== name);
    model.outputs = model.outputs.filter((output) => !(shown.includes(output) && label(output) === name));
    model.order = model.order.filter(({ by: one }) => one !== name);
    changed(true);
  };
  return [
    ...model.group.map((name) => {
      const bands = model.outputs.find((output) => output.kind === "bands" && output.name === name);
      return h("span", { class: "chip" }, name, bands?.kind === "bands" &&
        text(bands.text, "wide", `Bands of ${name}`, (made) => { bands.text = made; changed(false); }),
        remove(`group ${name}`, () => drop(name)));
    }),
    free.length > 0 && menu([["", "+ group"], ...free.map((name) => [name, name] as const)], "", (made) => {
      if (!made) return;
      model.group.push(made);
      model.outputs.unshift({ kind: "group", column: made, name: "" });
      changed(true);
    }, "Group by a column"),
  ];
}

function order(model: Model, changed: (shape: boolean) => void): Child[] {
  const names = model.outputs.map((output) => output.name || (output.kind === "group" ? output.column : "")).filter(Boolean);
  const [first] = model.order;
  const listed = first && !names.includes(first.by) ? [first.by, ...names] : names;
  return [
    menu([["", "as it comes"], ...listed.map((name) => [name, `by ${name}`] as const)], first?.by ?? "", (made) => {
      model.order = made ? [{ by: made, descending: first?.descending ?? false }, ...model.order.slice(1)] : [];
      changed(true);
    }, "Order of rows"),
    first && menu([["up", "smallest first"], ["down", "largest first"]], first.descending ? "down" : "up",
      (made) => { first.descending = made === "down"; changed(false); }, "Direction"),
    h("span", { class: "word" }, "at most"),
    limitField(model, changed),
    h("span", { class: "word" }, "rows"),
  ];
}

/** What is no number of rows is no limit, and does not stay in the field. */
function limitField(model: Model, changed: (shape: boolean) => void): HTMLElement {
  const limit = (): string => model.limit === null ? "" : String(model.limit);
  const field = text(limit(), "number", "Most rows", (made) => {
    model.limit = /^\d{1,9}$/.test(made) ? Number(made) : null;
    changed(false);
  });
  field.addEventListener("blur", () => { field.value = limit(); });
  return field;
}

function text(value: string, kind: string, name: string, put: (made: string) => void): HTMLInputElement {
  return h("input", {
    type: "text", value, class: `value ${kind}`, "aria-label": name, spellcheck: "false",
    oninput: (event) => put((event.target as HTMLInputElement).value),
  });
}
