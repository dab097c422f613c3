"""Actions in any order, over a network that delays, fails and overtakes: nothing fresh is ever of another question."""

from __future__ import annotations

import random
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from support.tiers import keeping

ACTIONS = 45
"""Actions of one run: a few minutes of somebody in a hurry."""

QUESTIONS = (
    "SELECT COUNT(*) AS q0 FROM shop WHERE age > 30",
    "SELECT area, COUNT(*) AS q1 FROM shop GROUP BY area",
    "SELECT AVG(income) AS q2 FROM shop",
    "SELECT smoker, COUNT(*) AS q3 FROM clinic GROUP BY smoker ORDER BY q3 DESC",
    "SELECT COUNT(*) AS q4 FROM shop WHERE agee > 3",
    "SELECT COUNT( AS q5",
)
"""Each names itself, so that whatever is shown of it says whose it is; the last two are wrong."""

WATCH = """() => {
  window.violations = [];
  window.looks = 0;
  const spoken = (panel) => [panel.textContent, ...[...panel.querySelectorAll("[aria-label]")]
    .map((one) => one.getAttribute("aria-label"))].join(" ");
  const look = () => {
    const area = document.querySelector("#sql");
    if (!area) return;
    window.looks++;
    const own = /AS (q\\d)/.exec(area.value)?.[1];
    for (const name of ["Answer", "How to make", "Tuples"]) {
      const panel = document.querySelector(`section[aria-label^="${name}"]`);
      if (!panel || panel.hidden || panel.matches(".stale")) continue;
      for (const [said] of spoken(panel).matchAll(/\\bq\\d\\b/g)) {
        if (said !== own) window.violations.push(`${name} shows ${said} while the box asks ${area.value}`);
      }
      const level = /interval at ([\\d.]+)/.exec(panel.textContent)?.[1];
      const chosen = document.querySelector("[aria-label^=Confidence]").value;
      const other = level && Math.abs(level / 100 - chosen) > 1e-9;
      if (other) window.violations.push(`${level} % while ${chosen} is chosen`);
    }
    const stale = document.querySelector("section.stale[aria-label^=Answer]");
    if (stale?.querySelector("fieldset button:enabled")) window.violations.push("a stale answer is handed out");
    const menus = document.querySelector("section[aria-label^=Builder]:not(.stale)");
    const builder = menus?.querySelector("[aria-label='Name of the measure']");
    const sql = document.querySelector("section[aria-label=SQL]");
    if (builder && own && !sql.matches(".stale") && builder.value !== own) {
      window.violations.push(`the builder shows ${builder.value} while the box asks ${area.value}`);
    }
  };
  const everything = { childList: true, subtree: true, attributes: true, characterData: true };
  new MutationObserver(look).observe(document.body, everything);
  document.addEventListener("input", () => queueMicrotask(look));
}"""


NETWORK = """(seed) => {
  const chance = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const wait = (most) => new Promise((done) => setTimeout(done, most * chance() ** 2));
  const fetched = window.fetch;
  window.network = "bad";
  window.fetch = async (...given) => {
    const fate = window.network === "bad" ? chance() : 1;
    if (fate < 1) await wait(300);
    if (fate < 0.06) return new Response('{"code": "no-store", "detail": "Later."}', { status: 503 });
    if (fate < 0.09) throw new TypeError("Failed to fetch");
    const reply = await fetched(...given);
    if (fate < 1) await wait(700);
    return reply;
  };
  const push = history.pushState.bind(history);
  let [place, top] = [0, 0];
  history.pushState = (...given) => { top = ++place; push(...given); };
  window.go = (step) => {
    if (place + step < 0 || place + step > top) return;
    place += step;
    history.go(step);
  };
}"""
"""Replies that come late, overtake each other, or do not come; and a history that ends at the page."""


def act(page: Page, choose: random.Random) -> None:
    """Do one thing that a person might do next."""
    kind = choose.choice(["write", "write", "run", "run", "type", "level", "back", "forward", "build", "page", "row"])
    if kind == "write":
        page.fill("#sql", choose.choice(QUESTIONS))
    elif kind == "type":
        page.locator("#sql").press_sequentially(" ")
    elif kind == "run":
        page.press("#sql", "Control+Enter")
    elif kind == "level":
        page.get_by_label("Confidence of the intervals").select_option(choose.choice(["0.8", "0.9", "0.95"]))
    elif kind in ("back", "forward"):
        page.evaluate("(step) => window.go(step)", -1 if kind == "back" else 1)
    else:
        control = {
            "build": "[aria-label='Add a condition to where']",
            "page": "[aria-label='Next tuples']",
            "row": ".pick[title]",
        }[kind]
        page.evaluate("(one) => document.querySelector(one)?.click()", control)
    page.wait_for_timeout(choose.choice([0, 0, 30, 120, 400]))


@pytest.mark.long("random orders of what an analyst does")
@pytest.mark.parametrize("seed", keeping([1], range(1, 11), "orders of 45 actions on a bad network"))
def test_nothing_fresh_is_of_another_question(page: Page, demo: str, seed: int) -> None:
    page.goto(f"{demo}/query#q={quote(QUESTIONS[0])}")
    expect(page.locator("[data-adds-up]").first).to_be_visible()
    page.evaluate(WATCH)
    choose = random.Random(seed)
    page.evaluate(NETWORK, seed)
    for _ in range(ACTIONS):
        act(page, choose)
    page.evaluate("() => { window.network = 'good'; }")
    page.fill("#sql", QUESTIONS[1])
    page.press("#sql", "Control+Enter")
    expect(page.locator("[aria-label='Answer as a table']")).to_contain_text("q1")
    expect(page.locator(".stale")).to_have_count(0)
    expect(page.locator("[data-adds-up=true]")).to_contain_text("q1")
    assert page.evaluate("window.violations") == []
    assert page.evaluate("window.looks") > ACTIONS, "the page was not watched"


def test_the_watch_sees_what_is_wrong(page: Page, demo: str) -> None:
    """The test of the test: an answer that loses its grey is noticed."""
    page.goto(f"{demo}/query#q={quote(QUESTIONS[0])}")
    expect(page.locator("[data-adds-up]").first).to_be_visible()
    page.evaluate(WATCH)
    page.fill("#sql", QUESTIONS[1])
    page.wait_for_timeout(300)
    assert page.evaluate("window.violations") == []
    page.evaluate("document.querySelector('section[aria-label^=Answer]').classList.remove('stale')")
    page.wait_for_timeout(100)
    assert re.search("Answer shows q0", " ".join(page.evaluate("window.violations")))
