"""Charts that suit their answers: lines over ordered groups, grids of two groups, maps; fitted values beside them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page, expect

from support.analyst_page import Held, opened, refusal
from support.tiers import keeping

AGES = "SELECT age, COUNT(*) AS n FROM shop GROUP BY age"
GRID = "SELECT area, device, COUNT(*) AS n FROM shop GROUP BY area, device"


def estimate(value: float, half: float, **groups: Any) -> dict[str, Any]:
    ends = {"n_error": half / 2, "n_low": value - half, "n_high": value + half, "n_max_shift_per_1pct": 1.0}
    return {**groups, "n": value, **ends}


def drawn(page: Page, demo: str, rows: list[dict[str, Any]], more: str = "") -> None:
    """Show an answer of ours, whose groups are what its rows have besides the estimate."""
    groups = [name for name in rows[0] if not name.startswith("n")]
    answer = {"rows": rows, "columns": [*groups, "n"], "estimates": ["n"], "notes": []}
    page.route("**/v1/query", lambda route: route.fulfill(body=json.dumps(answer), content_type="application/json"))
    page.route("**/demo/exact", lambda route: route.fulfill(**refusal(400, "not-exact", "Not here.")))
    page.route("**/v1/contributions", lambda route: route.fulfill(**refusal(403, "wrong-scope", "Not for this key.")))
    page.goto(f"{demo}/query#q={quote('SELECT COUNT(*) AS n FROM shop')}{more}")
    expect(page.locator("#chart svg").first).to_be_visible()


CASES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "words": ([estimate(9, 1, area=area) for area in "abc"], []),
    "numbers": ([estimate(9, 1, age=age) for age in range(9)], ["line", "bars"]),
    "months": ([estimate(9, 1, month=f"2026-{month:02}") for month in (1, 2, 5)], ["line", "bars"]),
    "missing": ([estimate(9, 1, age=age) for age in (1, 2, 3, None)], ["line", "bars"]),
    "rounds": ([estimate(9, 1, round=name) for name in ("spring", "summer", "autumn")], ["line", "bars"]),
    "two": ([estimate(9, 1, a=a, b=b) for a in "xyz" for b in "uv"], ["heat", "bars"]),
    "two, ordered": ([estimate(9, 1, a=a, b=b) for a in range(4) for b in "uv"], ["heat", "line", "bars"]),
    "lines over rounds": ([estimate(9, 1, a=a, round=b) for a in "uv" for b in "123"], ["line", "heat", "bars"]),
    "places": (
        [estimate(9, 1, home_lat=59 + i / 8, home_lon=10 + j / 8) for i in range(3) for j in range(3)],
        ["map", "heat", "line", "bars"],
    ),
    "not a grid": ([estimate(9, 1, a=None, b=None), *(estimate(9, 1, a=None, b=None) for _ in range(3))], []),
    "three": ([estimate(9, 1, a=a, b="u", c="w") for a in "xyz"], []),
}


@pytest.mark.parametrize(
    "name", keeping(["words", "missing", "lines over rounds", "places"], CASES, "answers and charts that suit them")
)
def test_the_chart_suits_the_answer(page: Page, demo: str, name: str) -> None:
    rows, kinds = CASES[name]
    drawn(page, demo, rows)
    options = page.get_by_label("Kind of chart").locator("option")
    assert [option.get_attribute("value") for option in options.all()] == kinds
    for kind in kinds[1:]:
        page.get_by_label("Kind of chart").select_option(kind)
        expect(page.locator("#chart svg")).to_have_attribute("aria-label", re.compile(r"n with intervals at 95"))
        assert f"v={kind}" in page.url
    expect(page.locator("#chart .bar")).to_have_count(len(rows))


def test_a_line_has_every_point_its_interval_and_marks_what_is_too_noisy(page: Page, demo: str) -> None:
    drawn(page, demo, [estimate(10 * age, 15, age=age) for age in range(60)])
    expect(page.locator("#chart .point")).to_have_count(60)  # bars would show 25
    expect(page.locator("#chart .point.weak")).to_have_count(2)
    expect(page.locator("#chart path.band")).to_have_count(1)
    expect(page.locator("#chart svg")).to_have_attribute("aria-label", re.compile("From 0 0, from −15 to 15 to 59 590"))
    expect(page.locator(".legend")).to_contain_text("hollow: the interval includes 0")


def test_lines_that_stay_far_from_nothing_say_where_their_axis_begins(page: Page, demo: str) -> None:
    drawn(page, demo, [estimate(1000 + age, 5, age=age) for age in range(9)])
    expect(page.locator("#chart svg")).to_contain_text("the axis does not begin at 0")
    drawn(page, demo, [estimate(100 * age, 5, age=age) for age in range(1, 9)])
    expect(page.locator("#chart svg")).not_to_contain_text("does not begin")


def test_a_map_has_north_above_and_a_scale(page: Page, demo: str) -> None:
    rows = [estimate(100 * i + j, 1, lat=-1 + i / 4, lon=-1 + j / 4) for i in range(3) for j in range(3)]
    drawn(page, demo, rows)
    places = {
        cell.locator("title").text_content(): cell.locator("rect").first.bounding_box()
        for cell in page.locator("#chart .cell").all()
    }
    south, north = (next(box for title, box in places.items() if title.startswith(name)) for name in ("-1, ", "-0.5, "))
    assert south is not None
    assert north is not None
    assert north["y"] < south["y"]
    for said in ("1.13° S", "1.13° W", "km"):
        expect(page.locator("#chart svg")).to_contain_text(said)
    page.locator("#chart .cell").nth(8).click()
    expect(page.locator("tr.picked")).to_contain_text("202")


def test_fitted_values_stand_beside_unbiased_ones(page: Page, demo: str) -> None:
    opened(page, demo, AGES)
    held = Held(page, "/v1/query", only="consistent")
    page.check("#fitted")
    expect(page.locator("#fit")).to_contain_text("Fitting the model")
    held.wait()
    held.let_go()
    page.unroute("**/v1/query")
    expect(page.locator("#fit")).to_contain_text("lie inside the unbiased interval")
    expect(page.locator("#chart path.line")).to_have_count(2)
    assert "f=1" in page.url
    body = {"tacit": 1, "sql": AGES, "consistent": True}
    answer = httpx.post(f"{demo}/v1/query", json=body, trust_env=False).json()["rows"]
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    assert [float(row["n_fitted"]) for row in rows] == pytest.approx([row["n"] for row in answer], rel=1e-9)
    page.get_by_label("Kind of chart").select_option("bars")
    expect(page.locator("#chart .fill.fitted")).to_have_count(25)
    page.reload()
    expect(page.locator("#fit")).to_contain_text("lie inside")
    page.uncheck("#fitted")
    expect(page.locator("#fit, #chart .fill.fitted")).to_have_count(0)


@pytest.mark.long("grids of fitted values; their bars stay")
def test_grids_of_both_have_one_scale_and_a_refusal_is_said(page: Page, demo: str) -> None:
    opened(page, demo, GRID, "&f=1")
    expect(page.locator("#chart svg")).to_have_count(2)
    keys = [svg.locator("text").all_inner_texts()[-3:-1] for svg in page.locator("#chart svg").all()]
    assert len({tuple(key) for key in keys}) == 1
    page.route(
        "**/v1/query",
        lambda route: (
            route.fulfill(**refusal(400, "too-large", "Too large to fit."))
            if "consistent" in (route.request.post_data or "")
            else route.continue_()
        ),
    )
    page.click("#run")
    expect(page.locator("#fit")).to_contain_text("No fitted values: Too large to fit.")
    expect(page.locator("#chart svg")).to_have_count(1)
