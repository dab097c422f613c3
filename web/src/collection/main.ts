/** A collection in words: what is collected, how it is perturbed, what anyone can learn at most, and the proof. */
import { audit, Interpreter } from "@tacit/client";
import { collections, get, getBytes, type Listed, Problem, replyOf } from "../shared/api.js";
import { type Child, h, isolated, scroller } from "../shared/dom.js";
import { open } from "../shared/frame.js";
import { certainty, listed, number } from "../shared/numbers.js";
import { type Central, readersText } from "../shared/readers.js";
import { budget, type Contract, domainText, openColumns, rowsText, type Service, serviceBudget, treatmentText } from "../shared/words.js";

/** Values that a sentence names, and those that the page lists. */
const [SHORT, MOST_LISTED] = [12, 2_000];

/** The collector's exact audit. */
interface Audit {
  readonly ok: boolean;
  readonly worst_loss: number | null;
  readonly epsilon: string;
  readonly central?: Central;
  readonly codes?: Codes;
  readonly channels: readonly {
    readonly service: string; readonly channel: string; readonly reports: number; readonly epsilon: string;
    readonly realised: number | null; readonly oracle: string; readonly problem: string;
  }[];
}

/** How many codes the views have, and those with the most. */
interface Codes {
  readonly views: number;
  readonly codes: number;
  readonly largest: readonly {
    readonly service: string; readonly shows: string; readonly cells: number; readonly oracle: string; readonly codes: number;
  }[];
}

void open(async () => {
  const id = decodeURIComponent(location.pathname.split("/").at(-1)!);
  const path = `/v1/collections/${encodeURIComponent(id)}`;
  const bytes = await getBytes(path).catch((cause: unknown) => {
    if (cause instanceof Problem && cause.status === 404) return null;
    throw cause; // it may well be there
  });
  if (!bytes) return [h("h1", {}, "There is no such collection here"), h("p", {}, h("a", { href: "/" }, "What is collected here"))];
  const [text, hash] = [new TextDecoder().decode(bytes), await hashOf(bytes)];
  const contract = JSON.parse(text) as Contract;
  const [checked, published] = await Promise.all([replyOf(get<Audit>(`${path}/audit`)), replyOf(collections())]);
  const own = ownAudit(text);
  const isOther = hash !== null && hash !== id;
  const holds = !isOther && !own && (checked instanceof Problem || checked.ok);
  return [
    h("h1", {}, listed(contract.services.map(({ name }) => isolated(name)))),
    h("p", {}, labels(contract)),
    isOther && h("p", { class: "notice bad", role: "alert" }, "This contract is not the one that this address names: its hash differs. Do not use it."),
    h("section", { class: "card" }, h("h2", {}, "What anyone can learn"), ...promise(contract, { ok: holds }),
      !(checked instanceof Problem) && checked.central && h("p", { id: "readers" }, readersText(checked.central))),
    ...contract.services.map(serviceView),
    !(published instanceof Problem) && tiersView(published, id),
    h("section", { class: "card", id: "audit" }, h("h2", {}, "The audit"), ...auditView(checked, own)),
    !(checked instanceof Problem) && checked.codes && codesView(checked.codes),
    h("section", { class: "card" }, h("h2", {}, "The contract itself"),
      h("p", {}, "Clients, collector and analysts use the same bytes; their SHA-256 is the collection's id."),
      h("dl", { class: "facts" },
        h("dt", {}, "Id"), h("dd", {}, h("code", {}, id)),
        h("dt", {}, "Computed here"), h("dd", { id: "hash" }, ...hash === null
          ? [h("span", { class: "badge plain" }, "not computed"), " Browsers do that on https pages only."]
          : [h("code", {}, hash), " ", h("span", { class: isOther ? "badge bad" : "badge good" }, isOther ? "different" : "the same")]),
        h("dt", {}, "Size"), h("dd", {}, `${number(bytes.length, 9)} bytes`)),
      h("p", {}, h("a", { class: "button", href: path, download: `${id.slice(0, 12)}.json` }, "Download the contract"))),
  ];
});

function labels({ round, tier, mechanism }: Contract & { mechanism?: string }): string {
  return [round && `Round ${round}.`, tier && `Tier ${tier}.`, mechanism !== "auto" && `Layout ${mechanism}.`].filter(Boolean).join(" ");
}

function promise(contract: Contract, checked: Pick<Audit, "ok">): Child[] {
  const epsilon = budget(contract.epsilon);
  const open = listed([...new Set(contract.services.flatMap(openColumns))]);
  const { panel, rounds, reports } = contract;
  const span = panel ? `in the ${number(rounds!)} rounds of panel ${isolated(panel)}, in ${number(reports!)} of which each person is asked,` : "in this round";
  return [
    h("p", { class: "promise" }, `Sent unchanged: ${open}, and that a person takes part. Someone who knows that and sees everything a person sends ${span} can raise a certainty ` +
      "of 50\u00a0% about anything else in their rows to at most ",
      h("strong", {}, certainty(epsilon)), ` (ε = ${number(epsilon)}).`),
    h("p", {}, checked.ok ? "The audit below proves it exactly, with fractions, from the thresholds that encoders use."
      : "The audit below failed. Do not use this contract."),
  ];
}

