/**
 * One question, one state. The box holds a question; a run holds a question with everything that was answered to it.
 * Panels draw a run or nothing, so no answer, verdict, file or tick can appear with another question:
 * a run whose question differs from the box is stale, and a run that fails has no answer. Replies belong to the run that
 * asked for them; those of a run that is neither running nor shown are dropped.
 */
import { Problem, replyOf } from "../shared/api.js";
import { soon } from "../shared/dom.js";
import { type Answer, type Curves, type Draft, type Exact, groupOf, isExact, type Model, rowOf, type Tuples } from "./model.js";
import { type Address, type Question, readAddress, sameQuestion, START, type View, writeAddress } from "./state.js";

/** Tuples of one page. */
export const PAGE = 25;

/** What the collector said, why it did not, or null while it is awaited. */
export type Reply<Found> = Found | Problem | null;

/** A question that was asked, and all that belongs to it. */
export interface Run {
  readonly question: Question;
  view: View;
  answer: Reply<Answer>;
  /** The truth, in demos only. */
  exact: Reply<Exact>;
  draft: Draft | null;
  /** The answer of the model, if it was wanted: closer as a rule, and not free of bias. */
  fitted: Reply<Answer>;
  curves: Reply<Curves>;
  /** A page of tuples, and the view that it was asked for. */
  tuples: { readonly view: View; readonly found: Tuples | Problem } | null;
  seconds: number;
}

/** What the collector said about a question that is being written; `model` if the builder wrote it. */
export interface Reading {
  readonly question: Question;
  readonly found: Draft | Problem;
  readonly fromBuilder: boolean;
}

export interface State {
  box: Question;
  /** What the builder says and the box does not say yet. */
  ahead: Model | null;
  reading: Reading | null;
  running: Run | null;
  shown: Run | null;
}

export type Ask = <Found>(path: string, body: object, signal?: AbortSignal) => Promise<Found>;

export interface Session {
  readonly state: State;
  write(sql: string): void;
  build(model: Model): void;
  setConfidence(level: number): void;
  /** Read again what is in the box. */
  read(): Promise<void>;
  /** Ask what is in the box. */
  run(view?: View): Promise<void>;
  /** Look at the answer in another way. */
  look(change: Partial<View>): void;
  /** Take the question of the answer back into the box. */
  takeBack(): void;
  /** The address of what is in the box, with how its answer is looked at. */
  address(): string;
}

/** Whether what is shown belongs to another question than the box holds, or will be replaced in a moment. */
export const isStale = ({ box, ahead, running, shown }: State): boolean =>
  shown !== null && (running !== null || ahead !== null || !sameQuestion(shown.question, box));

/** What was read of the box, if that is what is in it now. */
export const readingOf = ({ box, ahead, reading }: State): Reading | null =>
  reading && !ahead && sameQuestion(reading.question, box) ? reading : null;

/** Parts of a view that change the drawing alone. */
const DRAWN = new Set(["column", "first", "chart", "fitted"]);

/** What decides which tuples are shown. */
export const pageOf = ({ group, order, descending, measure, offset, part }: View): string =>
  JSON.stringify([group, order, descending, measure, offset, part]);

