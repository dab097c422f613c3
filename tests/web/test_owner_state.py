"""The data owner's screen shows one service of one round: what cannot be fetched leaves nothing of another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

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