function serviceView(service: Service): HTMLElement {
  const own = serviceBudget(service);
  return h("section", { class: "card" }, h("h2", {}, service.name),
    h("p", {}, `${rowsText(service)} It spends ε = ${number(own)}: from 50\u00a0% to at most ${certainty(own)}. Sent unchanged: ${listed(openColumns(service))}.`),
    service.why && h("p", { class: "reason" }, `How reports are drawn: ${service.layout}, ${isolated(service.why)}.`),
    scroller(`Attributes of ${service.name}`, h("table", { class: "attributes" },
      h("thead", {}, h("tr", {}, ...["Attribute", "Values", "What happens to it"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...service.attributes.map((attribute) => h("tr", {},
        h("th", { scope: "row" }, isolated(attribute.name), attribute.kind === "public" && " ", attribute.kind === "public" && h("span", { class: "badge" }, "public")),
        h("td", {}, domainText(attribute), allValues(attribute)), h("td", {}, treatmentText(attribute))))))));
}

/** Values of which the sentence names the first ones. */
function allValues({ values = [] }: Service["attributes"][number]): Child {
  return values.length > SHORT && h("details", {}, h("summary", {}, values.length > MOST_LISTED ? `the first ${number(MOST_LISTED, 9)} of ${number(values.length, 9)}` : `all ${number(values.length, 9)}`),
    h("p", { class: "values" }, values.slice(0, MOST_LISTED).map((value) => isolated(String(value))).join(", ")),
    values.length > MOST_LISTED && h("p", {}, "The contract below has all of them."));
}

function tiersView(published: readonly Listed[], id: string): Child {
  const here = published.find((one) => one.id === id);
  const tiers = published.filter((one) => here && one.round === here.round && one.services.join() === here.services.join());
  return tiers.length > 1 && h("section", { class: "card" }, h("h2", {}, "Tiers"),
    h("p", {}, "Each person chooses one of these for the whole round; answers combine all of them."),
    h("ul", {}, ...tiers.map((one) => h("li", {},
      one.id === id ? h("strong", {}, one.tier) : h("a", { href: `/collections/${one.id}` }, one.tier),
      `: ε = ${number(one.epsilon)}, at most ${certainty(one.epsilon)}`))));
}

/** Audit the contract in this page, too, with the code that people's devices run. */
function ownAudit(text: string): string {
  try {
    audit(new Interpreter(text));
    return "";
  } catch (cause) {
    return cause instanceof Error ? cause.message : "unknown";
  }
}

function auditView(checked: Audit | Problem, own: string): Child[] {
  const here = h("p", {}, h("span", { class: own ? "badge bad" : "badge good" }, own ? "fails" : "holds"),
    ` The audit that devices run, run in this page just now${own ? `: ${own}` : "."}`);
  if (checked instanceof Problem) return [h("p", { class: "notice" }, `The collector's own audit cannot be shown: ${checked.detail}`), here];
  const { ok, worst_loss: worst, epsilon, channels } = checked;
  const loss = (value: number | null): string => value === null ? "unbounded" : value.toFixed(10);
  return [
    h("p", {}, h("span", { class: ok ? "badge good" : "badge bad" }, ok ? "holds" : "fails"),
      ` The collector's exact audit: a person's total loss is at most ${loss(worst)}, of ε = ${number(budget(epsilon))}.`),
    here,
    scroller("Channels", h("table", {},
      h("thead", {}, h("tr", {}, ...["Service", "Channel", "Reports", "Budget", "Realised loss", "Worst oracle"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...channels.map((one) => h("tr", {},
        h("td", {}, one.service), h("td", {}, one.channel), h("td", {}, one.reports), h("td", {}, number(budget(one.epsilon))),
        h("td", { class: "mono" }, loss(one.realised), one.problem && ` ${one.problem}`), h("td", {}, one.oracle)))))),
  ];
}

/** What a report can be: answers count codes, so views with many make them slower. */
function codesView({ views, codes, largest }: Codes): HTMLElement {
  const rest = views - largest.length;
  return h("section", { class: "card", id: "codes" }, h("h2", {}, "Codes"),
    h("p", {}, `Each report is one of ${number(codes, 9)} codes, in ${number(views, 9)} ${views === 1 ? "view" : "views"}. More codes make answers and rollups larger, not less private.`),
    scroller("Codes of views", h("table", {},
      h("thead", {}, h("tr", {}, ...["Service", "View", "Cells", "Oracle", "Codes"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...largest.map((view) => h("tr", {},
        h("td", {}, isolated(view.service)), h("td", {}, isolated(view.shows)), h("td", {}, number(view.cells, 9)), h("td", {}, view.oracle), h("td", {}, number(view.codes, 9))))))),
    rest > 0 && h("p", {}, `${number(rest, 9)} more ${rest === 1 ? "view has" : "views have"} fewer codes each.`));
}

/** Return the SHA-256 of bytes, where the browser computes it. */
async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string | null> {
  if (!isSecureContext) return null;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
