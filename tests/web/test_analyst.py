"""The analyst's story in a real browser: menus and SQL are one question, tuples add up, addresses are shared."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, expect

import tacit as tc
from support.collectors import served_here
from support.tiers import keeping
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

GROUPED = "SELECT area, COUNT(*) AS people FROM shop WHERE age >= 30 GROUP BY area"


def opened(page: Page, address: str, sql: str = "") -> Page:
    page.goto(f"{address}/query{f'#q={quote(sql)}' if sql else ''}")
    expect(page.locator("#chart svg")).to_be_visible()
    return page


def proof(page: Page) -> Any:
    return page.locator("[data-adds-up]")


CHOSEN = "(() => { const t = document.activeElement; return t.value?.slice(t.selectionStart, t.selectionEnd); })()"


def wait_for(page: Page, true: Callable[[], bool]) -> None:
    """Wait for what no locator shows; the page's policy forbids to look from inside it."""
    for _ in range(600):
        if true():
            return
        page.wait_for_timeout(100)
    raise AssertionError


def tuples(page: Page) -> Any:
    return page.locator("section[aria-label=Tuples]")


def sql_of(page: Page) -> str:
    return " ".join(page.input_value("#sql").split())


def test_the_story(page: Page, demo: str, browser: Browser) -> None:
    """Build a query, edit the SQL, see the builder follow, run, sort contributions, add them up, share, reload."""
    opened(page, demo)
    page.get_by_label("Group by a column").select_option("area")
    expect(page.locator("#sql")).to_have_value(
        "SELECT area, COUNT(*) AS people\nFROM shop\nWHERE age BETWEEN 20 AND 39\nGROUP BY area"
    )
    page.fill("#sql", GROUPED)
    expect(page.get_by_label("where: comparison")).to_have_value(">=")
    expect(page.get_by_label("where: value")).to_have_value("30")
    page.get_by_label("where: value").fill("40")
    expect(page.locator("#sql")).to_have_value(
        "SELECT area, COUNT(*) AS people\nFROM shop\nWHERE age >= 40\nGROUP BY area"
    )
    page.press("#sql", "Control+Enter")
    expect(page.locator("[aria-label='Answer as a table'] tbody tr")).to_have_count(3)
    page.get_by_role("button", name="south").click()
    expect(page.locator("tr.picked")).to_contain_text("south")
    expect(tuples(page)).to_contain_text("area = south")

    page.get_by_label("Sort by").select_option("value")
    page.get_by_role("button", name="Largest first").click()
    expect(page.get_by_role("button", name="Smallest first")).to_be_visible()
    added = [number_in(text) for text in page.locator(".tuples tbody td:nth-child(4)").all_inner_texts()]
    assert len(added) == 25
    assert added == sorted(added)
    running = [number_in(text) for text in page.locator(".tuples tbody td:nth-child(5)").all_inner_texts()]
    assert running[-1] == pytest.approx(sum(added), abs=1e-4)  # six places are shown
    expect(proof(page)).to_have_attribute("data-adds-up", "true")
    page.get_by_role("button", name="Next").click()
    expect(tuples(page)).to_contain_text("26–50 of")
    assert summed(demo, sql_of(page), {"area": "south"}) == pytest.approx(number_in(proof(page).inner_text()), rel=1e-6)

    shared = page.url
    again = browser.new_page()
    again.goto(shared)
    expect(tuples(again)).to_contain_text("26–50 of")
    expect(again.locator("tr.picked")).to_contain_text("south")
    assert sql_of(again) == sql_of(page)
    assert again.locator(".tuples tbody").inner_text() == page.locator(".tuples tbody").inner_text()
    again.close()


def number_in(text: str) -> float:
    """Return the last number of a text, as the page writes it."""
    words = [word for word in text.replace("−", "-").replace(",", "").replace("=", " ").split() if word[-1].isdigit()]
    return float(words[-1])


