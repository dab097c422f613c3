"""The data owner's screen shows one service of one round: what cannot be fetched leaves nothing of another one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

import tacit as tc
from support.collectors import served_here
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

ONE = tc.Collection(tc.Schema([tc.Service("bank", key="uid", attributes=[tc.Ordinal("savings", 0, 9)])]), 1, round="1")
TWO = tc.Collection(tc.Schema([tc.Service("club", key="uid", attributes=[tc.Ordinal("visits", 0, 9)])]), 1, round="2")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Lend a collector with two rounds that ask for different things."""
    collector = Collector(tmp_path)
    for collection in (ONE, TWO):
        collector.publish(collection)
    with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as client:
        yield str(client.base_url).rstrip("/")
    collector.close()


def test_another_round_shows_its_own_services(page: Page, address: str) -> None:
    page.goto(f"{address}/me")
    page.fill("#person", "u-1")
    page.click("text=Open")
    expect(page.locator("#club-0-visits")).to_be_visible()
    page.select_option("#round", index=1)
    expect(page.locator("#bank-0-savings")).to_be_visible()
    expect(page.locator("#club-0-visits")).to_have_count(0)


def test_a_contract_that_cannot_be_fetched_is_said_and_comes_back(page: Page, address: str) -> None:
    page.goto(f"{address}/me")
    page.fill("#person", "u-1")
    page.click("text=Open")
    expect(page.locator("#club-0-visits")).to_be_visible()
    path = f"**/v1/collections/{ONE.id}"
    body = json.dumps({"code": "no-store", "detail": "The store cannot be reached."})
    page.route(path, lambda route: route.fulfill(status=503, body=body, content_type="application/problem+json"))
    page.select_option("#round", index=1)
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("#club-0-visits")).to_have_count(0)
    page.unroute(path)
    page.click("text=Open")
    expect(page.locator("#encode")).to_be_visible()


def begin(page: Page, address: str, visits: int) -> None:
    page.goto(f"{address}/me")
    page.fill("#person", "u-1")
    page.click("text=Open")
    page.fill("#club-0-visits", str(visits))


@pytest.mark.long("details of the owner's visits; another round, tab and contract stay")
def test_nothing_is_said_about_rows_of_an_earlier_visit(page: Page, address: str) -> None:
    begin(page, address, 3)
    page.click("#encode:enabled")
    expect(page.locator("#raw")).to_have_text('{"visits":3}')
    expect(page.locator("main")).to_contain_text("was drawn from these rows")
    leaves = page.locator("#leaves").text_content()
    page.reload()
    expect(page.locator("#rows-gone")).to_contain_text("drawn on an earlier visit or in another tab")
    expect(page.locator("main")).not_to_contain_text("was drawn from these rows")
    expect(page.locator("#raw")).to_contain_text("not stored")
    expect(page.locator("#club-0-visits")).to_have_count(0)
    assert page.locator("#leaves").text_content() == leaves
    page.click("#submit:enabled")
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")


def test_nothing_can_be_encoded_while_the_wallet_is_read(page: Page, address: str) -> None:
    begin(page, address, 3)
    expect(page.locator("#encode")).to_be_enabled()
    held: list[Route] = []
    page.route(f"**/v1/collections/{TWO.id}", lambda route: held.append(route))
    page.click("text=Open")
    expect(page.locator("[aria-busy=true]")).to_be_visible()
    page.fill("#club-0-visits", "4")
    expect(page.locator("#encode")).to_be_disabled()
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.locator("#encode")).to_be_enabled()
    expect(page.locator("#club-0-visits")).to_have_value("4")


def test_what_another_tab_encoded_is_not_said_to_be_of_these_rows(
    page: Page, context: BrowserContext, address: str
) -> None:
    begin(page, address, 3)
    other = context.new_page()
    begin(other, address, 7)
    expect(other.locator("#encode")).to_be_enabled()  # it has read the wallet before the first tab writes to it
    page.click("#encode:enabled")
    expect(page.locator("#submit")).to_be_visible()
    other.click("#encode:enabled")
    expect(other.locator("#rows-gone")).to_be_visible()
    expect(other.locator("#raw")).not_to_contain_text("7")
    assert other.locator("#leaves").text_content() == page.locator("#leaves").text_content()


@pytest.mark.long("details of the owner's visits; another round, tab and contract stay")
def test_a_file_changes_no_rows_that_a_report_was_drawn_from(page: Page, address: str, tmp_path: Path) -> None:
    begin(page, address, 3)
    page.click("#encode:enabled")
    expect(page.locator("#submit")).to_be_visible()
    (tmp_path / "mine.json").write_text(json.dumps({"club": {"visits": 9}}))
    page.set_input_files("#file", tmp_path / "mine.json")
    page.wait_for_timeout(300)
    expect(page.locator("#raw")).to_have_text('{"visits":3}')


@pytest.mark.long("details of the owner's visits; another round, tab and contract stay")
def test_another_cap_keeps_her_rows(page: Page, address: str) -> None:
    begin(page, address, 3)
    page.fill("#cap", "3")
    page.locator("#cap").blur()
    expect(page.locator("#spent")).to_contain_text("0 of 3 spent")
    expect(page.locator("#club-0-visits")).to_have_value("3")


@pytest.mark.long("details of the owner's visits; another round, tab and contract stay")
def test_another_cap_keeps_the_tier_that_she_chose(page: Page, demo: str) -> None:
    page.goto(f"{demo}/me")
    page.locator("#tier").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tier")).to_have_attribute("aria-valuetext", re.compile("careful"))
    page.fill("#cap", "3")
    page.locator("#cap").blur()
    expect(page.locator("#spent")).to_contain_text("of 3 spent")
    expect(page.locator("#tier")).to_have_attribute("aria-valuetext", re.compile("careful"))
