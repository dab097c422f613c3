/** The fact table: encoded tuples with what each adds to the answer, and a footer that adds up to it. */
import { type Child, h, isolated, scroller, svg } from "../shared/dom.js";
import { digits, number, percent } from "../shared/numbers.js";
import { menu } from "./conditions.js";
import type { Report, Tuples } from "./model.js";
import { pager } from "./pager.js";
import { PAGE } from "./session.js";
import type { View } from "./state.js";

export interface Sorting {
  /** What these tuples were asked for. */
  readonly view: View;
  readonly look: (change: Partial<View>) => void;
  /** The answer's own value of each column, to compare with. */
  readonly answered: Readonly<Record<string, number>>;
  /** The row of the answer, in words. */
  readonly label: string;
  /** The interval of the first column, in words. */
  readonly interval: string;
}

export function tupleTable(tuples: Tuples, sorting: Sorting): Child[] {
  const { rows, people, before, measures, parts, part } = tuples;
  const { view, look, label } = sorting;
  const sums = [...before];
  const widest = measures.map((_, i) => Math.max(...rows.map(({ contributions }) => Math.abs(contributions[i]!)), 1e-300));
  const lines = rows.map(({ person, contributions, reports }, line) => {
    contributions.forEach((value, i) => { sums[i]! += value; });
    return h("tr", { role: "row" },
      h("td", { class: "number soft", role: "cell" }, number(view.offset + line + 1, 9)),
      h("th", { scope: "row", role: "rowheader", class: "mono" }, isolated(person)),
      h("td", { class: "sent", role: "cell" }, ...reports.map(said)),
      ...contributions.flatMap((value, i) => [
        h("td", { class: "number", role: "cell", "data-name": measures.length > 1 ? isolated(measures[i]![0]) : "adds" }, spark(value / widest[i]!), " ", signed(value)),
        h("td", { class: "number soft", role: "cell", "data-name": "running sum" }, digits(sums[i]!))]));
  });
  const about = [label, parts.length > 1 && `of ${isolated(parts[part]?.[0] ?? "")}`].filter(Boolean).join(", ");
  return [
    rows.length > 0 && steps(tuples, sorting),
    h("div", { class: "row" },
      parts.length > 1 && h("label", {}, "Tuples of ", menu(parts.map(([name, many], i) => [String(i), `${isolated(name)} (${number(many, 9)})`]), String(part),
        (chosen) => look({ part: Number(chosen), offset: 0 }), "Tuples of which round or tier")),
      h("label", {}, "Sort by ", menu([["size", "size of contribution"], ["value", "contribution"], ["person", "person"]], view.order,
        (order) => look({ order: order as View["order"], offset: 0 }), "Sort by")),
      h("button", { type: "button", "aria-label": view.descending ? "Largest first; reverse the order" : "Smallest first; reverse the order",
        onclick: () => look({ descending: !view.descending, offset: 0 }) }, view.descending ? "↓ largest first" : "↑ smallest first"),
      pager("tuples", { first: view.offset, size: PAGE, all: people, go: (offset) => look({ offset }) }, about)),
    scroller("Encoded tuples",
      h("table", { class: "tuples" },
        h("caption", { class: "hidden" }, "Encoded tuples, each with its contribution to the answer"),
        h("thead", {}, h("tr", {}, h("th", { class: "number", scope: "col" }, "#"), h("th", { scope: "col" }, "person"), h("th", { scope: "col" }, "what was sent, and what it means"),
          ...measures.flatMap(([name, about], i) => [
            h("th", { class: "number", scope: "col", title: about, "aria-sort": i === view.measure && view.order !== "person" ? (view.descending ? "descending" : "ascending") : "none" },
              measures.length > 1
                ? h("button", { type: "button", class: "pick", "aria-pressed": String(i === view.measure), onclick: () => look({ measure: i, offset: 0 }) }, isolated(name))
                : `adds to ${isolated(name)}`),
            h("th", { class: "number", scope: "col" }, "running sum")]))),
        h("tbody", {}, ...lines),
        h("tfoot", {}, ...footer(tuples, sums, sorting)))),
    h("p", { class: "soft" }, "A contribution may be negative, or larger than any row: a code that fits the condition counts as more than one person, and one that does not ",
      "counts as less than zero, so that the noise cancels on average. No single line is reliable about a person; only the sum is, about all of them."),
  ];
}

