/** The analyst's screen: one question, in menus and in SQL; its answer, its accuracy, and the tuples behind it. */
import { type Demo, get, Problem } from "../shared/api.js";
import { type Child, download, h, isolated, show } from "../shared/dom.js";
import { notice, open } from "../shared/frame.js";
import { number, percent, plusMinus, rough } from "../shared/numbers.js";
import { answerView } from "./answer.js";
import { builder } from "./builder.js";
import { menu } from "./conditions.js";
import { editor } from "./editor.js";
import { effects } from "./effects.js";
import { ask, isRefusal, keyForm, keyNow } from "./key.js";
import { type Answer, type Catalogue, type Draft, groupsOf, labelOf, numberOf, rowOf } from "./model.js";
import { panel, type Stale } from "./panel.js";
import { isStale, pageOf, type Reading, readingOf, type Run, type Session, startSession } from "./session.js";
import { savedView } from "./saved.js";
import { asCsv, asJson, asSvg, codePanel, copyButton, savePng } from "./share.js";
import { CONFIDENCE, LEVELS, type Question, readAddress, START } from "./state.js";
import { tupleTable } from "./tuples.js";
import { cellOf, halfOf, missing } from "./verdict.js";

/** Windows from this width on have room for the answer beside the question, as the stylesheet says. */
const WIDE = 960;

const fetchCatalogue = (): Promise<Catalogue> => get<Catalogue>("/v1/catalogue", keyNow());

/** Asked for at once, while the frame finds out whether this is a demo. */
let early: Promise<Catalogue> | null = fetchCatalogue();
early.catch(() => null); // what is wrong with it is said where it is awaited

void open(async (demo) => {
  const root = h("div", {});
  await start(root, demo);
  return [root];
});

/** Fetch what can be asked, with a key where one is needed, and draw the screen. */
async function start(root: HTMLElement, demo: Demo): Promise<void> {
  const expected = early ?? fetchCatalogue();
  early = null;
  try {
    show(root, ...screen(await expected, demo));
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
    show(root, h("h1", {}, "Ask"), keyForm(() => void start(root, demo).catch((later: unknown) => show(root, h("h1", {}, "Ask"), notice(later))), cause));
  }
}

