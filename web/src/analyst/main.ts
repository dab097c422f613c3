/** The analyst's screen: one question, in menus and in SQL; its answer, its accuracy, and the tuples behind it. */
import { type Demo, post, Problem } from "../shared/api.js";
import { download, h, redraw, show, soon } from "../shared/dom.js";
import { notice, open } from "../shared/frame.js";
import { number, percent } from "../shared/numbers.js";
import { answerView, cellOf, groupsOf, labelOf, numberOf } from "./answer.js";
import { builder } from "./builder.js";
import { menu } from "./conditions.js";
import { editor } from "./editor.js";
import { effects } from "./effects.js";
import type { Answer, Catalogue, Curves, Draft, Exact, Model, Tuples } from "./model.js";
import { asCsv, asSvg, codePanel, copyButton, savePng } from "./share.js";
import { LEVELS, readState, type State, writeState } from "./state.js";
import { PAGE, tupleTable } from "./tuples.js";

let key = "";

const fetchCatalogue = (): Promise<Response> =>
  fetch("/v1/catalogue", { credentials: "omit", headers: key ? { Authorization: `Bearer ${key}` } : {} });

/** Asked for at once, while the frame finds out whether this is a demo. */
let early: Promise<Response> | null = fetchCatalogue();
early.catch(() => null); // what is wrong with it is said where it is awaited

void open(async (demo) => {
  const root = h("div", {});
  await start(root, demo);
  return [root];
});

/** Fetch what can be asked, with a key where one is needed, and draw the screen. */
async function start(root: HTMLElement, demo: Demo): Promise<void> {
  try {
    const response = await (early ?? fetchCatalogue());
    early = null;
    const found: unknown = await response.json();
    if (!response.ok) throw new Problem(...problemOf(found, response.status));
    show(root, ...screen(found as Catalogue, demo));
  } catch (cause) {
    if (!(cause instanceof Problem) || (cause.status !== 401 && cause.status !== 403)) throw cause;
    const field = h("input", { type: "password", id: "key", autocomplete: "current-password", required: true });
    show(root, h("h1", {}, "Ask"), h("form", {
      class: "card", onsubmit: (event) => { event.preventDefault(); key = field.value; void start(root, demo); },
    }, h("p", {}, h("label", { for: "key" }, "This collector needs a key that may ask: "), field, " ", h("button", { class: "main" }, "Go on")),
    key && notice(cause)));
  }
}

function problemOf(found: unknown, status: number): [string, string, number] {
  const { code = "refused", detail = "The collector refused." } = (found ?? {}) as { code?: string; detail?: string };
  return [code, detail, status];
}

const ask = <Found>(path: string, body: object, signal?: AbortSignal): Promise<Found> =>
  post<Found>(path, key ? { key, ...body } : body, signal);

type Given = { readonly sql: string } | { readonly model: Model };

