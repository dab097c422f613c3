"""Saved questions, and a page of several answers by link, in every state that it can be in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import tacit as tc
from support.analyst_page import AREAS, FAILURES, SMOKERS, Held, opened
from support.collectors import served_here
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

ONE = "SELECT COUNT(*) AS people FROM shop WHERE age >= 30"


def board(*questions: tuple[str, str], title: str = "") -> str:
    """Return the address of a page of questions."""
    tiles = [("a", urlencode({"q": sql, "n": name})) for name, sql in questions]
    return "/board#" + urlencode([("title", title), *tiles])


def tile(page: Page, name: str) -> str:
    return f"section[aria-label='{name}']"


def save(page: Page, name: str) -> None:
    page.click("text=Save this question")
    page.fill("#name", name)
    page.press("#name", "Enter")
    expect(page.locator(".saved")).to_contain_text("Saved in this browser.")


def test_questions_are_saved_opened_deleted_and_shown_together(page: Page, demo: str) -> None:
    opened(page, demo, AREAS, "&v=bars&f=1")
    save(page, "By area")
    expect(page.get_by_role("button", name="Save this question")).to_be_focused()
    page.fill("#sql", SMOKERS)
    save(page, "Smokers")
    page.reload()
    page.get_by_role("button", name="Smokers", exact=True).click()
    expect(page.locator("#sql")).to_have_value(SMOKERS)
    page.get_by_role("button", name="By area", exact=True).click()
    expect(page.locator("#sql")).to_have_value(AREAS)
    expect(page.locator("#fitted")).to_be_checked()
    page.click("text=All 2 on one page")
    expect(page.locator(".tile .advice")).to_have_count(2)
    expect(page.locator(tile(page, "By area"))).to_contain_text("Fitted by a model")
    page.go_back()
    page.get_by_label("Delete the saved question Smokers").click()
    expect(page.get_by_role("button", name="Smokers", exact=True)).to_have_count(0)
    expect(page.locator("text=on one page")).to_have_count(0)


@pytest.mark.long("details of saved questions")
def test_a_browser_that_keeps_nothing_says_so(page: Page, demo: str) -> None:
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    opened(page, demo)
    page.click("text=Save this question")
    page.press("#name", "Enter")
    expect(page.locator(".saved")).to_contain_text("keeps nothing")
    page.evaluate('localStorage.getItem = null; Storage.prototype.getItem = () => \'{"not": ["a list\'')
    page.click("text=Save this question")
    page.press("#name", "Escape")
    expect(page.locator("#name")).to_have_count(0)


def test_a_page_of_answers_opens_by_its_link_alone(page: Page, demo: str) -> None:
    page.goto(demo + board(("Areas", AREAS), ("Adults", ONE), ("Wrong", "SELECT agee FROM shop"), title="The town"))
    expect(page.locator("h1")).to_have_text("The town")
    expect(page.locator(tile(page, "Areas"))).to_contain_text("interval at 95")
    expect(page.locator(tile(page, "Adults") + " .headline")).to_contain_text(re.compile(r"\d ± \d"))
    expect(page.locator(tile(page, "Wrong")).get_by_role("alert")).to_contain_text("agee")
    page.get_by_label("Move Adults up").click()
    expect(page.locator(".tile h2").first).to_have_text("Adults")
    page.get_by_label("Remove Wrong from this page").click()
    expect(page.locator(".tile")).to_have_count(2)
    page.fill("#title", "Grown-ups")
    page.press("#title", "Enter")
    expect(page.locator("h1")).to_have_text("Grown-ups")
    page.reload()
    expect(page.locator("h1")).to_have_text("Grown-ups")
    expect(page.locator(".tile .advice")).to_have_count(2)
    page.get_by_role("link", name="Areas").click()
    expect(page.locator("#sql")).to_have_value(AREAS)


def test_empty_loading_error_and_offline_are_said(context: BrowserContext, page: Page, demo: str) -> None:
    page.goto(f"{demo}/board")
    expect(page.locator("main")).to_contain_text("This page has no questions")
    held = Held(page, "/v1/query")
    page.goto(demo + board(("Areas", AREAS)))
    held.wait()
    expect(page.locator(tile(page, "Areas")).get_by_role("status")).to_have_text("Asking…")
    held.let_go(**FAILURES["no store"])
    expect(page.locator(tile(page, "Areas")).get_by_role("alert")).to_contain_text("store cannot be reached")
    page.unroute("**/v1/query")
    context.set_offline(True)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(tile(page, "Areas")).get_by_role("alert")).to_contain_text("collector cannot be reached")
    context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(tile(page, "Areas") + " svg")).to_be_visible()


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[tuple[str, Keys]]:
    """Lend a collector with keys and no reports."""
    service = tc.Service("bank", key="uid", attributes=[tc.Categorical("home", values=["north", "south"])])
    collector, keys = Collector(tmp_path), Keys(tmp_path / "keys.json")
    collector.publish(tc.Collection(tc.Schema([service]), 6.0))
    with served_here(make_app(collector, keys)) as client:
        yield str(client.base_url).rstrip("/"), keys
    collector.close()


def test_without_rights_a_key_is_asked_for_and_not_kept(page: Page, keyed: tuple[str, Keys]) -> None:
    address, keys = keyed
    key = keys.create("one", ["query"])
    page.goto(address + board(("Homes", "SELECT COUNT(*) AS n FROM bank")))
    page.fill("#key", "wrong")
    page.click("text=Continue")
    expect(page.get_by_role("alert")).to_contain_text("unknown")
    page.fill("#key", key)
    page.click("text=Continue")
    expect(page.locator("#key")).to_have_count(0)
    assert key not in page.url
    assert key not in page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    page.goto(f"{address}/query")
    page.fill("#key", key)
    page.click("text=Continue")
    expect(page.locator("main")).to_contain_text("No reports have arrived yet")
