/** The answer: the number or a chart first, what to make of it, and a table of the same rows with the truth in a demo. */
import { Problem } from "../shared/api.js";
import { type Child, h, isolated, scroller } from "../shared/dom.js";
import { certainty, count, number, percent, plusMinus } from "../shared/numbers.js";
import { readersText } from "../shared/readers.js";
import { chart, chartWidth, KIND_NAMES, legend } from "./chart.js";
import { menu } from "./conditions.js";
import { type Mark, type Shown, shownOf } from "./marks.js";
import { type Answer, groupsOf } from "./model.js";
import { pager } from "./pager.js";
import type { Run } from "./session.js";
import type { Kind, View } from "./state.js";
import { answerTable } from "./table.js";
import { halfOf, missing, soundnessOf, type Verdict, verdict } from "./verdict.js";

/** Rows of one page, in the table and in a chart of bars. */
const ROWS = 25;

export function answerView(run: Run, answer: Answer, look: (change: Partial<View>) => void): Child[] {
  const warnings = notCounted(answer);
  if (!answer.rows.length) {
    return [warnings, h("p", {}, "No rows: no group meets the question's conditions."), notes(run, answer)];
  }
  const shown = shownOf(run, answer, look);
  const { marks } = shown;
  const first = firstRow(run.view, answer);
  const page: [number, number] = [first, Math.min(first + ROWS, answer.rows.length)];
  const single = marks.length === 1 && shown.groups.length === 0;
  return [
    warnings,
    single && headline(marks[0]!, run),
    adviceOf(shown),
    h("div", { class: "row tools" },
      answer.estimates.length > 1 && h("label", {}, "Chart of ", menu(answer.estimates.map((name) => [name, isolated(name)]), shown.column, (name) => look({ column: name }), "Chart of")),
      shown.kinds.length > 1 && h("label", {}, "as ", menu(shown.kinds.map((kind) => [kind, KIND_NAMES[kind]]), shown.kind, (kind) => look({ chart: kind as Kind }), "Kind of chart")),
      h("label", { class: "check" }, h("input", { type: "checkbox", id: "fitted", checked: run.view.fitted, onchange: (event) => look({ fitted: (event.target as HTMLInputElement).checked }) }), " fitted values beside the unbiased ones"),
      h("span", { class: "soft" }, `${count(answer.rows.length, "row")}, ${run.seconds.toFixed(2)} s`)),
    fittedText(shown),
    h("div", { id: "chart" }, ...chart(shown, page, chartWidth()), legend(shown)),
    answer.rows.length > ROWS && pager("rows", { first, size: ROWS, all: answer.rows.length, go: (to) => look({ first: to }) }),
    scroller("Answer as a table", answerTable(shown, page)),
    notes(run, answer),
    privacyOf(answer),
  ];
}

/** What to make of the answer, with a sign that is read, not only seen. */
export function adviceOf(shown: Shown): HTMLElement {
  const { tone, text } = verdictOf(shown);
  return h("p", { class: `advice ${tone}`, role: "status" }, h("span", { class: "sign", "aria-hidden": "true" }, { good: "✓", warn: "!", bad: "✗" }[tone]),
    h("span", {}, shown.answer.estimates.length > 1 && `${isolated(shown.column)}: `, text));
}

export function verdictOf({ run, answer, marks }: Shown): Verdict {
  return verdict({ answer, cells: marks, people: run.draft?.people, confidence: run.question.confidence, chosen: chosenByEstimates(run, answer) });
}

/** One number, large: a bar alone would say less. */
export function headline(mark: Mark, { question }: Run): Child {
  const half = halfOf(mark);
  if (soundnessOf(mark) === "no value" || !Number.isFinite(half)) return null;
  const [[value, width], low, high] = [plusMinus(mark.value, half), plusMinus(mark.low, half)[0], plusMinus(mark.high, half)[0]];
  return h("p", { class: "headline" }, h("b", {}, value), half > 0 && h("span", {}, ` ± ${width}`),
    h("small", {}, half > 0 ? `${mark.label}, between ${low} and ${high} at ${percent(question.confidence, 6)}` : mark.label));
}

