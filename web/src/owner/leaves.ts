/** What is sent: the exact bytes of each report beside the row they were drawn from, and what they could mean. */
import type { Budget, Preview, Receipt } from "@tacit/client";
import { probabilityBars, type Guess } from "../shared/charts.js";
import { type Child, h } from "../shared/dom.js";
import { listed, number, percent } from "../shared/numbers.js";
import type { Rows } from "./rows.js";
import type { Access, State } from "./session.js";

type Meaning = Preview["meanings"][number];

/** Return the body of the request, as the network panel of a browser shows it. */
function requestText(leaves: readonly string[], { key, token }: Access): string {
  const access = JSON.stringify({ tacit: 1, key: key || undefined, token: token || undefined }).slice(0, -1);
  return `${access},"reports":[${leaves.join()}]}`;
}

/** Show a report; `rows` is null where it was drawn on an earlier visit, whose rows nothing keeps. */
export function leavesView(preview: Preview, rows: Rows | null, access: Access): Child[] {
  const bytes = new TextEncoder().encode(preview.leaves.join("")).length;
  return [
    h("div", { class: "grid" },
      h("div", {}, h("h3", {}, "On this device"), h("pre", { id: "raw" }, rows === null ? "not stored: drawn on an earlier visit or in another tab"
        : rows.length ? rows.map((row) => JSON.stringify(row)).join("\n") : "no rows")),
      h("div", {}, h("h3", {}, `What is sent: ${bytes} bytes`), h("pre", { id: "leaves" }, preview.leaves.join("\n")),
        h("p", { class: "row" },
          isSecureContext && h("button", { type: "button", onclick: () => void navigator.clipboard.writeText(preview.leaves.join("\n")) }, "Copy"),
          h("details", {}, h("summary", {}, "The whole request"), h("pre", { id: "request" }, requestText(preview.leaves, access)))))),
    h("p", { id: "said" }, preview.sentence),
    h("h3", {}, "What the codes could mean"),
    ...preview.meanings.map(meaningView),
    h("p", {}, h("small", {}, "Every code is possible for every row. The bars show what someone with no other knowledge would believe after " +
      "seeing the code. That is all the code reveals, and your true values need not be among the likely ones.")),
  ];
}

function meaningView(meaning: Meaning): HTMLElement {
  const { code, about, cells, fitting, slot, kept } = meaning;
  const topic = about.length ? `is about ${listed(about)} only` : "is only about whether there are rows";
  const many = fitting === undefined ? "too many to list" : `${number(fitting, 9)} of ${number(cells, 9)}`;
  return h("div", { class: "meaning" },
    h("p", {}, `Report ${slot + 1}, code ${number(code, 16)} `, h("strong", {}, topic),
      cells > 1 ? `: ${many} possible answers fit it best. Yours is among them with probability ${percent(kept, 1)}.`
        : ", and reveals nothing."),
    fitting !== undefined && cells > 1 && probabilityBars(guesses(meaning), `${many} answers fit best.`));
}

/** Return what someone with no other knowledge would believe: each fitting guess is `ratio` times as likely as another. */
function guesses({ likely, fitting = 0, cells, ratio }: Meaning): Guess[] {
  const total = fitting * ratio + cells - fitting;
  const found = likely.map((label) => ({ label, probability: ratio / total, fits: true }));
  const more = fitting - likely.length;
  if (more > 0) {
    const label = more === 1 ? "one more like these" : `each of ${number(more, 9)} more like these`;
    found.push({ label, probability: ratio / total, fits: true });
  }
  const rest = cells - fitting;
  const others = { label: rest === 1 ? "the other one" : `each of the other ${number(rest, 9)}`, probability: 1 / total, fits: false };
  return fitting < cells ? [...found, others] : found;
}

const WORDS: Record<State, string> = {
  raw: "not encoded", held: "encoded, still here", waiting: "waiting to be sent", stored: "received",
  refused: "refused", forgotten: "forgotten", taken: "reported before",
};

export function stateBadge(state: State): HTMLElement {
  const kind = { raw: "plain", held: "", waiting: "", stored: "good", refused: "bad", forgotten: "plain", taken: "good" }[state];
  return h("span", { class: `badge ${kind}` }, WORDS[state]);
}

/** Why collectors refuse reports, in words; other codes are shown as they are. */
const REFUSALS: Readonly<Record<string, string>> = {
  "report-differs": "another report arrived under your name first, from another device or profile, and the first one counts",
  "wrong-tier": "you have reported in another tier of this round",
  forgotten: "you asked to be forgotten in this round",
  "unknown-collection": "it no longer takes part in this round",
};

/** Say what became of a report. */
export function receiptView(receipt: Receipt, state: State, { spent, cap, days }: Budget): HTMLElement {
  const codes = [...new Set(receipt.reports.flatMap(({ code }) => code ? [code] : []))];
  const said: Record<State, string> = {
    raw: "", held: "", taken: "The collector already has your report to this service, from another device or from a wallet that was lost. " +
      "Nothing was drawn, sent or charged here.",
    forgotten: "Your report was deleted. What was spent stays spent; the next round is open.",
    waiting: "Your report waits on this device until the collector accepts it.",
    stored: `The collector has your report: ${receipt.service}, collection ${receipt.collection.slice(0, 12)}…, ${receipt.day}. It cost ` +
      `ε ${number(receipt.epsilon)}; over all services ${number(spent)} of your ${number(cap)}${days ? ` per ${days} days` : ""} is spent. Sending it again would change nothing.`,
    refused: `The collector refused your report: ${codes.map((code) => REFUSALS[code] ?? code).join(", ")}. It is not sent again. [${codes.join(", ")}]`,
  };
  const kind = state === "stored" ? "good" : state === "refused" ? "bad" : "";
  return h("p", { class: `notice ${kind}`, role: "status", id: "receipt", tabindex: -1 }, said[state]);
}