function screen({ services }: Catalogue, demo: Demo): Child[] {
  const [first] = services;
  if (!first) return [h("h1", {}, "Ask"), h("p", { class: "card" }, "No reports have arrived yet, so there is nothing to query.")];
  const examples = demo.questions ?? [];
  const begin = { sql: examples[0]?.sql ?? `SELECT COUNT(*) AS people FROM ${/^[a-z_]\w*$/i.test(first.name) ? first.name : `"${first.name.replaceAll('"', '""')}"`}`, confidence: CONFIDENCE };
  const address = readAddress(location.hash) ?? { question: begin, view: START };
  const session = startSession(address, ask, demo.demo, () => update());
  const { state } = session;

  const forecast = h("p", { class: "forecast", role: "status", "aria-live": "polite" });
  const said = h("span", { class: "soft", role: "status" });
  const code = codePanel(() => state.box);
  const link = copyButton("Copy link", session.address, said);
  const write = editor(session.write);
  const build = builder(services, session.build);
  const confidence = h("label", {});
  const runButton = h("button", { type: "button", class: "main", id: "run", onclick: () => void run() }, "Run ", h("kbd", {}, "Ctrl ↵"));
  const run = async (): Promise<void> => {
    await session.run();
    const reading = readingOf(state);
    if (reading && !(reading.found instanceof Problem) && reading.found.problem) write.go();
  };

  const outdated = (): Stale | null => !isStale(state) ? null
    : state.running ? { why: "asking…", passing: true } : { why: "of an earlier question", passing: false };
  const builderPanel = panel({
    name: "Builder", from: () => [build], draw: () => [h("details", { open: window.innerWidth >= WIDE }, h("summary", {}, h("h2", {}, "Builder")), build.element)],
    stale: () => state.ahead || readingOf(state) ? null : { why: "following the text…", passing: true },
  });
  const tuplesPanel = panel({
    name: "Tuples", from: () => [state.shown, state.shown?.tuples], draw: () => state.shown && tuplePanel(state.shown, session.look), stale: outdated,
  });
  const answer = panel({
    name: "Answer", from: () => [state.shown, state.shown?.view, state.shown?.fitted, !state.shown && state.running], draw: () => answerPanel(session), stale: outdated,
    note: () => [
      h("p", {}, `This answer belongs to an earlier question, at ${percent(state.shown!.question.confidence, 6)}: `, h("code", {}, oneLine(state.shown!.question))),
      h("button", { type: "button", onclick: () => { runButton.focus(); void run(); } }, "Run the question in the box"),
      h("button", { type: "button", onclick: () => { write.go(); session.takeBack(); } }, "Restore this question")],
  });
  const curvesPanel = panel({
    name: "How to make it more accurate", from: () => [state.shown, state.shown?.curves], stale: outdated,
    draw: () => curvesView(state.shown?.curves ?? null),
  });
  const panels = [builderPanel, answer, curvesPanel, tuplesPanel];
  const saved = savedView(session.address, () => examples.find(({ sql }) => sql.trim() === state.box.sql.trim())?.title ?? oneLine(state.box), (address) => {
    if (location.hash === `#${address}`) void run();
    else location.hash = address;
  });
  const sqlCard = h("section", { class: "card", "aria-label": "SQL" }, h("h2", {}, h("label", { for: "sql" }, "SQL")), write.element,
    forecast, h("div", { class: "row" }, runButton, confidence), saved, code.element);

  let shownReading: Reading | null = null;
  let predicted: readonly unknown[] = [];
  let level = NaN;
  /** Draw everything from the state: whatever changed, nothing is left behind. */
  const update = (): void => {
    const { box, ahead, running, reading } = state;
    write.set(box.sql);
    if (level !== box.confidence) {
      level = box.confidence;
      show(confidence, "Confidence ", menu([...new Set([...LEVELS, level])].sort((a, b) => a - b).map((one) => [String(one), percent(one, 6)]), String(level),
        (chosen) => session.setConfidence(Number(chosen)), "Confidence of the intervals"));
    }
    if (reading && reading !== shownReading && !reading.fromBuilder) followText(build, reading.found);
    shownReading = reading;
    const now = readingOf(state);
    const problem = now && !(now.found instanceof Problem) ? now.found.problem : null;
    write.mark(problem?.detail ?? null, problem?.span);
    if (predicted[0] !== now || predicted[1] !== reading || predicted[2] !== ahead) show(forecast, ...forecastOf(session, now));
    predicted = [now, reading, ahead];
    sqlCard.classList.toggle("stale", ahead !== null);
    link.disabled = ahead !== null;
    code.refresh();
    runButton.toggleAttribute("aria-busy", running !== null);
    for (const one of panels) one.update();
    const tuples = state.shown?.tuples;
    tuplesPanel.element.toggleAttribute("aria-busy", tuples ? pageOf(tuples.view) !== pageOf(state.shown!.view) : false);
  };

  answer.element.id = "answer";
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void run();
  });
  void session.run(address.view);
  return [
    h("div", { class: "head" }, h("h1", {}, "Ask"), h("p", { class: "facts" }, facts(services)),
      ...services.flatMap(({ name, notes }) => notes.map((note) => h("p", { class: "notice" }, `${isolated(name)}: ${note}`))), h("div", { class: "row small" }, link, said)),
    examples.length > 0 && h("div", { class: "examples", role: "group", "aria-label": "Questions to begin with" }, ...examples.map(({ title, sql }) =>
      h("button", { type: "button", title, onclick: () => { session.write(sql); void run(); } }, firstSentence(title)))),
    h("div", { class: "work" }, h("div", { class: "ask" }, sqlCard, builderPanel.element), h("div", { class: "ask" }, answer.element, curvesPanel.element)),
    tuplesPanel.element,
  ];
}

function facts(services: Catalogue["services"]): string {
  const range = (values: readonly number[], digits: number): string => [...new Set([Math.min(...values), Math.max(...values)])].map((value) => number(value, digits)).join(" to ");
  return `${range(services.map(({ people }) => people), 9)} people · ε ${range(services.map(({ epsilon }) => epsilon), 4)} · ${services.map(({ name }) => isolated(name)).join(", ")}`;
}

const firstSentence = (text: string): string => /^.*?[.?!](?=\s|$)/.exec(text)?.[0] ?? text;

function oneLine({ sql }: Question): string {
  const text = sql.trim().replace(/\s+/g, " ");
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
}

/** Let the builder follow what was read of the text. */
function followText(build: ReturnType<typeof builder>, found: Reading["found"]): void {
  if (found instanceof Problem) build.show(null, "The builder cannot show the question now: the collector did not answer.");
  else build.show(found.model, found.problem?.code === "not-readable" ? null : found.outside);
}

