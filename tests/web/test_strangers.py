"""Collectors that are no demo: rows are typed, nothing of them leaves or is kept, changed contracts are shown first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import BrowserContext, Page, expect

import tacit as tc
from support.collectors import Serving, served_here
from tacit.server.app import make_app
from tacit.server.collector import Collector
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


def test_names_of_others_are_text_and_nothing_else(page: Page, tmp_path: Path) -> None:
    serving = Serving(tmp_path, collection=COLLECTION)
    try:
        fill(page, serving.address, EVIL)
        page.select_option("#bank-0-home", EVIL)
        page.click("#encode:enabled")
        expect(page.locator("#raw")).to_contain_text("onerror")
        page.goto(f"{serving.address}/collections/{COLLECTION.id}")
        expect(page.locator("main")).to_contain_text(EVIL)
        expect(page.locator("#hash .badge")).to_have_text("the same")
        assert page.locator("main img").count() == 0
        assert page.title() != "broken"
    finally:
        serving.end()


def test_withheld_columns_and_wrong_values_are_told_apart(page: Page, tmp_path: Path) -> None:
    serving = Serving(tmp_path, collection=COLLECTION)
    try:
        fill(page, serving.address, "u-2")
        page.check("text=do not tell")
        page.fill("#bank-0-savings", "123456789012")
        page.click("#encode:enabled")
        expect(page.locator("[role=alert]")).to_contain_text("outside")
        expect(page.locator("#history")).to_have_count(0)
        page.fill("#bank-0-savings", "12")
        page.click("#encode:enabled")
        expect(page.locator("#raw")).to_contain_text('"home":null')
    finally:
        serving.end()


def test_rows_come_from_a_file_of_hers(page: Page, tmp_path: Path) -> None:
    serving = Serving(tmp_path, collection=COLLECTION)
    try:
        fill(page, serving.address, "u-3")
        rows = tmp_path / "mine.json"
        rows.write_text(json.dumps({"bank": {"home": "elsewhere", "savings": 5, "unasked": 1}}))
        page.set_input_files("#file", rows)
        expect(page.locator("#bank-0-home")).to_have_value("elsewhere")
        page.click("#encode:enabled")
        expect(page.locator("#raw")).to_have_text('{"home":"elsewhere","savings":5}')
    finally:
        serving.end()


def test_a_changed_contract_is_shown_before_anything_is_encoded_by_it(context: BrowserContext, tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    collector.publish(COLLECTION)
    try:
        with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as client:
            page = context.new_page()
            fill(page, str(client.base_url).rstrip("/"), "u-4")
            expect(page.locator("#encode:enabled")).to_be_visible()
            other = tc.Service("bank", key="uid", attributes=[*BANK.attributes[:1], tc.Ordinal("debts", 0, 9)])
            collector.publish(tc.Collection(tc.Schema([other]), 2, round="two"))
            page.reload()
            expect(page.locator("h2")).to_have_text("The contract changed since you last looked")
            expect(page.locator("ins").filter(has_text="bank.debts")).to_be_visible()
            expect(page.locator("del").filter(has_text="bank.savings")).to_be_visible()
            expect(page.locator("#encode")).to_have_count(0)
            page.click("text=I have read this")
            expect(page.locator("#bank-0-debts")).to_be_visible()
            page.reload()
            expect(page.locator("#bank-0-debts")).to_be_visible()
    finally:
        collector.close()


def test_a_collector_with_keys_takes_the_key_of_its_page(page: Page, tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    collector.publish(COLLECTION)
    keys = Keys(tmp_path / "keys.json")
    try:
        with served_here(make_app(collector, keys)) as client:
            address = str(client.base_url).rstrip("/")
            key = keys.create("page", ["ingest"], address)
            fill(page, address, "u-5")
            page.click("#encode:enabled")
            page.click("#submit:enabled")
            expect(page.locator("#outbox")).to_contain_text("1 report waits")
            page.fill("#key", key)
            page.click("text=Open")
            page.click("text=Send now")
            expect(page.locator("#receipt")).to_contain_text("The collector has your report")
            assert isinstance(client, httpx.Client)
    finally:
        collector.close()
