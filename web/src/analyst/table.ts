/** The answer as a table. One measure is open, with everything about it; others show value and error, so that tables fit. */
import { type Child, h, isolated } from "../shared/dom.js";
import { atMost, number, percent, plusMinus } from "../shared/numbers.js";
import type { Shown } from "./marks.js";
import { groupOf, labelOf, type Row, rowOf } from "./model.js";
import { type Cell, cellOf, halfOf, soundnessOf } from "./verdict.js";

/** A column of numbers: its title, what it means, and the text of a row. */
interface Column {
  readonly title: Child;
  /** The title on narrow screens, where every number has its own. */
  readonly name: string;
  readonly about?: string;
  readonly text: (row: Row) => string;
}

/** Draw rows of an answer. */
export function answerTable(shown: Shown, [from, to]: readonly [number, number]): HTMLElement {
  const { answer, groups, look, run } = shown;
  const picked = rowOf(answer, run.view.group);
  const several = answer.rows.length > 1;
  const columns = answer.estimates.flatMap((name) => name === shown.column ? openColumns(shown, name) : [closedColumn(shown, name)]);
  const lines = answer.rows.slice(from, to).map((row) => {
    const here = several && row === picked;
    const weak = answer.estimates.some((name) => soundnessOf(cellOf(row, name)) !== "sound");
    return h("tr", { role: "row", class: [weak && "weak", here && "picked"].filter(Boolean).join(" ") },
      ...groups.map((name, j) => h(j ? "td" : "th", { class: "group", "data-name": isolated(name), ...j ? { role: "cell" } : { scope: "row", role: "rowheader" } }, several && j === 0
        ? h("button", { type: "button", class: "pick", "aria-pressed": String(here), title: "Show the tuples of this row", onclick: () => look({ group: groupOf(answer, row), offset: 0 }) }, labelOf(row, [name]))
        : labelOf(row, [name]))),
      ...columns.map(({ name, text }) => h("td", { class: "number", role: "cell", "data-name": name }, text(row))));
  });
  return h("table", { class: "rows", role: "table" }, h("caption", { class: "hidden" }, `The answer, rows ${number(from + 1, 9)} to ${number(to, 9)} of ${number(answer.rows.length, 9)}`),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...groups.map((name) => h("th", { class: "group", scope: "col", role: "columnheader" }, isolated(name))),
      ...columns.map(({ title, about }) => h("th", { class: "number", scope: "col", role: "columnheader", title: about }, title)))),
    h("tbody", { role: "rowgroup" }, ...lines));
}

/** All that is known of the measure that the chart shows. */
function openColumns({ run, exact, fitted }: Shown, name: string): Column[] {
  const cell = (row: Row): Cell => cellOf(row, name, exact?.(row, name));
  const level = percent(run.question.confidence, 6);
  const model = (row: Row): string => {
    const found = fitted?.(row, name);
    return found ? both(found) : "–";
  };
  const titled = (title: string, text: (row: Row) => string, about?: string): Column => ({ title, name: title, text, ...about ? { about } : {} });
  return [
    titled(`${isolated(name)} ± ${level}`, (row) => both(cell(row))),
    titled("interval", (row) => intervalText(cell(row))),
    ...fitted ? [titled("fitted", model, "The model's value, with its half width")] : [],
    titled("if 1 % lie", (row) => shiftText(cell(row)), "How far 1 % of the people could move it by lying together"),
    ...exact ? [titled("exact", (row) => exactText(cell(row))[0]), titled("off by", (row) => exactText(cell(row))[1], "How far off, in standard errors")] : [],
  ];
}

/** Another measure: value and error, and a way to open it. */
function closedColumn({ look }: Shown, name: string): Column {
  return {
    title: h("button", { type: "button", class: "pick", title: "Open this measure: its chart, interval and robustness", onclick: () => look({ column: name }) }, isolated(name)),
    name: isolated(name), text: (row) => both(cellOf(row, name)),
  };
}

/** Value and half width: no digit that the error does not support, and no number where there is none. */
function valueText(cell: Cell): [string, string] {
  const sound = soundnessOf(cell);
  if (Number.isFinite(halfOf(cell)) && sound !== "no value") return plusMinus(cell.value, halfOf(cell));
  return [sound === "no value" ? "not defined" : number(cell.value, 2), sound === "no error" ? "no meaningful error" : "–"];
}

function both(cell: Cell): string {
  const [value, half] = valueText(cell);
  return half === "–" ? value : Number.isFinite(halfOf(cell)) ? `${value} ± ${half}` : `${value}, ${half}`;
}

function intervalText(cell: Cell): string {
  const sound = soundnessOf(cell);
  const half = halfOf(cell);
  if (Number.isFinite(half) && sound !== "no value") return `${plusMinus(cell.low, half)[0]} to ${plusMinus(cell.high, half)[0]}`;
  return sound === "weak" ? "no finite interval" : "–";
}

const shiftText = (cell: Cell): string =>
  Number.isFinite(cell.shift) ? `≤ ${atMost(cell.shift)}` : soundnessOf(cell) === "no value" ? "–" : "no limit known";

function exactText(cell: Cell): [string, string] {
  const { exact = NaN } = cell;
  const off = (cell.value - exact) / cell.error;
  const inside = cell.low <= exact && exact <= cell.high;
  return [Number.isNaN(exact) ? "–" : number(exact, 5), Number.isFinite(off) ? `${number(off, 2)} σ${inside ? "" : ", outside"}` : "–"];
}