/** Say what to expect, or why nothing can be said before running. */
function forecastOf({ state, read }: Session, reading: Reading | null): Child[] {
  const failed = reading?.found ?? (state.ahead && state.reading?.found);
  if (failed instanceof Problem) {
    return [failed.detail, state.ahead ? " The SQL is not updated from the builder yet. " : " ", h("button", { type: "button", class: "add", onclick: () => void read() }, "Try again")];
  }
  return reading ? expectedOf(reading.found as Draft) : ["Reading the question…"];
}

function expectedOf({ problem, expected, unforeseen, people }: Draft): Child[] {
  if (problem) return [];
  const of = people === undefined ? "" : ` from ${number(people, 9)} people`;
  if (expected?.half_width === 0) return [`Before running: this is known without error${of}.`];
  if (expected?.half_width) return ["Before running: expect ", h("strong", {}, `± ${rough(expected.half_width)}`), ` for ${isolated(expected.column)}${of}.`];
  return [`Before running: no forecast. ${unforeseen ?? "The error cannot be predicted."}`];
}

function answerPanel({ state: { shown, running }, look, run }: Session): Child[] {
  const title = h("h2", {}, "Answer");
  if (!shown && running) return [title, h("p", { class: "soft", role: "status" }, "Asking…")];
  if (!shown?.answer) return [title, h("p", { class: "soft" }, "The answer appears here, with its error, when the question is valid.")];
  if (shown.answer instanceof Problem) {
    return [title, isRefusal(shown.answer) ? keyForm(() => void run(shown.view), shown.answer)
      : h("div", {}, notice(shown.answer), h("p", { class: "soft" }, "There is no answer to this question."))];
  }
  return [h("div", { class: "head" }, title, exports(shown, shown.answer)), ...answerView(shown, shown.answer, look)];
}

function curvesView(curves: Run["curves"]): Child[] | null {
  const title = h("h2", {}, "How to make it more accurate");
  if (curves instanceof Problem) return curves.status === 400 ? null : [title, notice(curves)]; // the forecast says what cannot be predicted
  return curves && [title, ...effects(curves)];
}

/** Ways to take an answer elsewhere; they are part of its panel, and off when it is stale. */
function exports({ question, fitted, view }: Run, answer: Answer): HTMLElement {
  const model = view.fitted && fitted && !(fitted instanceof Problem) ? fitted : null;
  const drawn = (): string => asSvg(document.querySelector<SVGSVGElement>("#chart svg")!, question);
  const many = answer.rows.length;
  return h("div", { class: "row small" },
    h("button", { type: "button", title: `All ${number(many, 9)} rows`, onclick: () => download(missing(answer) > 0 ? "answer-incomplete.csv" : "answer.csv", asCsv(answer, model), "text/csv") }, "CSV"),
    h("button", { type: "button", onclick: () => download("answer.json", asJson(answer, question), "application/json") }, "JSON"),
    h("button", { type: "button", disabled: !many, onclick: () => download("answer.svg", drawn(), "image/svg+xml") }, "SVG"),
    h("button", { type: "button", disabled: !many, onclick: () => void savePng(drawn(), "answer.png") }, "PNG"));
}

function tuplePanel({ answer, tuples, question }: Run, look: Session["look"]): Child[] | null {
  if (!answer || answer instanceof Problem || !tuples) return null;
  const title = h("h2", {}, "The tuples behind it");
  const { found, view } = tuples;
  if (found instanceof Problem) {
    return [title, found.code === "wrong-scope"
      ? h("p", { class: "soft" }, "Single reports need a key with the scope audit; this key sees answers only.") : notice(found)];
  }
  const row = rowOf(answer, view.group)!;
  const [name = ""] = answer.estimates;
  const cell = cellOf(row, name);
  const [low, high] = [cell.low, cell.high].map((end) => plusMinus(end, halfOf(cell))[0]);
  const interval = !Number.isFinite(cell.error) ? "no meaningful error: no interval can be given"
    : Number.isFinite(halfOf(cell)) ? `from the known noise: ${isolated(name)} is between ${low} and ${high} at ${percent(question.confidence, 6)}`
    : "too wide to be useful";
  return [title, ...tupleTable(found, {
    view, look, interval, answered: Object.fromEntries(answer.estimates.map((one) => [one, numberOf(row[one], NaN)])),
    label: groupsOf(answer).map((one) => `${isolated(one)} = ${labelOf(row, [one])}`).join(", "),
  })];
}