function screen({ services }: Catalogue, demo: Demo): (HTMLElement | string)[] {
  const state = readState(location.hash);
  const [first] = services;
  if (!first) return [h("h1", {}, "Ask"), h("p", { class: "card" }, "No reports have come in yet, so there is nothing to ask about.")];
  if (!state.sql) state.sql = demo.questions?.[0]?.sql ?? `SELECT COUNT(*) AS people FROM ${first.name}`;
  let draft: Draft | null = null;
  let reading = new AbortController();
  let running = 0;
  let looking = 0;
  let answer: Answer | null = null;
  /** What was changed and not read yet, and what was asked last: edits after that do not change its answer. */
  let pending: Given | null = null;
  let asked = { sql: state.sql, confidence: state.confidence };

  const forecast = h("p", { class: "forecast", role: "status", "aria-live": "polite" });
  const results = h("section", { class: "card", "aria-label": "Answer" }, h("h2", {}, "Answer"),
    h("p", { class: "soft" }, "It appears here, with its error, as soon as the question can be asked."));
  const curveCard = h("section", { class: "card", "aria-label": "What would make it sharper", hidden: true });
  const tupleCard = h("section", { class: "card", "aria-label": "Tuples", hidden: true });
  const said = h("span", { class: "soft", role: "status" });
  const code = codePanel(() => state);
  const write = editor((text) => { state.sql = text; pending = { sql: text }; readSoon(); });
  const build = builder(services, (model) => { pending = { model }; readSoon(); });
  const runButton = h("button", { type: "button", class: "main", id: "run", onclick: () => void run() }, "Run ", h("kbd", {}, "Ctrl ↵"));

  const read = async (given: Given): Promise<void> => {
    pending = null;
    reading.abort();
    reading = new AbortController();
    try {
      draft = await ask<Draft>("/v1/draft", { ...given, confidence: state.confidence }, reading.signal);
    } catch (cause) {
      if (!(cause instanceof Problem)) return; // a later draft is on its way
      draft = null;
      write.mark(null);
      show(forecast, cause.detail);
      return;
    }
    if ("model" in given) {
      state.sql = draft.sql;
      write.set(draft.sql);
    } else {
      build.show(draft.model, draft.problem?.code === "not-readable" ? null : draft.outside);
    }
    write.mark(draft.problem?.detail ?? null, draft.problem?.span);
    show(forecast, ...foretold(draft));
    code.refresh();
  };
  const put = (sql: string): void => {
    pending = null;
    state.sql = sql;
    write.set(sql);
  };
  const readSoon = soon(() => { if (pending) void read(pending); }, 180);

  const remember = (): void => history.replaceState(null, "", writeState({ ...state, ...asked }));
  const run = async (keep = false): Promise<void> => {
    const mine = ++running;
    const drafted = read(pending ?? { sql: state.sql });
    if (answer) await drafted; // the first question of a page is asked at once
    if (draft?.problem) {
      write.go();
      return;
    }
    if (!keep) Object.assign(state, { group: null, offset: 0, measure: 0 });
    asked = { sql: state.sql, confidence: state.confidence };
    remember();
    runButton.setAttribute("aria-busy", "true");
    const began = performance.now();
    try {
      const [found, exact] = await Promise.all([
        ask<Answer>("/v1/query", asked),
        demo.demo ? ask<Exact>("/demo/exact", { sql: asked.sql }).catch(() => null) : null]);
      await drafted;
      if (mine !== running) return;
      answer = found;
      showAnswer(found, exact, (performance.now() - began) / 1000);
      await Promise.all([showTuples(), showCurves(mine)]);
    } catch (cause) {
      if (mine === running && !draft?.problem) show(results, h("h2", {}, "Answer"), notice(cause));
    } finally {
      runButton.removeAttribute("aria-busy");
    }
  };

  const showAnswer = (found: Answer, exact: Exact | null, seconds: number): void => {
    const groups = groupsOf(found);
    const same = (row: Answer["rows"][number]): boolean => groups.every((name) => String(row[name]) === String(state.group?.[name]));
    let row = Math.max(0, state.group ? found.rows.findIndex(same) : 0);
    let column = found.estimates[0] ?? "";
    const pick = (chosen: number): void => {
      row = chosen;
      Object.assign(state, { group: Object.fromEntries(groups.map((name) => [name, found.rows[row]?.[name]])), offset: 0 });
      remember();
      draw();
      void showTuples();
    };
    const draw = (): void => {
      redraw(results, h("div", { class: "head" }, h("h2", {}, "Answer"), exports(found)),
        ...answerView({
          answer: found, exact, confidence: asked.confidence, seconds, people: draft?.people ?? 0, column, row,
          pickColumn: (name) => { column = name; draw(); }, pickRow: pick,
        }));
    };
    if (groups.length && found.rows[row]) state.group = Object.fromEntries(groups.map((name) => [name, found.rows[row]![name]]));
    draw();
  };

  const exports = (found: Answer): HTMLElement => {
    const chart = (): SVGSVGElement | null => results.querySelector<SVGSVGElement>("#chart svg");
    return h("div", { class: "row small" },
      h("button", { type: "button", onclick: () => download("answer.csv", asCsv(found), "text/csv") }, "CSV"),
      h("button", { type: "button", onclick: () => { const drawn = chart(); if (drawn) download("answer.svg", asSvg(drawn), "image/svg+xml"); } }, "SVG"),
      h("button", { type: "button", onclick: () => { const drawn = chart(); if (drawn) void savePng(asSvg(drawn), "answer.png"); } }, "PNG"));
  };

  const showCurves = async (mine: number): Promise<void> => {
    try {
      const found = await ask<Curves>("/v1/curves", asked);
      if (mine !== running) return;
      show(curveCard, h("h2", {}, "What would make it sharper"), ...effects(found));
      curveCard.hidden = false;
    } catch (cause) {
      if (!(cause instanceof Problem)) throw cause;
      curveCard.hidden = true; // what cannot be foretold was said above
    }
  };

  const showTuples = async (): Promise<void> => {
    if (!answer) return;
    const mine = ++looking;
    const groups = groupsOf(answer);
    const row = answer.rows.find((one) => groups.every((name) => String(one[name]) === String(state.group?.[name])));
    tupleCard.hidden = !row;
    if (!row) return;
    const title = h("h2", {}, "The tuples behind it");
    const sort = (change: Partial<State>): void => {
      Object.assign(state, change);
      remember();
      void showTuples();
    };
    try {
      const { order, descending, measure, offset } = state;
      const found = await ask<Tuples>("/v1/contributions",
        { sql: asked.sql, group: state.group ?? {}, order, descending, measure, offset, limit: PAGE });
      if (mine !== looking) return; // another page was asked for in between
      const answered = Object.fromEntries(answer.estimates.map((name) => [name, numberOf(row[name], NaN)]));
      const [name = ""] = answer.estimates;
      const { low, high } = cellOf(row, name);
      const interval = Number.isFinite(high - low)
        ? `from noise that is known: ${name} is between ${number(low)} and ${number(high)} at ${percent(asked.confidence, 1)}`
        : "too large to tell anything";
      redraw(tupleCard, title, ...tupleTable(found, { order, descending, measure, offset, sort, answered, interval, label: groups.map((name) => `${name} = ${labelOf(row, [name])}`).join(", ") }));
    } catch (cause) {
      if (mine !== looking) return;
      const refused = cause instanceof Problem && cause.code === "wrong-scope";
      show(tupleCard, title, refused ? h("p", { class: "soft" }, "Single reports are for auditors: this key sees answers only.") : notice(cause));
    }
  };

  const people = Math.max(...services.map((service) => service.people));
  const confidence = menu(LEVELS.map((level) => [String(level), percent(level)]), String(state.confidence), (level) => {
    state.confidence = Number(level);
    void run(true);
  }, "Confidence of the intervals");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void run();
  });
  window.addEventListener("hashchange", () => {
    Object.assign(state, readState(location.hash));
    put(state.sql);
    void run(true);
  });
  put(state.sql);
  void run(true);
  const examples = demo.questions ?? [];
  return [
    h("div", { class: "head" }, h("h1", {}, "Ask"),
      h("p", { class: "facts" }, `${number(people, 9)} people · ε ${number(first.epsilon)} · ${services.map(({ name }) => name).join(", ")}`),
      h("div", { class: "row small" }, copyButton("Copy link", () => location.href, said), said)),
    examples.length > 0 ? h("div", { class: "examples", role: "group", "aria-label": "Questions to begin with" }, ...examples.map(({ title, sql }) =>
      h("button", { type: "button", onclick: () => { put(sql); void run(); } }, title))) : "",
    h("div", { class: "ask" },
      h("section", { class: "card", "aria-label": "Builder" }, h("h2", {}, "Builder"), build.element),
      h("section", { class: "card", "aria-label": "SQL" }, h("h2", {}, h("label", { for: "sql" }, "SQL")), write.element,
        forecast,
        h("div", { class: "row" }, runButton, h("label", {}, "Confidence ", confidence)),
        code.element)),
    results, curveCard, tupleCard,
  ];
}

/** Say what to expect, or why nothing can be said before running. */
function foretold({ problem, expected, unforeseen, people }: Draft): (HTMLElement | string)[] {
  if (problem) return [];
  const of = people === undefined ? "" : ` from ${number(people, 9)} people`;
  if (expected?.half_width === 0) return [`Before running: this is known without error${of}.`];
  if (expected?.half_width) return ["Before running: expect ", h("strong", {}, `± ${number(expected.half_width, 3)}`), ` for ${expected.column}${of}.`];
  return [`Before running: no forecast. ${unforeseen ?? "The error cannot be foretold."}`];
}
