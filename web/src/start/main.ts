/** The start page: what is collected here, and where to go. */
import { collections } from "../shared/api.js";
import { h } from "../shared/dom.js";
import { open } from "../shared/frame.js";
import { listed, number } from "../shared/numbers.js";
import { type Round, roundsOf } from "../shared/rounds.js";

void open(async ({ loaded }) => {
  const rounds = roundsOf(await collections());
  return [
    h("h1", {}, "Analytics on data that nobody here sees"),
    h("p", {}, "Each person's device perturbs its own rows before it sends anything. This collector stores the perturbed reports " +
      "and answers SQL over them; every answer has an error bar."),
    loaded && h("p", {}, `This is a demo: ${number(Object.values(loaded)[0]!, 9)} synthetic people were encoded a moment ago. Their true rows are ` +
      "stored here too, only in the demo, so that every estimate can be compared with the truth."),
    h("div", { class: "grid" },
      door("/me", "My data", "See every byte that would leave your device, choose how much anyone can learn, send it, or delete it again."),
      door("/query", "Ask", "Ask a question in SQL or with the builder, see how accurate the answer will be, and read it with its error.")),
    h("section", { class: "card" }, h("h2", {}, "Collected here"), rounds.length
      ? h("ul", {}, ...rounds.map(line))
      : h("p", { class: "soft" }, "Nothing yet. Publish a collection file: tacit serve FOLDER collection.toml")),
  ];
});

function door(href: string, title: string, text: string): HTMLElement {
  return h("section", { class: "card" }, h("h2", {}, h("a", { href }, title)), h("p", {}, text));
}

function line({ services, round, tiers }: Round): HTMLElement {
  return h("li", {}, listed(services), round && `, round ${round}`, ": ", ...tiers.flatMap(({ id, tier, epsilon }, i) => [
    i > 0 && " · ", h("a", { href: `/collections/${id}` }, `${tier || "the contract in words"}`), ` ε ${number(epsilon)}`,
  ]));
}
