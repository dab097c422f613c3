"""The data owner's story in a real browser: encoding, seeing what leaves, submitting, being counted, leaving."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect


def ask(demo: str, sql: str) -> dict[str, Any]:
    return httpx.post(f"{demo}/v1/query", json={"tacit": 1, "sql": sql}, timeout=60, trust_env=False).json()["rows"][0]


def listed(demo: str) -> list[dict[str, Any]]:
    return list(httpx.get(f"{demo}/v1/collections", trust_env=False).json()["collections"])


def play(page: Page, demo: str, person: int) -> str:
    """Open the screen as one of the demo's people; return their id at each service."""
    page.goto(f"{demo}/me")
    page.wait_for_selector("#person")
    page.select_option("#person", index=person)
    expect(page.locator("[aria-busy=false]")).to_be_attached()
    return str(page.locator("#person").input_value())


def encode(page: Page) -> str:
    """Encode the rows of the service that is shown; return the report as the page shows it."""
    page.click("#encode:enabled")
    expect(page.locator("#submit")).to_be_visible()
    return str(page.locator("#leaves").text_content())


def test_she_encodes_sees_submits_and_is_counted(page: Page, demo: str) -> None:
    before = ask(demo, "SELECT COUNT(*) AS n FROM shop WHERE device = 'ios'")["n"]
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data) if request.post_data else None)
    person = play(page, demo, 0)
    leaves = encode(page)
    report = json.loads(leaves)
    assert report == {
        "person": person,
        "service": "shop",
        "slot": 0,
        "codes": report["codes"],
        "public": {"device": "ios"},
    }
    assert sent == [], "nothing leaves before submitting"
    expect(page.locator("text=Encode again")).to_be_disabled()
    expect(page.locator("#why")).to_contain_text("drawn once per round")
    shown = page.locator("#request").text_content()
    page.click("#submit")
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")
    assert sent == [shown], "what left is what was shown, byte for byte"
    assert ask(demo, "SELECT COUNT(*) AS n FROM shop WHERE device = 'ios'")["n"] == before + 1
    page.reload()
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")
    assert page.locator("#leaves").text_content() == leaves
    expect(page.locator("#history tbody tr")).to_have_count(1)


def test_the_browser_is_asked_to_keep_the_wallet(page: Page, demo: str) -> None:
    """A browser that does not promise it may clear a wallet, whose reports would be drawn again: the page says so."""
    refusing = "() => { window.asked = true; return Promise.resolve(false); }"
    page.add_init_script(f"Object.defineProperty(navigator.storage, 'persist', {{ value: {refusing} }});")
    play(page, demo, 2)
    assert page.evaluate("window.asked")
    expect(page.locator("#not-kept")).to_contain_text("does not guarantee to keep the wallet")


def test_the_slider_says_what_can_be_learned_and_is_fixed_once_used(page: Page, demo: str) -> None:
    play(page, demo, 1)
    slider, promise = page.locator("#tier"), page.locator("#promise")
    for presses, tier, most in (
        ("ArrowLeft", "careful", "73.2"),
        ("ArrowRight", "standard", "88.1"),
        ("ArrowRight", "open", "95.3"),
    ):
        slider.focus()
        page.keyboard.press(presses)
        expect(promise).to_contain_text(f"to at most {most}\u00a0%")
        expect(slider).to_have_attribute("aria-valuetext", re.compile(tier))
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(promise).to_contain_text("88.1")
    encode(page)
    expect(slider).to_be_disabled()
    expect(page.locator("main")).to_contain_text("A second choice would spend both")


def test_what_leaves_as_it_is_is_named_before_what_is_hidden(page: Page, demo: str) -> None:
    play(page, demo, 1)
    sentences = page.locator("#promise p")
    expect(sentences.nth(0)).to_contain_text(
        re.compile(r"^Sent unchanged: \w+ and device, and that you report to shop")
    )
    expect(sentences.nth(1)).to_contain_text("Someone who knows that and sees this report")
    said = " ".join(sentences.all_text_contents())
    encode(page)
    expect(page.locator("#said")).to_have_text(said)  # the preview of the client says the same
    page.click("#service-orders")
    expect(page.locator("#promise")).to_contain_text("anything else in the rows, and how many there are,")


@pytest.mark.long("ways that tests of the client cover, too")
def test_the_cap_renews_if_she_says_so_and_the_page_says_when(page: Page, demo: str) -> None:
    play(page, demo, 0)
    expect(page.locator("main")).to_contain_text("Your cap never renews")
    expect(page.locator("#lost")).to_contain_text("draws reports again")
    expect(page.locator("#not-kept")).to_contain_text("does not guarantee to keep")  # a fresh profile has no reason to
    page.select_option("#per", "year")
    expect(page.locator("main")).to_contain_text("You spend at most your cap in any 365 consecutive days")
    encode(page)
    today = page.evaluate("new Date(Date.now() + 365 * 864e5).toISOString().slice(0, 10)")
    expect(page.locator("#spent")).to_contain_text(f"stops counting on {today}")
    page.reload()
    expect(page.locator("#per")).to_have_value("year")


