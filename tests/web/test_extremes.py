"""Answers that tempt a screen to lie: no rows and thousands, no error, liars, selection, numbers out of proportion."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from support.tiers import keeping

QUESTION = "SELECT area, COUNT(*) AS n FROM shop GROUP BY area"
ORDERED = f"{QUESTION} ORDER BY n DESC LIMIT 3"
ONE = "SELECT COUNT(*) AS n FROM shop WHERE age > 30"

EVERYTHING = """[...document.querySelectorAll("[aria-label^=Answer], [aria-label^=What], [aria-label^=Tuples]")]
  .map((panel) => panel.innerText + [...panel.querySelectorAll("*")].map((inner) =>
    ["aria-label", "title", "d", "x", "width"].map((name) => inner.getAttribute(name) ?? "").join(" ") +
    (inner.tagName === "title" ? inner.textContent : "")).join("\\n")).join("\\n")"""

Row = dict[str, Any]


def cell(value: float | None, half: float | None, shift: float | None = 0.0, **more: Any) -> Row:
    """Return an estimate as the collector writes it; half a width of None is one that is not known."""
    if value is None or half is None:
        ends = {"n_error": None, "n_low": None, "n_high": None}
    else:
        ends = {"n_error": half / 2, "n_low": value - half, "n_high": value + half}
    return {"n": value, **ends, "n_max_shift_per_1pct": shift, **more}


def crafted(page: Page, demo: str, rows: list[Row], sql: str = QUESTION, curves: Any = None, notes: Any = ()) -> None:
    """Open the screen with an answer of ours to the question; everything else is the collector's."""
    groups = ["area"] if "GROUP BY" in sql else []
    answer = {"rows": rows, "columns": [*groups, "n"], "estimates": ["n"], "notes": list(notes)}
    problem = {"code": "wrong-scope", "detail": "Not for this key."}

    def replied(body: Any, status: int = 200) -> Any:
        return lambda route: route.fulfill(status=status, body=json.dumps(body), content_type="application/json")

    page.route("**/v1/query", replied(answer))
    page.route("**/v1/curves", replied(curves) if curves else replied(problem, 400))
    page.route("**/demo/exact", replied(problem, 400))
    page.route("**/v1/contributions", replied(problem, 403))
    page.goto(f"{demo}/query#q={quote(sql)}")
    expect(page.locator("section[aria-label=Answer] h2")).to_be_visible()
    expect(page.locator("#run[aria-busy]")).to_have_count(0)
    expect(page.locator(".stale")).to_have_count(0)
    expect(page.locator("section[aria-label=Answer]")).to_contain_text(re.compile("row", re.IGNORECASE))


def advice(page: Page) -> Locator:
    return page.locator(".advice")


def table(page: Page) -> Locator:
    return page.locator("[aria-label='Answer as a table'] tbody tr")


def everything(page: Page) -> str:
    """Return all texts of the answer, also those that are heard or hovered over."""
    found: str = page.evaluate(EVERYTHING)
    return found


def liars_of_half(value: float = 1000) -> list[Row]:
    return [cell(value, 30, value / 2, area="north"), cell(value, 30, value / 2, area="south")]


VERDICTS: list[tuple[list[Row], str, str]] = [
    (liars_of_half(), QUESTION, "could move it by up to 50\u00a0% of the value"),
    ([cell(1000, 30, None)], ONE, "could move it by any amount"),
    ([cell(1000, 30, 100)], ONE, "could move it by up to 10\u00a0% of the value"),
    ([cell(1000, 30, 10, area="north"), cell(900, 30, 10, area="south")], ORDERED, "more extreme than they are"),
    ([cell(1000, 30, 10, area="north")], f"{QUESTION} ORDER BY n DESC LIMIT 1", "more extreme than they are"),
    ([cell(1000, 30, 10, area="north")], f"{QUESTION} HAVING n > 900", "more extreme than they are"),
    ([cell(1000, 30, 10, area="north"), cell(1, 30, 0, area="south")], ORDERED, "more extreme than they are"),
    ([cell(1000, None, 10)], ONE, "is not meaningful"),
    ([cell(None, None, None)], ONE, "is not meaningful"),
    ([cell(1000, 400, 10)], ONE, "A rough estimate: within 40\u00a0%"),
    ([cell(100, 400, 10)], ONE, "Too noisy to tell"),
    ([cell(0, 0, 20)], ONE, "could move it by up to 20"),
]