export function startSession(first: Address, ask: Ask, isDemo: boolean, changed: () => void): Session {
  const state: State = { box: first.question, ahead: null, reading: null, running: null, shown: null };
  let drafting = new AbortController();
  let asking = new AbortController();
  let addressed = first.question;
  /** The box or the model that is being read. */
  let underway: Question | Model | null = null;

  const stopReading = (): void => {
    drafting.abort();
    underway = null;
  };
  const read = async (): Promise<void> => {
    stopReading();
    const mine = drafting = new AbortController();
    const { box, ahead } = state;
    underway = ahead ?? box;
    const found = await replyOf(ask<Draft>("/v1/draft",
      { ...ahead ? { model: ahead } : { sql: box.sql }, confidence: box.confidence }, mine.signal));
    if (mine.signal.aborted) return; // something else is in the box by now
    if (ahead && !(found instanceof Problem)) {
      state.box = { ...box, sql: found.sql };
      state.ahead = null;
    }
    underway = null;
    state.reading = { question: state.box, found, fromBuilder: ahead !== null };
    changed();
  };
  const readSoon = soon(() => {
    if (!readingOf(state) && underway !== (state.ahead ?? state.box)) void read();
  }, 180);

  const settle = (run: Run): void => {
    state.running = null;
    state.shown = run;
    changed();
  };

  /** What a question that is asked again keeps of its view. */
  const keptView = ({ shown, box }: State): View => {
    if (!shown || !sameQuestion(shown.question, box)) return START;
    const { chart, fitted, column } = shown.view;
    return { ...START, chart, fitted, column };
  };

  const run = async (view: View = keptView(state)): Promise<void> => {
    asking.abort();
    const mine = asking = new AbortController();
    if (state.ahead) await read(); // the builder's question has to become SQL first
    if (mine.signal.aborted) return;
    const refused = state.ahead && state.reading?.found;
    const made: Run = state.running = {
      question: state.box, view, answer: null, exact: null, draft: null, fitted: null, curves: null, tuples: null, seconds: 0,
    };
    if (refused instanceof Problem) {
      made.answer = refused;
      return settle(made);
    }
    remember(made);
    changed();
    const known = readingOf(state)?.found;
    const drafted = known && !(known instanceof Problem) ? Promise.resolve() : read();
    const began = performance.now();
    const [answer, exact] = await Promise.all([
      replyOf(ask<Answer>("/v1/query", made.question, mine.signal)),
      isDemo ? replyOf(ask<Exact>("/demo/exact", { sql: made.question.sql }, mine.signal)) : null, drafted]);
    if (mine.signal.aborted) return;
    const seconds = (performance.now() - began) / 1000;
    const { reading } = state;
    const draft = reading && sameQuestion(reading.question, made.question) && !(reading.found instanceof Problem) ? reading.found : null;
    settle(Object.assign(made, { answer, exact, seconds, draft }));
    if (!(answer instanceof Problem)) await Promise.all([loadFitted(made), loadCurves(made), loadTuples(made)]);
  };

  const loadFitted = async (of: Run): Promise<void> => {
    if (!of.view.fitted || of.fitted) return;
    of.fitted = await replyOf(ask<Answer>("/v1/query", { ...of.question, consistent: true }, asking.signal));
    if (of === state.shown) changed();
  };

  const loadCurves = async (of: Run): Promise<void> => {
    if (of.answer && !(of.answer instanceof Problem) && isExact(of.answer)) return; // nothing could make it more accurate
    of.curves = await replyOf(ask<Curves>("/v1/curves", of.question, asking.signal));
    if (of === state.shown) changed();
  };

  const loadTuples = async (of: Run): Promise<void> => {
    if (!of.answer || of.answer instanceof Problem) return;
    const { view, answer } = of;
    const row = rowOf(answer, view.group);
    if (!row) return;
    const { order, descending, measure, offset, part } = view;
    const found = await replyOf(ask<Tuples>("/v1/contributions",
      { sql: of.question.sql, group: groupOf(answer, row), order, descending, measure, offset, part, limit: PAGE }, asking.signal));
    if (of !== state.shown || pageOf(view) !== pageOf(of.view)) return; // another page was asked for in between
    if (!(found instanceof Problem) && found.people > 0 && offset >= found.people) {
      return look({ offset: PAGE * Math.floor((found.people - 1) / PAGE) }); // the address is older than a deletion
    }
    of.tuples = { view, found };
    changed();
  };

  /** Put a run into the address: one entry of the history for each question. */
  const remember = ({ question, view }: Run): void => {
    const address = writeAddress(question, view);
    if (sameQuestion(question, addressed)) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    addressed = question;
  };

  const look = (change: Partial<View>): void => {
    const { shown } = state;
    if (!shown || isStale(state)) return;
    shown.view = { ...shown.view, ...change };
    history.replaceState(null, "", writeAddress(shown.question, shown.view));
    changed();
    if (change.fitted) void loadFitted(shown);
    if (Object.keys(change).some((word) => !DRAWN.has(word))) void loadTuples(shown);
  };

  const put = (question: Question): void => {
    stopReading();
    Object.assign(state, { box: question, ahead: null });
    readSoon();
    changed();
  };

  window.addEventListener("hashchange", () => {
    const given = readAddress(location.hash);
    if (!given) { // such as the link past the navigation
      history.replaceState(null, "", writeAddress(addressed, state.shown?.view ?? START));
      return;
    }
    addressed = given.question;
    put(given.question);
    void run(given.view);
  });

  return {
    state, read, run, look,
    write: (sql) => put({ ...state.box, sql }),
    build: (model) => {
      stopReading();
      state.ahead = model;
      readSoon();
      changed();
    },
    setConfidence: (confidence) => {
      const { shown, ahead, box } = state;
      const asked = shown && !ahead && sameQuestion(shown.question, box);
      put({ ...box, confidence });
      if (asked) void run(shown.view);
    },
    takeBack: () => { if (state.shown) put(state.shown.question); },
    address: () => location.origin + location.pathname +
      writeAddress(state.box, state.shown && !isStale(state) ? state.shown.view : START),
  };
}
