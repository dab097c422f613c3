/** What all screens do when they open: mark the current one, say if this is a demo, and never fail silently. */
import { demo, type Demo, Problem } from "./api.js";
import { byId, type Child, h, show } from "./dom.js";

/** Open a screen: `draw` returns what the page's main element holds. */
export async function open(draw: (demo: Demo) => Promise<Child[]>): Promise<void> {
  const screen = document.body.className;
  document.querySelector(`[data-screen="${screen}"]`)?.setAttribute("aria-current", "page");
  const main = byId("main");
  try {
    const found = await demo();
    if (found.demo) show(byId("mark"), h("span", { class: "badge" }, "Demo: invented people"));
    show(main, ...await draw(found));
  } catch (cause) {
    show(main, h("h1", {}, "This page could not be opened"), notice(cause));
    if (!(cause instanceof Problem)) throw cause; // ours: the console has the place
  }
}

/** Say what is wrong, in words; read out as soon as it appears. */
export function notice(cause: unknown): HTMLElement {
  const detail = cause instanceof Problem ? cause.detail : cause instanceof Error ? cause.message : String(cause);
  return h("p", { class: "notice bad", role: "alert" }, detail);
}