@pytest.mark.parametrize(
    ("rows", "sql", "says"),
    keeping([VERDICTS[0], VERDICTS[3], VERDICTS[7], VERDICTS[10]], VERDICTS, "verdicts on noise, liars and selection"),
)
def test_verdicts_consider_noise_liars_and_selection(
    page: Page, demo: str, rows: list[Row], sql: str, says: str
) -> None:
    crafted(page, demo, rows, sql)
    expect(advice(page)).to_contain_text(says)
    if "10\u00a0%" not in says:
        expect(advice(page)).not_to_contain_text("Accurate enough to act on")


def test_what_is_sharp_is_called_so(page: Page, demo: str) -> None:
    crafted(page, demo, [cell(1000, 30, 10, area="north")], f"{QUESTION} ORDER BY area LIMIT 1")
    expect(advice(page)).to_contain_text("Accurate enough to act on: within 3\u00a0% of the value.")
    crafted(page, demo, [cell(1000, 30, 10, area=name) for name in ("north", "south")])
    expect(advice(page)).to_contain_text("Accurate enough to act on: within 3\u00a0% of the value.")
    crafted(page, demo, [cell(1000, 30, 10, area=f"a{i}") for i in range(40)])
    expect(advice(page)).to_contain_text("Of 40 intervals at 95\u00a0%, expect 2 to miss.")


@pytest.mark.parametrize(
    ("value", "half"),
    keeping([(0, 300)], [(0.01, 300), (1e-300, 300), (0, 300), (1, 3e6)], "people whom nobody could reach"),
)
def test_no_number_of_people_that_nobody_could_reach(page: Page, demo: str, value: float, half: float) -> None:
    crafted(page, demo, [cell(value, half)], ONE)
    expect(advice(page)).to_contain_text("more than a billion people")
    assert not re.search(r"\d,\d{3},\d{3},\d{3}", advice(page).inner_text())


@pytest.mark.long("rare answers; thousands of rows and rows without values stay")
def test_wishes_are_answered_within_reason(page: Page, demo: str) -> None:
    curves = {
        "column": "n",
        "per_person": False,
        "epsilon": [[1, 20], [4, 5]],
        "people": [[1000, 9], [10000, 3]],
        "now": [4, 2000, 5],
        "central": [],
    }
    crafted(page, demo, [cell(1000, 5)], ONE, curves)
    for wish, says in {
        "0.0001": "more than a billion people",
        "1e-300": "more than a billion people",
        "0": "is no width",
        "-1": "is no width",
        "Infinity": "is no width",
        "x": "is no width",
        "2.5": "it would take about 8,000 people; there are 2,000",
        "50": "about 20 people are enough; there are 2,000",
    }.items():
        page.fill("#wish", wish)
        expect(page.locator("output")).to_contain_text(says)


NUMBERS: dict[str, Row] = {
    "minus nothing": cell(-3, 410),
    "minus zero": cell(-0.0, 0),
    "tiny": cell(1.234567e-12, 3e-14),
    "tiny and wide": cell(-4e-13, 1e-9),
    "huge": cell(1.234567e22, 4e18),
    "largest": cell(1.7e308, 1e305),
    "huge and wide": cell(-12, 4e18),
    "negative": cell(-123456.789, 12.3),
    "no value": cell(None, None, None),
    "no error": cell(12.3456789, None, None),
    "exact": cell(20000, 0),
}


WRITTEN = {
    "minus nothing": ["0 ± 410", "−410 to 410"],
    "tiny": ["1.235 × 10⁻¹² ± 3.0 × 10⁻¹⁴", "1.205 × 10⁻¹² to 1.265 × 10⁻¹²"],
    "huge": ["1.23457 × 10²² ± 4.0 × 10¹⁸", "1.23417 × 10²² to 1.23497 × 10²²"],
    "negative": ["−123,457 ± 12", "−123,469 to −123,444"],
    "no value": ["not defined", "–"],
    "no error": ["12, no meaningful error", "–"],
    "exact": ["20,000 ± 0", "20,000 to 20,000"],
}
"""Values and errors end at the same digit."""


