/** A page of several answers, by link: each question with its verdict, chart and table, asked anew when the page opens. */
import { adviceOf, headline, notCounted } from "../analyst/answer.js";
import { chart, legend } from "../analyst/chart.js";
import { ask, isRefusal, keyForm } from "../analyst/key.js";
import { shownOf } from "../analyst/marks.js";
import type { Answer, Draft } from "../analyst/model.js";
import { readBoard, type Saved, writeBoard } from "../analyst/saved.js";
import type { Run } from "../analyst/session.js";
import { copyButton } from "../analyst/share.js";
import { readAddress } from "../analyst/state.js";
import { answerTable } from "../analyst/table.js";
import { Problem, replyOf } from "../shared/api.js";
import { type Child, h, scroller, show } from "../shared/dom.js";
import { notice, open } from "../shared/frame.js";

/** Questions that are asked at the same time: a collector limits how many a key may ask. */
const AT_ONCE = 2;

/** Counts the times the page was drawn: what was asked for an earlier drawing is not asked any more. */
let drawing = 0;

/** Rows of a tile's table and bars. */
const ROWS = 12;

void open(() => Promise.resolve([board()]));

function board(): HTMLElement {
  const root = h("div", {});
  const draw = (): void => drawBoard(root, draw);
  window.addEventListener("hashchange", draw);
  draw();
  return root;
}

function drawBoard(root: HTMLElement, draw: () => void): void {
  const { title, tiles } = readBoard(location.hash);
  drawing++;
  if (!tiles.length) {
    show(root, h("h1", {}, "Several answers on one page"),
      h("p", { class: "card" }, "This page has no questions. Save questions at ", h("a", { href: "/query" }, "Ask"), " and choose “All on one page”; the link holds the questions, and no answer."));
    return;
  }
  const put = (changed: readonly Saved[], name = title): void => {
    history.replaceState(null, "", writeBoard(name, changed));
    draw();
  };
  const said = h("span", { class: "soft", role: "status" });
  const cards = tiles.map((tile, i) => tileCard(tile, [
    i > 0 && h("button", { type: "button", "aria-label": `Move ${tile.name} up`, onclick: () => put(tiles.map((one, j) => j === i - 1 ? tile : j === i ? tiles[i - 1]! : one)) }, "↑"),
    h("button", { type: "button", "aria-label": `Remove ${tile.name} from this page`, onclick: () => put(tiles.filter((_, j) => j !== i)) }, "×")], draw));
  document.title = `${title || "Several answers"} · tacit`;
  const field = h("input", { id: "title", value: title, placeholder: "Title of this page", autocomplete: "off", maxlength: 120,
    onchange: () => put(tiles, field.value.trim()) });
  show(root,
    h("div", { class: "head" }, h("h1", {}, title || "Several answers"),
      h("div", { class: "row small" }, h("label", { for: "title", class: "hidden" }, "Title of this page"), field,
        h("button", { type: "button", onclick: draw }, "Ask again"), copyButton("Copy link", () => location.href, said), said)),
    h("div", { class: "tiles" }, ...cards.map(({ element }) => element)));
  void inTurn(cards.map(({ load }) => load));
}

/** Run tasks, so many at a time. */
async function inTurn(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const waiting = [...tasks];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await next();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function tileCard({ name, address }: Saved, controls: Child[], again: () => void): { element: HTMLElement; load: () => Promise<void> } {
  const content = h("div", {}, h("p", { class: "soft", role: "status" }, "Asking…"));
  const element = h("section", { class: "card tile", "aria-label": name },
    h("div", { class: "head" }, h("h2", {}, h("a", { href: `/query#${address}`, title: "Open this question" }, name)), h("div", { class: "row small" }, ...controls)), content);
  const mine = drawing;
  const load = async (): Promise<void> => {
    if (mine !== drawing) return;
    const given = readAddress(address);
    if (!given) return show(content, notice(new Problem("bad-address", "This link holds no question here.")));
    const began = performance.now();
    const [answer, draft] = await Promise.all([
      replyOf(ask<Answer>("/v1/query", { ...given.question, ...given.view.fitted ? { consistent: true } : {} })),
      replyOf(ask<Draft>("/v1/draft", given.question))]);
    const run: Run = {
      ...given, view: { ...given.view, fitted: false }, answer, exact: null, draft: draft instanceof Problem ? null : draft, fitted: null, curves: null, tuples: null,
      seconds: (performance.now() - began) / 1000,
    };
    if (answer instanceof Problem) {
      show(content, isRefusal(answer) ? keyForm(again, answer) : notice(answer),
        !isRefusal(answer) && h("button", { type: "button", onclick: () => { show(content, h("p", { class: "soft", role: "status" }, "Asking…")); void load(); } }, "Try again"));
    } else show(content, ...tile(run, answer, given.view.fitted, element.clientWidth - 40));
  };
  return { element, load };
}

function tile(run: Run, answer: Answer, fitted: boolean, width: number): Child[] {
  if (!answer.rows.length) return [notCounted(answer), h("p", {}, "No rows: no group meets the question's conditions.")];
  const shown = shownOf(run, answer, () => undefined);
  const page: [number, number] = [0, Math.min(ROWS, answer.rows.length)];
  const single = answer.rows.length === 1 && !shown.groups.length;
  return [
    notCounted(answer), single && headline(shown.marks[0]!, run), adviceOf(shown),
    fitted && h("p", { class: "soft" }, "Fitted by a model of all reports."),
    !single && h("div", {}, ...chart(shown, page, Math.max(280, width)), legend(shown)),
    h("details", {}, h("summary", {}, answer.rows.length > ROWS ? `Table, first ${ROWS} of ${answer.rows.length} rows` : "Table"), scroller(`Answer as a table`, answerTable(shown, page))),
    h("p", { class: "soft small" }, `Asked at ${new Date().toLocaleTimeString("en-GB")}, ${run.seconds.toFixed(2)} s.`),
  ];
}