/** Say how fitted values compare with unbiased ones, or why there are none. */
function fittedText({ run, fitted, marks }: Shown): Child {
  if (!run.view.fitted) return null;
  if (run.fitted instanceof Problem) return h("p", { class: "notice", id: "fit" }, `No fitted values: ${run.fitted.detail}`);
  if (!fitted) return h("p", { class: "soft", id: "fit", role: "status" }, "Fitting the model…");
  const both = marks.filter((mark) => mark.fitted && Number.isFinite(halfOf(mark.fitted)) && Number.isFinite(halfOf(mark)));
  const inside = both.filter((mark) => mark.low <= mark.fitted!.value && mark.fitted!.value <= mark.high).length;
  const ratios = both.map((mark) => halfOf(mark.fitted!) / halfOf(mark)).filter(Number.isFinite).sort((a, b) => a - b);
  const middle = ratios[ratios.length >> 1];
  return h("p", { class: "soft", id: "fit", role: "status" }, "Fitted values come from one model of all reports. They are closer as a rule, never negative, and add up, but they may be biased where the model is wrong. ",
    both.length > 0 && `${inside === both.length ? both.length > 1 ? `All ${number(inside, 9)} lie` : "It lies" : `${number(inside, 9)} of ${number(both.length, 9)} lie`} inside the unbiased interval`,
    middle !== undefined && `; the fitted interval is ${percent(middle)} as wide${both.length > 1 ? " in the median" : ""}`, both.length > 0 && ".");
}

/** Warn if reports were acknowledged that the answer does not count. */
export function notCounted(answer: Answer): Child {
  const short = missing(answer);
  if (!answer.watermark || short === 0) return null;
  const { acknowledged, counted } = answer.watermark;
  return h("p", { class: "notice", role: "alert", id: "watermark" }, short > 0
    ? `This answer counts ${number(counted, 12)} of ${number(acknowledged, 12)} acknowledged reports: ${number(short, 12)} are missing, so totals are too small.`
    : `This answer counts ${number(counted, 12)} reports; only ${number(acknowledged, 12)} of them came through this collector.`);
}

/** Both guarantees, for whoever wants to know. */
function privacyOf({ privacy }: Answer): Child {
  if (!privacy) return null;
  const local = privacy.local === null ? "no limit" : `from 50\u00a0% to at most ${certainty(privacy.local)} (ε = ${number(privacy.local)})`;
  return h("details", { id: "privacy" }, h("summary", {}, "What this tells about a person"),
    h("p", {}, `The collector, who sees the reports: ${local}.`), h("p", {}, readersText(privacy.central)));
}

function notes({ exact, fitted, view }: Run, answer: Answer): Child {
  const known = new Set(answer.notes);
  const model = view.fitted && fitted && !(fitted instanceof Problem) ? fitted.notes.filter((note) => !known.has(note)).map((note) => `Fitted: ${note}`) : [];
  const said = [...answer.notes, ...model, ...exact instanceof Problem ? [`No exact values to compare with: ${exact.detail}`] : []];
  return said.length > 0 && h("ul", { class: "notes" }, ...said.map((note) => h("li", {}, note)));
}

/** Whether rows were chosen or ordered by their estimates; where the builder cannot tell, it is assumed of any order. */
function chosenByEstimates({ draft, question }: Run, answer: Answer): boolean {
  if (!groupsOf(answer).length) return false;
  const model = draft?.model;
  if (!model) return /\b(having|order\s+by)\b/i.test(question.sql);
  const groups = new Set(model.outputs.flatMap((output) => output.kind === "group" ? [output.column, output.name] : output.kind === "bands" ? [output.name] : []));
  return model.having !== null || model.order.some(({ by }) => !groups.has(by));
}

/** The first row of the page that the view names: the address may be of an answer with more rows. */
function firstRow({ first }: View, { rows }: Answer): number {
  return ROWS * Math.floor(Math.min(first, rows.length - 1) / ROWS);
}
