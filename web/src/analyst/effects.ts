/** What more budget and more people would do: two curves of the half width, and how many people a wish takes. */
import { lineChart, type Point } from "../shared/charts.js";
import { type Child, h, show } from "../shared/dom.js";
import { atMost, number, percent, rough } from "../shared/numbers.js";
import type { Curves } from "./model.js";
import { peopleNeeded } from "./verdict.js";

export function effects(curves: Curves): Child[] {
  const { column, per_person: perPerson, now: [epsilon, people, half] } = curves;
  const share = perPerson ? half / people : half;
  const unit = (value: number): string => perPerson ? percent(value, value < 0.001 ? 3 : value < 0.01 ? 2 : 1) : rough(value);
  const byEpsilon = points(curves.epsilon);
  const byPeople = points(curves.people).map(({ x, y }) => ({ x, y: perPerson ? 100 * y : y }));
  const [low, high] = [byEpsilon[0], byEpsilon.at(-1)];
  const said = h("output", { for: "wish" });
  const wish = h("input", {
    id: "wish", type: "text", inputmode: "decimal", class: "value number", value: String(Number((perPerson ? 50 * share : share / 2).toPrecision(2))),
    oninput: () => tell(),
  });
  const tell = (): void => {
    const wanted = Number(wish.value.replaceAll(",", "")) / (perPerson ? 100 : 1);
    const needed = people * (share / wanted) ** 2; // half widths, per person for totals, fall with the root of people
    show(said, wanted > 0 && wanted < Infinity
      ? `at ε ${number(epsilon)}, ${peopleNeeded(needed, people)}.` : "is no width: write a number above 0.");
  };
  tell();
  return [
    h("div", { class: "grid" },
      h("figure", {},
        lineChart(byEpsilon, `Half width of ${column} against epsilon: from ${rough(low?.y ?? NaN)} at ${number(low?.x ?? NaN)} down to ` +
          `${rough(high?.y ?? NaN)} at ${number(high?.x ?? NaN)}; now ${rough(half)} at ${number(epsilon)}`,
          { xName: "epsilon", yName: `± of ${column}`, log: { x: true, y: true }, now: { x: epsilon, y: half } }),
        h("figcaption", {}, `More budget: half the width at about ${factor(byEpsilon, epsilon, half)} ε. People decide what they spend, so this is for the next round.`)),
      h("figure", {},
        lineChart(byPeople, `Half width of ${column} against people; now ${unit(share)} with ${number(people, 9)} people`,
          { xName: "people", yName: perPerson ? `± of ${column}, % of the people` : `± of ${column}`, log: { x: true, y: true },
            now: { x: people, y: perPerson ? 100 * share : share } }),
        h("figcaption", {}, h("label", { for: "wish" }, "For ± "), wish, perPerson ? " % of the people " : " ", said))),
    curves.central.length > 0 && h("p", { id: "central" }, "What everybody else would learn, if all these people were counted at once: ",
      curves.central.map(([local, central]) => `ε ${number(local)} → ${atMost(central)}`).join(", "), "."),
    h("p", { class: "soft" }, "Predicted for uniformly distributed records, without using any answer. The dot is where things stand."),
  ];
}

function points(given: readonly (readonly [number, number])[]): Point[] {
  return given.map(([x, y]) => ({ x, y })).filter(({ y }) => y > 0);
}

/** The budget, as a multiple of the present one, at which the width is halved; by the slope of the curve around it. */
function factor(curve: readonly Point[], epsilon: number, half: number): string {
  const next = curve.find(({ x }) => x > epsilon);
  const [from, to] = next ? [{ x: epsilon, y: half }, next] : [curve.at(-2), curve.at(-1)];
  if (!from || !to || from.y <= to.y) return "twice the";
  return `${number(2 ** (Math.log(to.x / from.x) / Math.log(from.y / to.y)), 2)} times the`;
}