@pytest.mark.parametrize(
    "name", keeping(["minus nothing", "huge", "no error", "largest"], NUMBERS, "numbers out of proportion")
)
def test_numbers_are_written_as_far_as_they_are_known(page: Page, demo: str, name: str) -> None:
    crafted(page, demo, [NUMBERS[name]], ONE)
    expect(table(page)).to_have_count(1)
    text = everything(page)
    assert not re.search(r"NaN|Infinity|undefined|null|−0(?![.,\d])|-0(?![.,\d])|−0\.0+(?!\d)|\d{7,}e|∞", text), text
    assert not re.search(r"\d(,\d{3}){6,}|\d{20,}", text), "more digits than a number has"
    if name in WRITTEN:
        assert table(page).locator("td").all_inner_texts()[:2] == WRITTEN[name]


def test_no_rows_are_said_and_nothing_can_be_drawn(page: Page, demo: str) -> None:
    crafted(page, demo, [])
    expect(page.locator("section[aria-label=Answer]")).to_contain_text("No rows")
    expect(page.get_by_role("button", name="SVG")).to_be_disabled()
    expect(page.get_by_role("button", name="CSV")).to_be_enabled()
    expect(advice(page)).to_have_count(0)


def test_thousands_of_rows_are_paged_and_none_is_dropped(page: Page, demo: str) -> None:
    many = 3_217
    crafted(page, demo, [cell(i + 100, 10, area=f"area {i:04}") for i in range(many)])
    answer = page.locator("section[aria-label=Answer]")
    expect(answer).to_contain_text("1–25 of 3,217 rows")
    seen: list[str] = []
    expect(table(page)).to_have_count(25)
    expect(page.locator("#chart .bar")).to_have_count(25)
    expect(page.locator("#chart svg")).to_have_attribute("aria-label", re.compile("rows 1 to 25 of 3,217"))
    expect(page.locator("#chart svg")).to_contain_text("rows 1 to 25 of 3,217")  # a picture of it says so, too
    for step in ("Next rows", "Last rows", "First rows"):
        seen += table(page).locator("th").all_inner_texts()
        page.get_by_role("button", name=step).click()
    expect(answer).to_contain_text("1–25 of 3,217 rows")
    assert seen == [f"area {i:04}" for i in (*range(50), *range(3_200, many))]
    page.get_by_role("button", name="Last rows").click()
    expect(page.locator("#chart .bar")).to_have_count(17)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    assert [row["area"] for row in rows] == [f"area {i:04}" for i in range(many)]
    page.reload()
    expect(answer).to_contain_text("3,201–3,217 of 3,217 rows")


def test_missing_and_the_text_null_are_different_rows(page: Page, demo: str) -> None:
    crafted(page, demo, [cell(5, 1, area="null"), cell(700, 10, area=None), cell(9, 1, area="missing")])
    page.locator("#chart .bar").nth(1).click()
    expect(page.locator("tr.picked")).to_have_count(1)
    expect(page.locator("tr.picked")).to_contain_text("700")
    assert "g=%7B%22area%22%3Anull%7D" in page.url


@pytest.mark.long("rare answers; thousands of rows and rows without values stay")
def test_a_group_without_an_exact_value_has_none(page: Page, demo: str) -> None:
    """Of a LIMIT, the exact answer may hold other rows: their absence is not a zero."""

    def exact(route: Route) -> None:
        route.fulfill(body=json.dumps({"columns": ["area", "n"], "rows": [["north", 1010]]}), content_type="text/plain")

    rows = [cell(1000, 30, area="north"), cell(500, 30, area="south")]
    crafted(page, demo, rows)
    page.route("**/demo/exact", exact)
    page.click("#run")
    expect(table(page).nth(0)).to_contain_text("1,010")
    assert table(page).nth(1).locator("td").all_inner_texts()[-2:] == ["–", "–"]
    expect(page.locator("#chart .exact")).to_have_count(1)