def summed(demo: str, sql: str, group: dict[str, str]) -> float:
    """Add up all tuples, page by page, as anybody can."""
    total, offset = 0.0, 0
    while True:
        body = {"tacit": 1, "sql": sql, "group": group, "offset": offset, "limit": 500}
        found = httpx.post(f"{demo}/v1/contributions", json=body, timeout=60, trust_env=False).json()
        total += sum(row["contributions"][0] for row in found["rows"])
        offset += 500
        if offset >= found["people"]:
            return total


@pytest.mark.long("details of the builder and of averages; the story stays")
def test_averages_are_a_numerator_over_a_denominator(page: Page, demo: str) -> None:
    opened(page, demo, "SELECT AVG(income) AS income FROM shop WHERE age >= 30")
    expect(proof(page)).to_have_attribute("data-adds-up", "true")
    numerator, denominator, ratio = (
        float(word.replace(",", "").replace("−", "-"))
        for word in proof(page).inner_text().replace("income =", "").split("✓")[0].replace("÷", "=").split("=")
    )
    assert numerator / denominator == pytest.approx(ratio, rel=1e-6)
    page.get_by_role("button", name="income: denominator").click()
    expect(page.get_by_role("button", name="income: denominator")).to_have_attribute("aria-pressed", "true")


def test_the_forecast_comes_while_typing_and_nothing_is_run(page: Page, demo: str) -> None:
    opened(page, demo)
    expect(page.locator(".forecast")).to_contain_text("± ")
    before = page.inner_text(".forecast")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(demo)))
    page.locator("#sql").press_sequentially(" AND income > 30000")
    expect(page.locator(".forecast")).not_to_have_text(before)
    expect(page.locator(".forecast")).to_contain_text("Before running: expect ±")
    expect(page.get_by_label("where: column")).to_have_count(2)
    assert set(asked) == {"/v1/draft"}


PROBLEMS = [
    ("SELECT COUNT(*) AS n\nFROM shop\nWHERE agee > 3", "agee"),
    ("SELECT COUNT(*) AS n FROM shopp", "shopp"),
    ("SELECT COUNT(*) AS n FROM shop WHERE age > = 3", "="),
    ("SELECT COUNT(*) AS n /* 🙂 */ FROM shop WHERE agee = 1", "agee"),
    ("SELEC COUNT(*) FROM shop", "SELEC"),
]


