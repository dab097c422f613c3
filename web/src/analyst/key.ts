/** The key of whoever asks: typed into the page, kept until the tab is closed, never stored. */
import { post, Problem } from "../shared/api.js";
import { h } from "../shared/dom.js";
import { notice } from "../shared/frame.js";
import type { Ask } from "./session.js";

let key = "";

export const keyNow = (): string => key;

export const ask: Ask = (path, body, signal) => post(path, key ? { key, ...body } : body, signal);

/** Whether a key is missing, wrong, or not for this. */
export const isRefusal = (cause: unknown): boolean => cause instanceof Problem && (cause.status === 401 || cause.status === 403);

/** Ask for a key, and go on with it. */
export function keyForm(go: () => void, cause: unknown): HTMLElement {
  const field = h("input", { type: "password", id: "key", autocomplete: "current-password", required: true });
  return h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); key = field.value; go(); } },
    key !== "" && cause !== null && notice(cause),
    h("p", {}, h("label", { for: "key" }, "This collector needs a key with the scope query: "), field, " ", h("button", { class: "main" }, "Continue")));
}