/** From a row to an answer, with the numbers of the first line below. */
function steps({ rows, measures, totals, parts, columns, values }: Tuples, { interval }: Sorting): HTMLElement {
  const { person, contributions, reports } = rows[0]!;
  const [name = "", places = []] = Object.entries(columns)[0] ?? [];
  const codes = reports.map(({ service, code }) => `${service} ${code.toLocaleString("en")}`).join(" and ");
  const all = number(parts.reduce((sum, [, people]) => sum + people, 0), 9);
  const step = (title: string, text: string): HTMLElement => h("li", {}, h("b", {}, title), h("span", {}, text));
  return h("ol", { class: "steps", "aria-label": "How the number is made" },
    step("A row", `of ${isolated(person)}, which stays on the device`),
    step("is encoded", `there, at random, as ${codes}`),
    step("is weighed", `for this question: ${places.map((place) => `${signed(contributions[place]!)}${places.length > 1 ? ` (${measures[place]![0].split(": ").pop()})` : ""}`).join(", ")}`),
    step("is added", `to those of all ${all} tuples: ${places.map((place) => number(totals[place]!, 6)).join(" and ")}`),
    places.length > 1 && step("is combined", `into ${isolated(name)} = ${number(values[name] ?? NaN, 5)}`),
    step("has an error", interval));
}

function footer(tuples: Tuples, sums: readonly number[], { answered }: Sorting): HTMLElement[] {
  const { measures, totals, parts, part, columns, values } = tuples;
  const line = (name: string, given: readonly number[], kind = ""): HTMLElement => h("tr", { class: kind },
    h("th", { scope: "row", colspan: 3 }, name), ...given.flatMap((value) => [h("td", { class: "number" }, digits(value)), h("td", {})]));
  const lines = [line("so far", sums)];
  if (parts.length > 1) {
    lines.push(...parts.map(([name, people, total], i) => line(`${i === part ? "listed above" : "also"}: ${isolated(name)}, ${number(people, 9)} tuples`, total)));
  }
  lines.push(line(`sum over all ${number(parts.reduce((all, [, people]) => all + people, 0), 9)} tuples`, totals, "sum"));
  for (const [name, places] of Object.entries(columns)) {
    const value = values[name] ?? NaN;
    const answer = answered[name] ?? NaN;
    const neither = Number.isNaN(value) && Number.isNaN(answer);
    const close = neither || Math.abs(value - answer) <= 1e-9 * Math.abs(answer);
    const made = places.length === 2 && measures[places[0]!]?.[0].endsWith("numerator")
      ? `${digits(totals[places[0]!]!)} ÷ ${digits(totals[places[1]!]!)} = ` : "";
    lines.push(h("tr", { class: "proof" }, h("td", { colspan: 3 + 2 * measures.length, "data-adds-up": String(close) },
      `${isolated(name)} = ${made}${digits(value)} `, h("span", { class: neither ? "badge plain" : close ? "badge good" : "badge bad" },
        neither ? "as in the answer" : close ? "✓ equals the answer, to the last digit" : `✗ the answer is ${digits(answer)}: reports came in between; run again`))));
  }
  return lines;
}

function said({ service, code, meaning, public: known }: Report): HTMLElement {
  const columns = Object.entries(known).map(([name, value]) => `${name} ${isolated(String(value))}`);
  return h("div", { title: meaning.examples.length ? `For example ${meaning.examples.join("; ")}` : undefined },
    h("code", {}, `${service} ${code.toLocaleString("en")}`), " ",
    h("span", { class: "soft" }, `${meaning.about}, fits ${percent(meaning.fits)}${columns.length ? `; ${columns.join(", ")}` : ""}`));
}

/** A bar around zero: where it stands among the contributions of this page. */
function spark(share: number): SVGElement {
  const width = 24 * Math.abs(share);
  return svg("svg", { class: "spark", viewBox: "0 0 50 10", width: 50, height: 10, "aria-hidden": "true" },
    svg("rect", { class: share < 0 ? "minus" : "plus", x: share < 0 ? 25 - width : 25, y: 1, width, height: 8 }),
    svg("line", { x1: 25, x2: 25, y1: 0, y2: 10 }));
}

const signed = (value: number): string => `${value > 0 ? "+" : ""}${digits(value)}`;
