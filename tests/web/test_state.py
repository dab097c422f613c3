"""One question, one state: what the analyst's screen shows belongs to the question in the box, or is grey."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

import tacit as tc
from support.analyst_page import (
    AREAS,
    FAILURES,
    SMOKERS,
    Held,
    export,
    nothing_is_left,
    opened,
    panel,
    settled,
    table,
)
from support.collectors import served_here
from support.tiers import keeping
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

WRONG = "SELECT COUNT(*) AS people FROM shop WHERE agee > 3"

PANELS = ("Answer", "How to make it more accurate", "Tuples")

LAST_PAGE = re.compile("1,976–2,000 of 2,000|2,001–(2,0..) of \\1")
"""The demo has 2,000 people, and those whom other tests have added."""


def test_another_question_in_the_box_makes_all_of_the_answer_grey(page: Page, demo: str) -> None:
    opened(page, demo)
    page.fill("#sql", SMOKERS)
    for name in PANELS:
        expect(panel(page, name)).to_have_class(re.compile(r"\bstale\b"))
        expect(panel(page, name)).to_have_attribute("aria-label", f"{name}: of an earlier question")
    expect(page.locator(".stale-note:visible")).to_have_count(1)
    expect(page.locator(".stale-note:visible code")).to_have_text(AREAS)
    for name in ("CSV", "JSON", "SVG", "PNG"):
        expect(export(page, name)).to_be_disabled()
    expect(page.get_by_role("button", name="south")).to_be_disabled()
    expect(page.get_by_label("Sort by")).to_be_disabled()
    page.fill("#sql", f"{AREAS} ")
    settled(page)
    expect(export(page)).to_be_enabled()


def test_reports_that_are_not_counted_are_said_beside_the_people(page: Page, demo: str) -> None:
    said = "3,000 reports were acknowledged, but 1,000 counted: 2,000 wait to be moved"

    def with_note(route: Route) -> None:
        listed = route.fetch().json()
        listed["services"][0]["notes"] = [said]
        route.fulfill(json=listed)

    page.route("**/v1/catalogue", with_note)
    page.goto(f"{demo}/query")
    expect(page.locator(".head .notice")).to_contain_text(said)


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_grey_is_seen_as_grey(page: Page, demo: str) -> None:
    opened(page, demo)
    colour = "getComputedStyle(document.querySelector('.advice')).color"
    before = page.evaluate(colour)
    page.fill("#sql", SMOKERS)
    expect(panel(page, "Answer")).to_have_class(re.compile("stale"))
    expect(page.locator("#chart svg")).to_have_css("filter", "grayscale(1)")  # once it has faded
    assert page.evaluate(colour) != before


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_link_and_code_are_of_the_box(page: Page, demo: str, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=demo)
    opened(page, demo, more="&o=value&d=0")
    page.click("text=Copy as SQL, Python or curl")
    page.fill("#sql", SMOKERS)
    expect(page.locator("#code")).to_have_text(SMOKERS)
    page.click("text=Copy link")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{demo}/query#q={quote(SMOKERS, safe='*').replace('%20', '+')}"
    page.fill("#sql", "broken")
    expect(page.locator("#code")).to_have_text("broken")


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_the_question_of_a_grey_answer_is_taken_back(page: Page, demo: str) -> None:
    opened(page, demo)
    page.fill("#sql", WRONG)
    page.click("text=Restore this question")
    expect(page.locator("#sql")).to_have_value(AREAS)
    settled(page)


@pytest.mark.parametrize("read", keeping([False], [True, False], "wrong questions, read or not before they are run"))
def test_a_wrong_question_leaves_nothing_of_the_answer_before(page: Page, demo: str, read: bool) -> None:
    opened(page, demo)
    page.fill("#sql", WRONG)
    if read:
        expect(page.locator("#problem")).to_contain_text("agee")
    page.press("#sql", "Control+Enter")
    expect(panel(page, "Answer")).to_contain_text("no answer to this question")
    nothing_is_left(page)
    page.fill("#sql", AREAS)
    expect(panel(page, "Answer")).to_have_class(re.compile("stale"))
    page.click("#run")
    settled(page)


@pytest.mark.parametrize("failure", keeping(["internal"], FAILURES, "failures of the collector"))
def test_a_failure_leaves_nothing_of_the_answer_before(page: Page, demo: str, failure: str) -> None:
    opened(page, demo)
    page.route("**/v1/query", lambda route: route.fulfill(**FAILURES[failure]))
    page.fill("#sql", SMOKERS)
    page.click("#run")
    expect(panel(page, "Answer").get_by_role("alert")).to_be_visible()
    nothing_is_left(page)
    assert "<" not in panel(page, "Answer").inner_text()
    page.unroute("**/v1/query")
    page.click("#run")
    settled(page)
    expect(table(page)).to_contain_text("yes")


def test_a_collector_that_is_gone_is_said_and_comes_back(context: BrowserContext, page: Page, demo: str) -> None:
    opened(page, demo)
    context.set_offline(True)
    page.fill("#sql", SMOKERS)
    expect(page.locator(".forecast")).to_contain_text("cannot be reached")
    page.click("#run")
    expect(panel(page, "Answer").get_by_role("alert")).to_contain_text("cannot be reached")
    nothing_is_left(page)
    context.set_offline(False)
    page.click("text=Try again")
    expect(page.locator(".forecast")).to_contain_text("Before running")
    page.click("#run")
    settled(page)


@pytest.mark.parametrize(
    "path",
    keeping(
        ["/v1/query", "/v1/contributions"],
        ["/v1/query", "/demo/exact", "/v1/draft", "/v1/curves", "/v1/contributions"],
        "replies that come late",
    ),
)
def test_late_replies_to_an_earlier_question_are_dropped(page: Page, demo: str, path: str) -> None:
    opened(page, demo)
    held = Held(page, path, only="clinic")
    page.fill("#sql", SMOKERS)
    page.click("#run")
    held.wait()
    page.fill("#sql", AREAS)
    page.click("#run")
    settled(page)
    held.let_go()
    page.wait_for_timeout(400)
    settled(page)
    expect(page.locator("#sql")).to_have_value(AREAS)
    expect(table(page)).to_contain_text("south")
    expect(page.locator(".tuples tbody")).to_contain_text("shop")
    expect(page.locator(".builder")).to_contain_text("area")
    expect(page.locator("figure svg").first).to_have_attribute("aria-label", re.compile("people"))


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_while_it_is_asked_the_answer_before_is_grey(page: Page, demo: str) -> None:
    opened(page, demo)
    held = Held(page, "/v1/query")
    page.fill("#sql", SMOKERS)
    page.click("#run")
    held.wait()
    for name in PANELS:
        expect(panel(page, name)).to_have_attribute("aria-label", f"{name}: asking…")
    expect(export(page)).to_be_disabled()
    held.let_go()
    settled(page)


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_pages_of_tuples_come_in_the_order_in_which_they_were_asked_for(page: Page, demo: str) -> None:
    opened(page, demo)
    held = Held(page, "/v1/contributions", only='"offset":25')
    page.get_by_role("button", name="Next tuples").click()
    held.wait()
    expect(panel(page, "Tuples")).to_have_attribute("aria-busy", "")
    expect(panel(page, "Tuples")).to_contain_text("1–25 of")
    page.get_by_role("button", name="Last tuples").click()
    expect(panel(page, "Tuples")).to_contain_text(LAST_PAGE)
    first = page.locator(".tuples tbody td").first.inner_text()
    assert first in ("1,976", "2,001")
    held.let_go()
    page.wait_for_timeout(300)
    expect(panel(page, "Tuples")).to_contain_text(LAST_PAGE)
    assert page.locator(".tuples tbody td").first.inner_text() == first


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_an_address_past_the_last_tuple_shows_the_last_page(page: Page, demo: str) -> None:
    opened(page, demo, more="&p=999975&r=5000")
    expect(panel(page, "Tuples")).to_contain_text(LAST_PAGE)


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_back_and_forward_restore_one_state(page: Page, demo: str) -> None:
    opened(page, demo)
    page.get_by_role("button", name="south").click()
    expect(panel(page, "Tuples")).to_contain_text("area = south")
    page.fill("#sql", SMOKERS)
    page.click("#run")
    settled(page)
    page.get_by_label("Confidence of the intervals").select_option("0.8")
    expect(panel(page, "Answer")).to_contain_text("interval at 80")
    settled(page)
    page.fill("#sql", "never run")
    page.go_back()
    expect(page.locator("#sql")).to_have_value(SMOKERS)
    settled(page)
    expect(page.get_by_label("Confidence of the intervals")).to_have_value("0.95")
    expect(panel(page, "Answer")).to_contain_text("interval at 95")
    page.go_back()
    expect(page.locator("#sql")).to_have_value(AREAS)
    settled(page)
    expect(page.locator("tr.picked")).to_contain_text("south")
    expect(panel(page, "Tuples")).to_contain_text("area = south")
    page.go_forward()
    page.go_forward()
    expect(panel(page, "Answer")).to_contain_text("interval at 80")
    expect(page.get_by_label("Confidence of the intervals")).to_have_value("0.8")
    settled(page)


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_unusual_levels_are_not_rounded(page: Page, demo: str) -> None:
    opened(page, demo, more="&c=0.99999")
    expect(page.get_by_label("Confidence of the intervals")).to_have_value("0.99999")
    expect(panel(page, "Answer")).to_contain_text("interval at 99.999")


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_a_shared_address_restores_its_confidence_and_column(page: Page, demo: str) -> None:
    sql = "SELECT smoker, AVG(visits) AS visits, COUNT(*) AS people FROM clinic GROUP BY smoker"
    opened(page, demo, sql, "&c=0.5&k=people")
    expect(page.get_by_label("Confidence of the intervals")).to_have_value("0.5")
    expect(page.get_by_label("Chart of")).to_have_value("people")
    expect(panel(page, "Answer")).to_contain_text("± 50")
    page.get_by_label("Chart of").select_option("visits")
    expect(page.locator("#chart svg")).to_have_attribute("aria-label", re.compile("^bars: visits"))
    page.reload()
    settled(page)
    expect(page.get_by_label("Chart of")).to_have_value("visits")


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_the_link_past_the_navigation_keeps_the_question(page: Page, demo: str) -> None:
    opened(page, demo)
    address = page.url
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    expect(page.locator("#sql")).to_have_value(AREAS)
    settled(page)
    assert page.url == address


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_confidence_of_a_question_that_was_not_run_does_not_run_it(page: Page, demo: str) -> None:
    opened(page, demo)
    page.fill("#sql", SMOKERS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(demo)))
    page.get_by_label("Confidence of the intervals").select_option("0.9")
    expect(page.locator(".forecast")).to_contain_text("Before running")
    assert set(asked) == {"/v1/draft"}
    expect(panel(page, "Answer")).to_have_class(re.compile("stale"))


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[tuple[str, Keys]]:
    """Lend a collector with keys, and reports of 300 people."""
    service = tc.Service("bank", key="uid", attributes=[tc.Categorical("home", values=["north", "south"])])
    collection = tc.Collection(tc.Schema([service]), 6.0)
    collector, keys = Collector(tmp_path), Keys(tmp_path / "keys.json")
    collector.publish(collection)
    homes = {"uid": [f"u{i}" for i in range(300)], "home": ["north", "south", "south"] * 100}
    collector.database.load(collection.encode(bank=homes, rng=tc.insecure_rng(3)))
    with served_here(make_app(collector, keys)) as client:
        yield str(client.base_url).rstrip("/"), keys
    collector.close()


def test_a_revoked_key_clears_the_answer_and_another_one_goes_on(page: Page, keyed: tuple[str, Keys]) -> None:
    address, keys = keyed
    first, second = keys.create("one", ["query", "audit"]), keys.create("two", ["query", "audit"])
    page.goto(f"{address}/query#q={quote('SELECT home, COUNT(*) AS n FROM bank GROUP BY home')}")
    page.fill("#key", first)
    page.click("text=Continue")
    settled(page)
    assert keys.revoke(sha256(first.encode()).hexdigest()[:12]) == 1
    page.click("#run")
    expect(page.locator("#key")).to_be_visible()
    nothing_is_left(page)
    page.fill("#key", second)
    page.click("text=Continue")
    settled(page)
    expect(table(page)).to_contain_text("north")
    assert second not in page.url


def changed(page: Page, change: Callable[[dict[str, Any]], object]) -> None:
    """Let every answer pass through a function."""

    def fetch(route: Route) -> None:
        reply = route.fetch()
        answer = reply.json()
        change(answer)
        route.fulfill(response=reply, body=json.dumps(answer))

    page.route("**/v1/query", fetch)


def test_reports_that_are_not_counted_are_said(page: Page, demo: str) -> None:
    mark = {"acknowledged": 3000, "counted": 1000}
    changed(page, lambda answer: answer.update(watermark=mark))
    opened(page, demo)
    expect(page.locator("#watermark")).to_contain_text("counts 1,000 of 3,000 acknowledged reports")
    expect(page.locator(".advice")).to_contain_text("No verdict")
    with page.expect_download() as waiting:
        export(page).click()
    assert waiting.value.suggested_filename == "answer-incomplete.csv"
    mark["counted"] = 3000
    page.click("#run")
    settled(page)
    expect(page.locator("#watermark")).to_have_count(0)
    expect(page.locator(".advice")).not_to_contain_text("No verdict")


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_curves_that_could_not_be_fetched_are_missed_aloud(page: Page, demo: str) -> None:
    page.route("**/v1/curves", lambda route: route.fulfill(**FAILURES["slow down"]))
    page.goto(f"{demo}/query#q={quote(AREAS)}")
    expect(panel(page, "How to make it more accurate")).to_contain_text("Try again in 2 s")
    expect(page.locator("figure")).to_have_count(0)


@pytest.mark.long("details of the analyst's address and focus; what is fresh and what is stale stays")
def test_the_focus_goes_where_the_next_step_is(page: Page, demo: str) -> None:
    opened(page, demo)
    page.fill("#sql", SMOKERS)
    page.click("text=Restore this question")
    expect(page.locator("#sql")).to_be_focused()
    page.fill("#sql", SMOKERS)
    page.click("text=Run the question in the box")
    settled(page)
    expect(page.locator("#run")).to_be_focused()
