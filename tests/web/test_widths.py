"""From telephones to wide screens: what does not fit scrolls in a frame that is seen, and reached by keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

import tacit as tc
from support.collectors import served_here
from support.tiers import keeping
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

WIDTHS = (360, 390, 720, 768, 1024, 1440, 1920)
"""720 is 1440 at a zoom of 200 %."""

WIDE = (
    "SELECT smoker, AVG(visits) AS visits, COUNT(*) AS people, SUM(visits) AS total, STDDEV(visits) AS spread "
    "FROM clinic GROUP BY smoker"
)
EVIL = "<img src=x onerror=\"document.title='broken'\">"
LONG = "a value of somebody who had a lot to say about the place where people live, and said all of it " * 2
ARABIC = "القاهرة والإسكندرية"
TURNED = "safe\u202egnp.exe"
VALUES = [EVIL, LONG.strip(), "W" * 120, ARABIC, TURNED, "עברית 12 (34)"]

CUT = """(() => {
  const edge = document.documentElement.clientWidth + 1, found = [];
  if (document.documentElement.scrollWidth > edge) found.push("the page is wider than the window");
  for (const one of document.querySelectorAll("main *")) {
    const { left, right, width } = one.getBoundingClientRect();
    if (!width || one.closest(".hidden, option, svg")) continue;
    const name = one.tagName + "." + one.className + " " + one.textContent.slice(0, 40);
    const frame = one.closest(".scroll");
    if (!frame && (left < -1 || right > edge)) found.push(name);
    const style = getComputedStyle(one);
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth && style.overflowX !== "visible"
        && !["SELECT", "INPUT", "PRE"].includes(one.tagName)) {
      const hint = one.previousElementSibling;
      const told = one.matches(".scroll.cut") && one.tabIndex === 0 && hint?.matches(".wider:not([hidden])");
      if (!told) found.push("cut without a word: " + name);
    }
  }
  return found;
})()"""


def cut(page: Page) -> list[str]:
    """Return what is cut off: outside of the window, or of a frame that does not say that it scrolls."""
    page.wait_for_timeout(150)  # observers of sizes come after the layout
    found: list[str] = page.evaluate(CUT)
    return found


@pytest.fixture(params=keeping([390, 1024, 1440], WIDTHS, "widths of a window"))
def sized(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Lend a page of some width."""
    scale = 2 if request.param == 720 else 1
    context = browser.new_context(viewport={"width": request.param, "height": 900}, device_scale_factor=scale)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Lend a collector whose service has thirty attributes, and values that are long, hostile or right-to-left."""
    folder = tmp_path_factory.mktemp("hard")
    attributes: list[Any] = [tc.Categorical("home", values=VALUES), tc.Public("note")]
    attributes += [tc.Categorical(f"attribute_number_{i}_of_thirty", values=["yes", "no"]) for i in range(28)]
    service = tc.Service("bank", key="uid", attributes=attributes)
    collection = tc.Collection(tc.Schema([service]), 8.0, mechanism="am(1)", round="one")
    rows: dict[str, Any] = {"uid": [f"{EVIL}{i}" for i in range(300)], "home": [VALUES[i % 6] for i in range(300)]}
    rows["note"] = [VALUES[i % 4] for i in range(300)]
    rows |= {one.name: ["yes", "no"] * 150 for one in attributes[2:]}
    collector = Collector(folder)
    collector.publish(collection)
    collector.load(collection.encode(bank=rows, rng=tc.insecure_rng(3)))
    with served_here(make_app(collector, Keys(folder / "keys.json"))) as client:
        yield str(client.base_url).rstrip("/")
    collector.close()


def opened(page: Page, address: str, sql: str) -> None:
    page.goto(f"{address}/query#q={quote(sql)}")
    expect(page.locator("[data-adds-up]").first).to_be_visible()
    expect(page.locator("#run[aria-busy]")).to_have_count(0)


def test_no_column_is_cut_off(sized: Page, demo: str) -> None:
    """The open measure has all its columns, others value and error; what does not fit side by side becomes cards."""
    opened(sized, demo, WIDE)
    assert cut(sized) == []
    expect(sized.locator(".wider:visible")).to_have_count(0)
    row = sized.locator("[aria-label='Answer as a table'] tbody tr").first
    expect(row.locator("td")).to_have_count(5 + 3)
    edge = sized.viewport_size["width"]  # type: ignore[index]
    for box in [cell.bounding_box() for cell in row.locator("td").all()]:
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= edge
    sized.get_by_label("Chart of").select_option("total")
    expect(row.locator("td").nth(2)).to_have_attribute("data-name", "total ± 95\u00a0%")


@pytest.mark.long("fitting of one measure; that no column is cut off stays")
def test_answers_of_one_measure_fit_beside_or_below_their_chart(sized: Page, demo: str) -> None:
    opened(sized, demo, "SELECT area, COUNT(*) AS people FROM shop GROUP BY area")
    assert cut(sized) == []
    expect(sized.locator(".wider:visible")).to_have_count(0)
    if sized.viewport_size["width"] > 1024:  # type: ignore[index]  # there, it depends on how long noisy numbers are
        expect(sized.locator(".cards")).to_have_count(0)


@pytest.mark.parametrize("alias", keeping([ARABIC], ["n", LONG.strip()[:60], "W" * 60, ARABIC], "names of columns"))
def test_names_and_values_of_any_kind_fit(sized: Page, hard: str, alias: str) -> None:
    opened(sized, hard, f'SELECT home, note, COUNT(*) AS "{alias}" FROM bank GROUP BY home, note')
    assert cut(sized) == []
    assert sized.locator("main img").count() == 0
    assert sized.title() == "Ask · tacit"
    shown = sized.locator("[aria-label='Answer as a table']").inner_text()
    assert "\u202e" not in shown, "a name turns the words around it"
    sized.fill("#sql", "SELECT " + "W" * 200)
    expect(sized.locator(".stale-note:visible")).to_have_count(1)
    assert cut(sized) == []


def test_thirty_attributes_are_offered_and_fit(sized: Page, hard: str) -> None:
    opened(sized, hard, "SELECT COUNT(*) AS n FROM bank WHERE attribute_number_27_of_thirty = 'yes'")
    expect(sized.get_by_label("Group by a column").locator("option")).to_have_count(31)
    assert cut(sized) == []
    [listed] = httpx.get(f"{hard}/v1/collections", trust_env=False).json()["collections"]
    sized.goto(f"{hard}/collections/{listed['id']}")
    expect(sized.locator("#audit .badge.good")).to_have_count(2)
    assert cut(sized) == []


def test_frames_that_scroll_are_found_where_they_are_not_told(page: Page, demo: str) -> None:
    """The test of the test: a table that is cut in silence is found."""
    opened(page, demo, WIDE)
    assert cut(page) == []
    page.evaluate("document.querySelector('.rows').style.minWidth = '3000px'")
    expect(page.locator(".wider:visible")).to_have_count(1)
    assert cut(page) == []
    page.evaluate("document.querySelector('.wider').hidden = true")
    assert any("cut without a word" in one for one in page.evaluate(CUT))
