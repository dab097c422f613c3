"""Collectors that are no demo: rows are typed, nothing of them leaves or is kept, changed contracts are shown first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

import tacit as tc
from support.collectors import Serving, served_here
from tacit.client.tokens import sign
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys

SECRET = "canary-6f1d0c-lives-in-a-house-with-a-blue-door"
NUMBER = 7_654_321
EVIL = "<img src=x onerror=\"document.title='broken'\">"

BANK = tc.Service(
    "bank",
    key="uid",
    attributes=[
        tc.Categorical("home", values=[SECRET, EVIL, "elsewhere"], null=True),
        tc.Ordinal("savings", low=0, high=9_999_999, cells=50),
    ],
)
COLLECTION = tc.Collection(tc.Schema([BANK]), 1, round="one")

EVERYTHING = """async () => {
  const texts = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href];
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((done) => { indexedDB.open(name).onsuccess = (e) => done(e.target.result); });
    for (const table of database.objectStoreNames) {
      const store = database.transaction(table).objectStore(table);
      const read = (what) => new Promise((done) => { what.onsuccess = () => done(what.result); });
      const [keys, values] = [await read(store.getAllKeys()), await read(store.getAll())];
      keys.forEach((key, i) => texts.push(key + (key.startsWith('contract/') ? '' : values[i])));
    }
    database.close();
  }
  return texts;
}"""
"""Everything a browser keeps for a page; of contracts, which are public, only the names."""


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[str]:
    """Lend the address of a collector in a process of its own."""
    serving = Serving(tmp_path, collection=COLLECTION)
    yield serving.address
    serving.end()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Collector, Keys, str]]:
    """Lend a collector that tests can reach into, its keys and its address."""
    collector, keys = Collector(tmp_path), Keys(tmp_path / "keys.json")
    collector.publish(COLLECTION)
    settings = Settings(without_token=frozenset(["open"]))
    with served_here(make_app(collector, keys, settings=settings)) as client:
        yield collector, keys, str(client.base_url).rstrip("/")
    collector.close()


def fill(page: Page, address: str, person: str) -> None:
    page.goto(f"{address}/me")
    page.fill("#person", person)
    page.click("text=Open")
    page.select_option("#bank-0-home", SECRET)
    page.fill("#bank-0-savings", str(NUMBER))


def test_no_raw_value_is_in_a_request_in_the_storage_or_at_the_collector(page: Page, tmp_path: Path) -> None:
    serving = Serving(tmp_path, collection=COLLECTION)
    requests: list[str] = []

    def seen(request: Any) -> None:
        requests.append(json.dumps([request.url, request.all_headers(), request.post_data]))

    page.on("request", seen)
    try:
        fill(page, serving.address, "u-1")
        page.click("#encode:enabled")
        expect(page.locator("#raw")).to_contain_text(SECRET)
        page.click("#submit:enabled")
        expect(page.locator("#receipt")).to_contain_text("The collector has your report")
        kept = page.evaluate(EVERYTHING)
        assert any("codes" in text for text in kept), "the wallet was looked at"
        assert any("codes" in text for text in requests), "the report was looked at"
        for text in [*kept, *requests]:
            assert SECRET not in text
            assert str(NUMBER) not in text
        page.reload()
        expect(page.locator("#receipt")).to_contain_text("The collector has your report")
        expect(page.locator("#raw")).not_to_contain_text(SECRET)
    finally:
        serving.end()
    assert SECRET not in serving.printed
    for path in (tmp_path / "store").rglob("*"):
        if path.is_file():
            assert str(NUMBER).encode() not in path.read_bytes()


def test_names_of_others_are_text_and_nothing_else(page: Page, bank: str) -> None:
    fill(page, bank, EVIL)
    page.select_option("#bank-0-home", EVIL)
    page.click("#encode:enabled")
    expect(page.locator("#raw")).to_contain_text("onerror")
    page.goto(f"{bank}/collections/{COLLECTION.id}")
    expect(page.locator("main")).to_contain_text(EVIL)
    expect(page.locator("#hash .badge")).to_have_text("the same")
    assert page.locator("main img").count() == 0
    assert page.title() != "broken"


def test_withheld_columns_and_wrong_values_are_told_apart(page: Page, bank: str) -> None:
    fill(page, bank, "u-2")
    page.check("text=leave empty")
    page.fill("#bank-0-savings", "123456789012")
    page.click("#encode:enabled")
    expect(page.locator("#bank-0-savings + [role=alert]")).to_contain_text("outside")
    expect(page.locator("#bank-0-savings")).to_be_focused()
    expect(page.locator("#bank-0-savings")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#trouble")).to_be_empty()
    expect(page.locator("#history")).to_have_count(0)
    page.fill("#bank-0-savings", "12")
    page.click("#encode:enabled")
    expect(page.locator("#raw")).to_contain_text('"home":null')


def test_what_is_wrong_stands_beside_its_field(page: Page, bank: str, tmp_path: Path) -> None:
    fill(page, bank, "u-2")
    page.fill("#cap", "-1")
    page.press("#cap", "Tab")
    expect(page.locator("#cap + [role=alert]")).to_contain_text("Your cap stays 4")
    damaged = tmp_path / "mine.json"
    damaged.write_text("{")
    page.set_input_files("#file", damaged)
    expect(page.locator("#file + [role=alert]")).to_contain_text("no rows as JSON")
    page.fill("#person", "x" * 2000)
    page.click("text=Open")
    expect(page.locator("#person + [role=alert]")).to_contain_text("person is neither")
    expect(page.locator("#person")).to_have_attribute("aria-describedby", "person-wrong")
    page.fill("#person", "u-2")
    page.click("text=Open")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_rows_come_from_a_file_of_hers(page: Page, bank: str, tmp_path: Path) -> None:
    fill(page, bank, "u-3")
    rows = tmp_path / "mine.json"
    rows.write_text(json.dumps({"bank": {"home": "elsewhere", "savings": 5, "unasked": 1}}))
    page.set_input_files("#file", rows)
    expect(page.locator("#bank-0-home")).to_have_value("elsewhere")
    page.click("#encode:enabled")
    expect(page.locator("#raw")).to_have_text('{"home":"elsewhere","savings":5}')


def test_a_changed_contract_is_shown_before_anything_is_encoded_by_it(
    page: Page, own: tuple[Collector, Keys, str]
) -> None:
    collector, _, address = own
    fill(page, address, "u-4")
    expect(page.locator("#encode:enabled")).to_be_visible()
    other = tc.Service("bank", key="uid", attributes=[*BANK.attributes[:1], tc.Ordinal("debts", 0, 9)])
    collector.publish(tc.Collection(tc.Schema([other]), 2, round="two"))
    page.reload()
    expect(page.locator("h2")).to_have_text("The contract has changed since your last visit")
    expect(page.locator("ins").filter(has_text="bank.debts")).to_be_visible()
    expect(page.locator("del").filter(has_text="bank.savings")).to_be_visible()
    expect(page.locator("#encode")).to_have_count(0)
    page.click("text=I have read this")
    expect(page.locator("#bank-0-debts")).to_be_visible()
    page.reload()
    expect(page.locator("#bank-0-debts")).to_be_visible()


def test_a_collector_with_keys_takes_the_key_of_its_page(page: Page, own: tuple[Collector, Keys, str]) -> None:
    _, keys, address = own
    closed, key = keys.create("page", ["ingest"], address), keys.create("open", ["ingest"], address)
    fill(page, address, "u-5")
    page.click("#encode:enabled")
    page.click("#submit:enabled")
    expect(page.locator("#outbox")).to_contain_text("1 report waits")
    expect(page.locator("[role=alert]")).to_contain_text("This needs a key")  # it would not leave by itself
    page.fill("#key", closed)
    page.click("text=Open")
    page.click("text=Send now")
    expect(page.locator("[role=alert]")).to_contain_text("token")
    expect(page.locator("#receipt")).to_contain_text("Your report waits on this device")
    page.fill("#key", key)
    page.click("text=Open")
    page.click("text=Send now")
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")
    page.click("text=Forget me …")
    page.click("dialog button.danger")
    expect(page.locator("[role=alert]")).to_contain_text("token")


def test_an_apps_link_says_who_she_is_and_leaves_no_trace(page: Page, own: tuple[Collector, Keys, str]) -> None:
    """Behind the # of a link nothing is sent: not in requests for pages, not in a referrer."""
    collector, keys, address = own
    key, secret = keys.create("page", ["ingest"], address), keys.create("page", ["sign"])
    token = sign(secret, collection=COLLECTION.id, person="u-6")
    page.goto(f"{address}/me#{urlencode({'person': 'u-6', 'key': key, 'token': token})}")
    page.select_option("#bank-0-home", "elsewhere")
    page.fill("#bank-0-savings", "1")
    page.click("#encode:enabled")
    page.click("#submit:enabled")
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")
    assert page.url == f"{address}/me"
    assert not [text for text in page.evaluate(EVERYTHING) if token in text]
    assert collector.query("SELECT COUNT(*) AS n FROM bank")["n"].value == 1
    page.click("text=Forget me …")
    page.click("dialog button.danger")
    expect(page.locator("#receipt")).to_contain_text("Your report was deleted")
    assert collector.query("SELECT COUNT(*) AS n FROM bank")["n"].value == 0
