/** A part of the screen that shows what belongs to a question, and turns grey when the box holds another one. */
import { type Child, h, redraw, show } from "../shared/dom.js";

export interface Stale {
  /** Why it does not belong to the box, in a few words. */
  readonly why: string;
  /** Whether it will be replaced in a moment: then nothing has to be offered. */
  readonly passing: boolean;
}

export interface Shows {
  readonly name: string;
  /** What it is drawn from; it is redrawn only if one of these has changed. */
  readonly from: () => readonly unknown[];
  /** What it shows; nothing if there is nothing to show. */
  readonly draw: () => Child[] | null;
  readonly stale: () => Stale | null;
  /** What it says above itself while it is stale, and nothing is on the way. */
  readonly note?: () => Child[];
}

export interface Panel {
  readonly element: HTMLElement;
  update(): void;
}

/** Make a panel. While it is stale its controls are off, so that nothing is taken from it by mistake. */
export function panel({ name, from, draw, stale, note }: Shows): Panel {
  const above = h("div", { class: "notice stale-note", role: "status", hidden: true });
  const content = h("fieldset", {});
  const element = h("section", { class: "card", hidden: true }, above, content);
  let drawn: readonly unknown[] = [];
  let said = "";
  return {
    element,
    update: () => {
      const now = from();
      if (now.length !== drawn.length || now.some((value, i) => value !== drawn[i])) {
        drawn = now;
        const children = draw();
        element.hidden = children === null;
        redraw(content, ...children ?? []);
      }
      const found = stale();
      const noted = note && found && !found.passing ? found.why : "";
      content.disabled = found !== null;
      element.classList.toggle("stale", found !== null);
      element.classList.toggle("passing", found?.passing ?? false);
      element.setAttribute("aria-label", found ? `${name}: ${found.why}` : name);
      content.querySelector("h2")?.setAttribute("data-why", found && !noted ? found.why : "");
      above.hidden = !noted;
      if (noted !== said) show(above, ...noted ? note!() : []);
      said = noted;
    },
  };
}
