"""The page of a collection: what it says is true also when something is missing, refused or not what it is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tacit as tc
from support.collectors import served_here
from support.tiers import keeping
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys

VALUES = [f"value {i:04}" for i in range(2_500)]
SERVICE = tc.Service(
    "bank",
    key="uid",
    attributes=[
        tc.Categorical("home", values=VALUES),
        tc.Categorical("size", values=[f"s{i}" for i in range(40)]),
        tc.Public("os", values=["ios", "web"]),
        tc.Public("note"),
    ],
)
COLLECTION = tc.Collection(tc.Schema([SERVICE]), 2.0)
PATH = f"/v1/collections/{COLLECTION.id}"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Lend the address of the collection's page."""
    collector = Collector(tmp_path)
    collector.publish(COLLECTION)
    with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as client:
        yield f"{str(client.base_url).rstrip('/')}/collections/{COLLECTION.id}"
    collector.close()


def problem(page: Page, path: str, status: int, detail: str) -> None:
    body = json.dumps({"code": "some-code", "detail": detail})
    page.route(f"**{path}", lambda route: route.fulfill(status=status, body=body, content_type="application/json"))


@pytest.mark.parametrize("status", keeping([503], [429, 500, 503], "statuses of a collector that cannot answer"))
def test_a_collector_that_cannot_answer_does_not_say_that_nothing_is_there(
    page: Page, address: str, status: int
) -> None:
    problem(page, PATH, status, "The store cannot be reached.")
    page.goto(address)
    expect(page.get_by_role("alert")).to_have_text("The store cannot be reached.")
    expect(page.locator("h1")).not_to_contain_text("no such collection")


def test_a_collection_that_is_not_there_is_said(page: Page, address: str) -> None:
    page.goto(f"{address[:-4]}0000")
    expect(page.locator("h1")).to_have_text("There is no such collection here")


def test_without_the_collectors_audit_the_page_shows_its_own(page: Page, address: str) -> None:
    problem(page, f"{PATH}/audit", 503, "The audit takes too long now.")
    page.goto(address)
    expect(page.locator("#audit")).to_contain_text("The audit takes too long now.")
    expect(page.locator("#audit .badge.good")).to_have_count(1)
    expect(page.locator("#hash .badge.good")).to_have_text("the same")


def test_bytes_of_another_collection_are_not_praised(page: Page, address: str) -> None:
    other = tc.Collection(tc.Schema([SERVICE]), 3.0).to_json()
    page.route(f"**{PATH}", lambda route: route.fulfill(body=other, content_type="application/json"))
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text("not the one that this address names")
    expect(page.locator("#hash .badge.bad")).to_have_text("different")
    expect(page.locator("main")).not_to_contain_text("proves it exactly")


def test_a_failed_audit_of_the_page_is_not_called_a_proof(page: Page, address: str) -> None:
    contract = json.loads(COLLECTION.to_json())
    contract["epsilon"] = "1"
    page.route(f"**{PATH}", lambda route: route.fulfill(body=json.dumps(contract), content_type="application/json"))
    page.goto(address)
    expect(page.locator("#audit .badge.bad")).to_have_count(1)
    expect(page.locator("main")).not_to_contain_text("proves it exactly")


def test_without_https_the_hash_is_not_called_different(page: Page, address: str) -> None:
    page.add_init_script("Object.defineProperty(window, 'isSecureContext', { value: false })")
    page.goto(address)
    expect(page.locator("#hash")).to_contain_text("not computed")
    expect(page.locator("#hash .badge.bad")).to_have_count(0)


def test_long_lists_of_values_say_how_many_and_offer_the_rest(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("summary")).to_have_text(["the first 2,000 of 2,500", "all 40"])
    page.locator("summary").nth(1).click()
    expect(page.locator(".values").nth(1)).to_contain_text("s39")


def test_public_columns_show_the_values_that_the_contract_lists(page: Page, address: str) -> None:
    page.goto(address)
    for name, said in (("os", "ios, web"), ("note", "anything")):
        expect(page.get_by_role("row").filter(has_text=name).get_by_text(said, exact=True)).to_have_count(1)


def test_the_page_lists_the_views_with_the_most_codes(page: Page, address: str) -> None:
    page.goto(address)
    told = page.request.get(address.split("/collections/")[0] + f"{PATH}/audit").json()["codes"]
    expect(page.locator("#codes tbody tr")).to_have_count(len(told["largest"]))
    expect(page.locator("#codes p").first).to_contain_text(f"one of {told['codes']:,} codes")


def test_the_page_says_what_everybody_else_learns(page: Page, address: str) -> None:
    """Without snapshots nothing better is claimed, and the page says why; with a crowd it names both limits."""
    page.goto(address)
    expect(page.locator("#readers")).to_contain_text("no better limit is claimed, because the collector counts every")
    audit = page.request.get(address.split("/collections/")[0] + f"{PATH}/audit").json()
    audit["central"] |= {"epsilon": 0.0643, "people": 1_000_000, "reason": ""}
    page.route(f"**{PATH}/audit", lambda route: route.fulfill(json=audit))
    page.goto(address)
    expect(page.locator("#readers")).to_contain_text("from 50 % to at most 51.7 % (central ε = 0.065)")
    expect(page.locator("#readers")).to_contain_text("hides among 1,000,000 people")


def test_the_reason_of_a_design_and_its_distance_from_the_limit_are_shown(page: Page, tmp_path: Path) -> None:
    service = tc.Service("bank", key="uid", attributes=[tc.Ordinal("age", 0, 31), tc.Ordinal("pay", 0, 31)])
    collection = tc.Collection(tc.Schema([service]), 1.0, questions=["SELECT COUNT(*) FROM bank WHERE age > 9"])
    why = collection.contract["bank"].why
    assert "limit" in why
    assert "ranges" in why
    collector = Collector(tmp_path)
    collector.publish(collection)
    with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as client:
        page.goto(f"{str(client.base_url).rstrip('/')}/collections/{collection.id}")
        expect(page.locator(".reason")).to_contain_text(why)
    collector.close()
