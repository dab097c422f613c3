/** Questions that the analyst has saved in this browser, and the address of a page that shows several of them. */
import { type Child, h, show } from "../shared/dom.js";

/** A question with its name: the address, without #, as `writeAddress` makes it. */
export interface Saved {
  readonly name: string;
  readonly address: string;
}

const STORE = "tacit.questions";

/** More questions than this make no list any more. */
const MOST = 100;

/** The longest name, so that lists stay lists. */
const LONGEST = 80;

/** Read what was saved here; a browser that keeps nothing, or holds something else, has none. */
export function readSaved(): Saved[] {
  try {
    const given: unknown = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return Array.isArray(given) ? given.filter(isSaved).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

const isSaved = (one: unknown): one is Saved =>
  typeof (one as Saved | null)?.name === "string" && typeof (one as Saved).address === "string";

/** Keep questions in this browser; tell whether it does. */
function writeSaved(saved: readonly Saved[]): boolean {
  try {
    localStorage.setItem(STORE, JSON.stringify(saved));
    return true;
  } catch {
    return false;
  }
}

/** The part after # of a page of several questions: a title, and each question with its name. */
export function writeBoard(title: string, saved: readonly Saved[]): string {
  const given = new URLSearchParams();
  if (title) given.set("title", title);
  for (const { name, address } of saved) given.append("a", `${address}&n=${encodeURIComponent(name)}`);
  return `#${given}`;
}

/** Read the part after # of a page of several questions. */
export function readBoard(fragment: string): { title: string; tiles: Saved[] } {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  return {
    title: given.get("title") ?? "",
    tiles: given.getAll("a").slice(0, MOST).map((one) => {
      const parts = new URLSearchParams(one);
      const name = parts.get("n") ?? "";
      parts.delete("n");
      return { name: name || (parts.get("q") ?? ""), address: String(parts) };
    }),
  };
}

/** Draw the saved questions, and a form that saves the one in the box. */
export function savedView(addressNow: () => string, nameNow: () => string, openAddress: (address: string) => void): HTMLElement {
  const element = h("div", { class: "saved" });
  const said = h("span", { class: "soft", role: "status" });
  const draw = (naming = false): void => {
    const saved = readSaved();
    const put = (changed: readonly Saved[], text: string): void => {
      const kept = writeSaved(changed);
      draw();
      show(said, kept ? text : "This browser keeps nothing for pages. Copy the link instead.");
      element.querySelector<HTMLElement>(".save")?.focus();
    };
    show(element,
      saved.length > 0 && h("ul", { "aria-label": "Saved questions" }, ...saved.map(({ name, address }) => h("li", { class: "chip" },
        h("button", { type: "button", class: "pick", onclick: () => openAddress(address) }, name),
        h("button", { type: "button", class: "remove", "aria-label": `Delete the saved question ${name}`, onclick: () => put(saved.filter((one) => one.name !== name), "Deleted.") }, "×")))),
      naming ? nameForm(nameNow(), (name) => put([...saved.filter((one) => one.name !== name), { name, address: addressNow().replace(/^.*#/, "") }].slice(-MOST), "Saved in this browser."), () => draw())
        : h("button", { type: "button", class: "save", onclick: () => { draw(true); element.querySelector("input")?.select(); } }, "Save this question"),
      saved.length > 1 && h("a", { class: "button", href: `/board${writeBoard("", saved)}` }, `All ${saved.length} on one page`), said);
  };
  draw();
  return element;
}

function nameForm(name: string, save: (name: string) => void, cancel: () => void): Child {
  const field = h("input", { value: name.slice(0, LONGEST), maxlength: LONGEST, required: true, id: "name", class: "value wide", autocomplete: "off" });
  return h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); if (field.value.trim()) save(field.value.trim()); }, onkeydown: (event) => { if ((event as KeyboardEvent).key === "Escape") cancel(); } },
    h("label", { for: "name" }, "Name "), field, h("button", { class: "main" }, "Save"), h("button", { type: "button", onclick: cancel }, "Cancel"));
}
