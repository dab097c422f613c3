/** A long list, part by part. */
import { h } from "../shared/dom.js";
import { number } from "../shared/numbers.js";

/** Which part of a list is shown. */
export interface Part {
  readonly first: number;
  readonly size: number;
  readonly all: number;
  readonly go: (first: number) => void;
}

/** Say which part of how many is shown, with buttons for the rest. */
export function pager(what: string, { first, size, all, go }: Part, about = ""): HTMLElement {
  const last = Math.min(first + size, all);
  const end = size * Math.floor(Math.max(0, all - 1) / size);
  const button = (name: string, to: number, off: boolean): HTMLElement =>
    h("button", { type: "button", "aria-label": `${name} ${what}`, disabled: off, onclick: () => go(to) }, name);
  return h("div", { class: "row pager" },
    h("span", { class: "soft", role: "status" }, all ? `${number(first + 1, 12)}–${number(last, 12)} of ${number(all, 12)} ${what}${about && `, ${about}`}` : `no ${what}`),
    all > size && h("span", { class: "row small" },
      button("First", 0, first === 0), button("Back", Math.max(0, first - size), first === 0),
      button("Next", first + size, last >= all), button("Last", end, last >= all)));
}