def test_a_lost_wallet_with_a_token_draws_nothing_that_the_collector_has(page: Page, demo: str) -> None:
    """The demo's collector signs no tokens, so its answer before each first draw for a service is given here."""
    asked = []

    def answer(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        route.fulfill(json={"taken": [{"service": "shop", "slot": 0}]})

    page.route("**/v1/receipts", answer)
    page.goto(f"{demo}/me#token=1800000000.ab")
    page.wait_for_selector("#person")
    page.select_option("#person", index=2)
    page.click("#encode:enabled")
    expect(page.locator("#receipt")).to_contain_text("The collector already has your report to this service")
    expect(page.locator("#service-shop")).to_contain_text("reported before")
    expect(page.locator("#spent")).to_contain_text("0 of 4 spent")
    page.click("#service-clinic")
    encode(page)
    assert [sorted(one) for one in asked] == [["collection", "key", "token"]] * 2


def test_she_needs_no_mouse(page: Page, demo: str) -> None:
    """From the service to the receipt by keyboard alone; the focus goes where the next step is."""
    play(page, demo, 1)
    page.locator("#service-clinic").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#service-clinic")).to_be_focused()
    expect(page.locator("#service-clinic")).to_have_attribute("aria-pressed", "true")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "encode":
            break
    expect(page.locator("#encode")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#submit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#receipt")).to_be_focused()
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")


@pytest.mark.long("ways that tests of the client cover, too")
def test_the_cap_is_kept_over_services(page: Page, demo: str) -> None:
    play(page, demo, 2)
    encode(page)
    page.fill("#cap", "2.5")
    page.locator("#cap").blur()
    page.click("#service-clinic")
    expect(page.locator("#over")).to_contain_text("This would exceed your cap")
    expect(page.locator("#encode")).to_be_disabled()
    expect(page.locator("svg[aria-label^='Spent']")).to_have_attribute("aria-label", "Spent: shop 2; 2 of 2.5.")


def test_offline_reports_wait_and_leave_by_themselves(context: BrowserContext, page: Page, demo: str) -> None:
    play(page, demo, 3)
    encode(page)
    context.set_offline(True)
    page.click("#submit")
    expect(page.locator("#outbox")).to_contain_text("1 report waits on this device")
    expect(page.locator("#receipt")).to_contain_text("waits on this device")
    context.set_offline(False)
    expect(page.locator("#receipt")).to_contain_text("The collector has your report")
    expect(page.locator("#outbox")).to_have_count(0)


@pytest.mark.long("ways that tests of the client cover, too")
def test_another_device_is_refused_and_told_so(page: Page, demo: str) -> None:
    """Somebody reported under this name before: the first report counts, and the refusal shows its code."""
    play(page, demo, 3)
    page.click("#service-orders")
    report = json.loads(encode(page))
    tier = next(one["id"] for one in listed(demo) if one["tier"] == "standard")
    other = report | {"codes": [1 if report["codes"] == [0] else 0]}
    httpx.post(f"{demo}/v1/collections/{tier}/reports", json={"tacit": 1, "reports": [other]}, trust_env=False)
    page.click("#submit")
    expect(page.locator("#receipt")).to_contain_text("report-differs")


@pytest.mark.long("ways that tests of the client cover, too")
def test_forgetting_deletes_here_and_there(page: Page, demo: str) -> None:
    play(page, demo, 2)
    page.click("#service-clinic")
    encode(page)
    page.click("#submit")
    expect(page.locator("#receipt")).to_be_visible()
    before = ask(demo, "SELECT COUNT(*) AS n FROM clinic")["n"]
    page.click("text=Forget me …")
    page.click("dialog button.danger")
    expect(page.locator("#receipt")).to_contain_text("Your report was deleted")
    assert ask(demo, "SELECT COUNT(*) AS n FROM clinic")["n"] == before - 1
    expect(page.locator("#history")).to_contain_text("forgotten")


@pytest.mark.long("ways that tests of the client cover, too")
def test_all_of_it_can_be_downloaded(page: Page, demo: str) -> None:
    play(page, demo, 1)
    page.click("#service-orders")
    leaves = encode(page)
    with page.expect_download() as waiting:
        page.click("text=Download everything")
    kept = json.loads(waiting.value.path().read_text())
    assert kept["receipts"][0]["reports"][0]["body"] == leaves


@pytest.mark.parametrize("path", ["/", "/me"])
def test_pages_have_one_heading_and_a_way_past_the_navigation(page: Page, demo: str, path: str) -> None:
    page.goto(f"{demo}{path}")
    expect(page.locator("h1")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
