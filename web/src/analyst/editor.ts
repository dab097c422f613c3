/** The SQL editor: a plain text area over a copy of its text, which shows words of SQL and the place of a problem. */
import { h, show } from "../shared/dom.js";

const WORDS = new Set(("select from where and or not in between is null group by order having limit join on using as asc desc " +
  "case when then else end filter distinct true false count sum avg stddev stddev_pop stddev_samp variance var_pop explain").split(" "));

export interface Editor {
  readonly element: HTMLElement;
  set(text: string): void;
  /** Mark where something is wrong and say what; nothing is marked without a span. */
  mark(detail: string | null, span?: readonly [number, number] | null): void;
  /** Move the cursor to what is marked. */
  go(): void;
}

export function editor(onchange: (text: string) => void): Editor {
  let marked: [number, number] | null = null;
  const copy = h("pre", { class: "copy", "aria-hidden": true });
  const area = h("textarea", {
    id: "sql", rows: 5, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "problem",
    oninput: () => {
      marked = null;
      draw();
      onchange(area.value);
    },
    onscroll: () => { copy.scrollTop = area.scrollTop; copy.scrollLeft = area.scrollLeft; },
  });
  const problem = h("p", { id: "problem", class: "problem", role: "status" });
  const draw = (): void => show(copy, ...coloured(area.value, marked), "\n");
  return {
    element: h("div", {}, h("div", { class: "editor" }, copy, area), problem),
    set: (text) => {
      if (area.value === text) return;
      area.value = text;
      marked = null;
      draw();
    },
    mark: (detail, span) => {
      const place: typeof marked = detail && span ? [unit(area.value, span[0]), unit(area.value, span[1])] : null;
      const line = place ? `Line ${area.value.slice(0, place[0]).split("\n").length}: ` : "";
      const words = detail ? `${line}${detail}` : "";
      if (String(place) === String(marked) && words === problem.textContent) return; // it was read out already
      marked = place;
      area.setAttribute("aria-invalid", String(detail !== null));
      show(problem, words);
      draw();
    },
    go: () => {
      area.focus();
      if (marked) area.setSelectionRange(...marked);
    },
  };
}

/** The collector counts characters, the browser counts pairs of bytes. */
function unit(text: string, place: number): number {
  return Array.from(text).slice(0, place).join("").length;
}

/** Return a text in pieces: words, constants, and what is marked. */
function coloured(text: string, marked: readonly [number, number] | null): (HTMLElement | string)[] {
  if (!marked) return pieces(text);
  const [start, end] = [marked[0], Math.max(marked[1], marked[0] + 1)];
  return [...pieces(text.slice(0, start)), h("mark", {}, text.slice(start, end) || " "), ...pieces(text.slice(end))];
}

function pieces(text: string): (HTMLElement | string)[] {
  return (text.match(/'(?:[^']|'')*'?|[A-Za-z_]\w*|\d+(?:\.\d+)?|[^A-Za-z_'\d]+/g) ?? []).map((piece) => {
    if (WORDS.has(piece.toLowerCase())) return h("b", {}, piece);
    return /^['\d]/.test(piece) ? h("i", {}, piece) : piece;
  });
}
