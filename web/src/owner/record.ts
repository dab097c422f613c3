/** The person's record: budget over services, every receipt, and the way out. */
import type { Receipt } from "@tacit/client";
import { stackedBar } from "../shared/charts.js";
import { type Child, download, h, scroller } from "../shared/dom.js";
import { number } from "../shared/numbers.js";
import { stateBadge } from "./leaves.js";
import { markField } from "./trouble.js";
import { type Period, PERIODS, type Session, stateOf } from "./session.js";

export interface RecordView {
  readonly session: Session;
  readonly oncap: (change: { cap?: string; per?: Period }) => void;
  readonly onforget: () => void;
}

export function budgetBar({ history, budget }: Session): SVGElement {
  const parts = new Map<string, number>();
  const counts = history.filter(({ day }) => !budget.days || Date.parse(day) + budget.days * 86_400_000 > Date.now());
  for (const { service, epsilon } of counts.filter((receipt) => receipt.epsilon > 0)) parts.set(service, (parts.get(service) ?? 0) + epsilon);
  const listed = [...parts].map(([label, value]) => ({ label, value }));
  const words = listed.map(({ label, value }) => `${label} ${number(value)}`).join(", ") || "nothing yet";
  return stackedBar(listed, budget.cap, `Spent: ${words}; ${number(budget.spent)} of ${number(budget.cap)}.`);
}

export function recordView({ session, oncap, onforget }: RecordView): Child[] {
  const { history, budget, settings } = session;
  const sure = h("dialog", { "aria-labelledby": "sure" },
    h("h2", { id: "sure" }, "Forget me here?"),
    h("p", {}, "Your reports are deleted on this device and at the collector, and you no longer take part in this round. " +
      "Your spent budget stays spent: deleting does not undo what others may have learned."),
    h("form", { method: "dialog", class: "row" },
      h("button", {}, "Stay"), h("button", { class: "danger", onclick: onforget }, "Forget me")));
  return [
    h("h3", {}, "Budget over all services and rounds"),
    budgetBar(session),
    h("p", { class: "row" },
      h("span", { id: "spent" }, `${number(budget.spent)} of ${number(budget.cap)} spent, ${number(budget.left)} left. ${renewal(session)}`),
      h("label", { for: "cap" }, "My cap "),
      h("input", {
        id: "cap", type: "number", min: 0.1, max: 30, step: 0.1, value: settings.cap, size: 5,
        onchange: (event) => {
          const field = event.target as HTMLInputElement;
          if (field.value && field.checkValidity()) oncap({ cap: field.value });
          else markField(field, new Error(`Your cap stays ${settings.cap}: a cap is a number from 0.1 to 30, in tenths.`));
        },
      }),
      h("label", { for: "per" }, "It renews "),
      h("select", { id: "per", onchange: (event) => oncap({ per: PERIODS[(event.target as HTMLSelectElement).selectedIndex]! }) },
        ...PERIODS.map((per) => h("option", { value: per, selected: per === settings.per }, per ? `after a ${per}` : "never")))),
    h("p", {}, h("small", {}, settings.per
      ? `You spend at most your cap in any ${budget.days} consecutive days. The guarantee covers each such period; over several periods, losses add up.`
      : "Your cap never renews: once it is spent, you cannot take part in further rounds unless you raise it or let it renew.")),
    ...walletView(session),
    h("h3", {}, "My reports"),
    history.length ? scroller("Receipts", table(history)) : h("p", { class: "soft" }, "Nothing yet."),
    h("p", { class: "row" },
      h("button", {
        type: "button", disabled: !history.length,
        onclick: () => download("my-tacit-reports.json", JSON.stringify({ person: settings.person, receipts: history }, null, 1)),
      }, "Download everything"),
      h("button", { type: "button", class: "danger", onclick: () => sure.showModal() }, "Forget me …")),
    sure,
  ];
}

function table(history: readonly Receipt[]): HTMLElement {
  const head = ["Day", "Service", "Round", "Tier", "ε", "Reports", "State"];
  return h("table", { id: "history" },
    h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...history.map((receipt) => h("tr", {},
      h("td", {}, receipt.day), h("td", {}, receipt.service), h("td", {}, receipt.round || "–"), h("td", {}, receipt.tier || "–"),
      h("td", {}, number(receipt.epsilon)), h("td", {}, receipt.reports.length), h("td", {}, stateBadge(stateOf(receipt)))))));
}

/** Say when something that was spent stops counting. */
function renewal({ budget }: Session): string {
  if (!budget.days) return "";
  return budget.renews ? `The oldest charge stops counting on ${budget.renews}.` : `A charge counts for ${budget.days} days.`;
}

/** Say where the wallet is, and what losing it means. */
function walletView({ kept }: Session): Child[] {
  return [
    kept === false && h("p", { class: "notice", id: "not-kept" }, "This browser does not guarantee to keep the wallet: it may delete it when space is short, or after " +
      "weeks without a visit. Allow this site to store data, or bookmark or install it."),
    h("p", { id: "lost" }, h("small", {}, "Your wallet is stored in this browser only. If it is lost (site data cleared, a private window, another device), this browser forgets what you " +
      "spent and draws reports again. Someone who sees two draws learns more than from one. If your app passes this page " +
      "a token, the page asks the collector first, and does not draw reports that the collector already has.")),
  ];
}
