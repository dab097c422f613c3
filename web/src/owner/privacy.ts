/** The choice: how much anyone may learn at most, in one sentence, and what it costs. */
import { guarantee } from "@tacit/client/preview";
import { type Child, h, show, svg } from "../shared/dom.js";
import { certainty, number } from "../shared/numbers.js";
import { type Contract, serviceBudget } from "../shared/words.js";
import type { Session } from "./session.js";

export interface PrivacyView {
  readonly session: Session;
  readonly service: string;
  /** The contract of each tier. */
  readonly contracts: ReadonlyMap<string, Contract>;
  /** What answers tell others, of each tier; empty where the collector does not say. */
  readonly readers: ReadonlyMap<string, string>;
  /** Whether the choice has been made. */
  readonly locked: boolean;
  readonly onchoose: () => void;
}

export function privacyView(view: PrivacyView): Child[] {
  const { session, locked, onchoose } = view;
  const { tiers } = session.round;
  const below = h("div", { "aria-live": "polite" }, ...consequences(view));
  const label = (): string => `${session.tier.tier || "the one setting"}, ε ${number(session.tier.epsilon)}`;
  const slider = h("input", {
    id: "tier", type: "range", min: 0, max: tiers.length - 1, step: 1, value: tiers.indexOf(session.tier), disabled: locked,
    "aria-valuetext": label(), "aria-describedby": "promise",
    oninput: () => { // redrawing it would drop the pointer's drag
      session.tier = tiers[Number(slider.value)]!;
      slider.setAttribute("aria-valuetext", label());
      show(below, ...consequences(view));
    },
    onchange: onchoose,
  });
  return [
    tiers.length > 1 && h("label", { for: "tier" }, "How much may anyone learn about you in this round?"),
    tiers.length > 1 && slider,
    below,
    locked && h("p", {}, h("small", {}, `You report as ${label()} in this round. A second choice would spend both budgets, so you can choose again in the next round.`)),
  ];
}

/** Say what the chosen tier means. */
function consequences({ session, service, contracts, readers }: PrivacyView): Child[] {
  const { tiers } = session.round;
  const { epsilon, id } = session.tier;
  const contract = contracts.get(id)!;
  const rules = contract.services.find(({ name }) => name === service)!;
  const own = serviceBudget(rules);
  return [
    tiers.length > 1 && h("div", { class: "stops", "aria-hidden": "true" }, ...tiers.map((tier) =>
      h("span", { class: tier === session.tier ? "here" : "" }, tier.tier, h("br"), `ε ${number(tier.epsilon)}`))),
    h("div", { id: "promise", class: "promise" }, ...guarantee(contract, rules).map((sentence) => h("p", {}, sentence))),
    readers.get(id) && h("p", { id: "readers" }, "The collector, who sees the reports: as above. ", readers.get(id)),
    gauge(own, epsilon),
  ];
}

/** Draw how far a certainty can rise from one half: by one report, and by all of them. */
function gauge(own: number, all: number): SVGElement {
  const [left, width] = [4, 352];
  const x = (share: number): number => left + width * (2 * share - 1);
  const [most, total] = [own, all].map((epsilon) => 1 / (1 + Math.exp(-epsilon))) as [number, number];
  const sentence = `Certainty: from 50 % to at most ${certainty(own)} by this report, ${certainty(all)} by all.`;
  return svg("svg", { class: "chart gauge", viewBox: "0 0 360 54", role: "img", "aria-label": sentence },
    svg("rect", { class: "track", x: left, y: 18, width, height: 14, rx: 7 }),
    svg("rect", { class: "all", x: x(0.5), y: 18, width: x(total) - x(0.5), height: 14 }),
    svg("rect", { class: "own", x: x(0.5), y: 18, width: x(most) - x(0.5), height: 14 }),
    svg("line", { class: "cap", x1: x(most), x2: x(most), y1: 14, y2: 36 }),
    svg("text", { x: x(most), y: 10, "text-anchor": most > 0.85 ? "end" : "middle" }, certainty(own)),
    svg("text", { x: x(0.5), y: 50, "text-anchor": "start" }, "no idea, 50\u00a0%"),
    svg("text", { x: x(1), y: 50, "text-anchor": "end" }, "certain, 100\u00a0%"));
}