@pytest.mark.parametrize(("sql", "marked"), keeping([PROBLEMS[3]], PROBLEMS, "problems that are marked"))
def test_problems_are_marked_where_they_are(page: Page, demo: str, sql: str, marked: str) -> None:
    opened(page, demo)
    page.fill("#sql", sql)
    expect(page.locator(".copy mark")).to_have_text(marked)
    expect(page.locator("#sql")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#problem")).to_contain_text(f"Line {sql[: sql.rindex(marked)].count(chr(10)) + 1}:")
    page.press("#sql", "Control+Enter")
    wait_for(page, lambda: page.evaluate(CHOSEN) == marked)
    expect(page.locator("[aria-label=Answer]")).to_contain_text("no answer to this question")
    page.fill("#sql", GROUPED)
    expect(page.locator(".copy mark")).to_have_count(0)
    expect(page.locator("#problem")).to_have_text("")


@pytest.mark.long("details of the builder and of averages; the story stays")
def test_what_the_builder_cannot_show_stays_as_it_is(page: Page, demo: str) -> None:
    text = "SELECT COUNT(*) AS n -- everybody\nFROM shop   WHERE (age) > 3"
    opened(page, demo, text)
    expect(page.locator(".builder")).to_contain_text("You can still run it as SQL.")
    expect(page.locator("#sql")).to_have_value(text)
    expect(proof(page)).to_have_attribute("data-adds-up", "true")


@pytest.mark.long("details of the builder and of averages; the story stays")
def test_joins_conditions_and_measures_in_the_builder(page: Page, demo: str) -> None:
    opened(page, demo, "SELECT COUNT(*) AS people FROM shop")
    page.get_by_label("Join with a service").select_option("clinic")
    page.get_by_label("What is measured").select_option("AVG")
    page.get_by_label("Of which column").select_option("visits")
    page.get_by_role("button", name="Add a condition to where").click()
    page.get_by_role("button", name="Add a condition to where").click()
    page.get_by_label("where: column").nth(1).select_option("area")
    page.get_by_label("where: how conditions are joined").select_option("any")
    page.get_by_role("button", name="Say the opposite").nth(1).click()
    expected = "SELECT AVG(visits) AS people FROM shop JOIN clinic USING (uid) WHERE age >= 0 OR NOT (area = 'north')"
    expect(page.locator("#sql")).to_have_value(re.compile(re.escape(expected).replace("\\ ", r"\s+")))
    page.get_by_role("button", name="Remove this condition").nth(0).click()
    page.click("#run")
    expect(proof(page)).to_contain_text("÷")
    expect(proof(page)).to_have_attribute("data-adds-up", "true")


@pytest.mark.long("details of the builder and of averages; the story stays")
def test_exact_values_and_curves_stand_beside_the_estimate(page: Page, demo: str) -> None:
    opened(page, demo, GROUPED)
    exact = httpx.post(f"{demo}/demo/exact", json={"tacit": 1, "sql": GROUPED}, trust_env=False).json()
    known = dict(exact["rows"])
    for row in page.locator("[aria-label='Answer as a table'] tbody tr").all():
        area, *cells = row.locator("th, td").all_inner_texts()
        assert number_in(cells[3]) == known[area]
        assert number_in(cells[2]) > 0  # how far 1 % who lie could move it
    expect(page.locator(".chart .exact")).to_have_count(3)
    expect(page.locator("figure svg")).to_have_count(2)
    page.fill("#wish", "1")
    expect(page.locator("output")).to_contain_text("it would take about")


def test_answers_are_taken_away_as_files_and_code(page: Page, demo: str, tmp_path: Path) -> None:
    opened(page, demo, GROUPED)
    files = {}
    for name in ("CSV", "JSON", "SVG", "PNG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name, exact=True).click()
        files[name] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(files[name])
    rows = list(csv.DictReader(io.StringIO(files["CSV"].read_text())))
    assert [row["area"] for row in rows] == ["north", "south", "islands"]
    assert all(float(row["people_low"]) < float(row["people"]) < float(row["people_high"]) for row in rows)
    written = json.loads(files["JSON"].read_text())
    assert written["complete"]
    assert [float(row["people"]) for row in rows] == [row["people"] for row in written["rows"]]
    assert files["SVG"].read_text().startswith("<svg")
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    page.click("text=Copy as SQL, Python or curl")
    page.get_by_label("Language").select_option("Python")
    printed: list[Any] = []
    exec(compile(page.inner_text("#code"), "copied", "exec"), {"print": printed.append})
    assert [row["area"] for row in printed] == ["north", "south", "islands"]
    page.fill("#sql", 'SELECT COUNT(*) AS n FROM shop GROUP BY "area"')  # its last letter is a quotation mark
    printed.clear()
    exec(compile(page.inner_text("#code"), "copied", "exec"), {"print": printed.append})
    assert len(printed) == 3
    page.get_by_label("Language").select_option("curl")
    body = page.inner_text("#code").split("\n", 1)[1].removesuffix("END\n").removesuffix("END")
    assert json.loads(body)["sql"] == page.input_value("#sql")


FOCUSED = "(([one]) => one.id || one.getAttribute('aria-label') || one.innerText)([document.activeElement])"


def walk(page: Page, to: str, most: int = 60, key: str = "Tab") -> list[str]:
    """Go from control to control by the Tab key until one is reached; return all that were passed."""
    passed: list[str] = []
    while not passed or to not in passed[-1]:
        assert len(passed) < most, passed
        page.keyboard.press(key)
        passed.append(page.evaluate(FOCUSED))
    return passed


def test_the_screen_is_walked_by_keyboard_alone(page: Page, demo: str) -> None:
    opened(page, demo, GROUPED)
    expect(proof(page)).to_have_attribute("data-adds-up", "true")
    expect(page.locator("figure svg")).to_have_count(2)
    passed = walk(page, "Most rows")
    assert {"What is measured", "From which service", "where: value", "Remove this group area"} <= set(passed)
    assert passed.index("sql") + 1 == passed.index("run")  # the editor lets go of the Tab key
    page.keyboard.type("2")
    expect(page.locator("#sql")).to_have_value(re.compile("LIMIT 2$"))
    walk(page, "run", key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[aria-label='Answer as a table'] tbody tr")).to_have_count(2)
    walk(page, "south")
    page.keyboard.press("Enter")
    expect(tuples(page)).to_contain_text("area = south")
    expect(page.get_by_role("button", name="south")).to_be_focused()
    walk(page, "Largest first")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Smallest first")).to_be_focused()


EVIL = (
    "<img src=x onerror=\"document.title='broken'\">",
    "<script>document.title='broken'</script>",
    "'\"><svg onload=document.title='broken'>",
    "javascript:document.title='broken'",
    "=HYPERLINK(1)",
)


@pytest.fixture
def strangers(tmp_path: Path) -> Iterator[Collector]:
    """Lend a collector, no demo, whose public values and categories were chosen by somebody malicious."""
    service = tc.Service("bank", key="uid", attributes=[tc.Categorical("home", values=EVIL), tc.Public("note")])
    collection = tc.Collection(tc.Schema([service]), 6.0, round=EVIL[0])
    made = Collector(tmp_path)
    made.publish(collection)
    people = [f"{EVIL[i % 5]}{i}" for i in range(200)]
    table = pa.table(
        {"uid": people, "home": [EVIL[i % 5] for i in range(200)], "note": [EVIL[i % 3] for i in range(200)]}
    )
    made.database.load(collection.encode(bank=table, rng=tc.insecure_rng(3)))
    yield made
    made.close()


def test_names_and_values_of_others_are_text(page: Page, strangers: Collector, tmp_path: Path) -> None:
    sql = f'SELECT home, note, COUNT(*) AS "{EVIL[0].replace(chr(34), chr(34) * 2)}" FROM bank GROUP BY home, note'
    with served_here(make_app(strangers, Keys(tmp_path / "keys.json"))) as client:
        opened(page, str(client.base_url).rstrip("/"), sql)
        expect(proof(page)).to_have_attribute("data-adds-up", "true")
        expect(page.locator("[aria-label='Answer as a table']")).to_contain_text("onerror")
        with page.expect_download() as waiting:
            page.get_by_role("button", name="CSV", exact=True).click()
        assert "\n'=HYPERLINK" in Path(waiting.value.path()).read_text()
        page.get_by_role("button", name="Add a condition to where").click()
        expect(page.get_by_label("where: value")).to_be_visible()
        assert page.locator("main img, main script, main [onload], main [onerror]").count() == 0
        assert page.title() == "Ask · tacit"
        assert page.locator(".chart .exact").count() == 0  # only a demo knows the truth


def test_keys_open_the_page_and_tuples_are_for_auditors(page: Page, strangers: Collector, tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    analyst, auditor = keys.create("analyst", ["query"]), keys.create("auditor", ["query", "audit"])
    with served_here(make_app(strangers, keys)) as client:
        address = str(client.base_url).rstrip("/")
        for given, sees in (("wrong", False), (analyst, False), (auditor, True)):
            page.goto(f"{address}/query#q={quote('SELECT home, COUNT(*) AS n FROM bank GROUP BY home')}")
            page.reload()
            page.fill("#key", given)
            page.click("text=Continue")
            if given == "wrong":
                expect(page.get_by_role("alert")).to_contain_text("unknown")
                continue
            expect(page.locator("#chart svg")).to_be_visible()
            if sees:
                expect(proof(page)).to_have_attribute("data-adds-up", "true")
            else:
                expect(tuples(page)).to_contain_text("the scope audit")
            assert given not in page.url
