"""Builder and text of the analyst's screen: one question, whichever of the two is edited while the other is read."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from support.analyst_page import FAILURES, SMOKERS, Held, nothing_is_left, opened, panel, settled


def test_while_the_text_is_read_the_builder_waits(page: Page, demo: str) -> None:
    """A click in menus of the text before would undo what was typed."""
    opened(page, demo)
    held = Held(page, "/v1/draft")
    page.fill("#sql", SMOKERS)
    held.wait()
    expect(panel(page, "Builder")).to_have_class(re.compile("stale"))
    expect(page.get_by_label("Group by a column")).to_be_disabled()
    expect(page.locator(".forecast")).to_have_text("Reading the question…")
    held.let_go(**FAILURES["no store"])
    expect(page.locator(".forecast")).to_contain_text("The store cannot be reached.")
    expect(page.locator(".builder")).to_contain_text("cannot show")
    page.unroute("**/v1/draft")
    page.click("text=Try again")
    expect(page.locator(".builder")).to_contain_text("smoker")
    expect(page.get_by_label("Group by a column")).to_be_enabled()


@pytest.mark.long("the builder beside the text; that it waits stays")
def test_changes_of_the_builder_while_an_earlier_one_is_read_are_kept(page: Page, demo: str) -> None:
    opened(page, demo)
    held = Held(page, "/v1/draft")
    page.get_by_label("where: value").fill("40")
    held.wait()
    page.get_by_label("where: value").fill("41")
    held.wait(2)
    held.let_go()
    expect(page.locator("#sql")).to_have_value(re.compile("age >= 41"))
    page.wait_for_timeout(400)
    expect(page.locator("#sql")).to_have_value(re.compile("age >= 41"))
    expect(page.get_by_label("where: value")).to_have_value("41")


@pytest.mark.long("the builder beside the text; that it waits stays")
def test_the_text_says_when_it_does_not_follow_the_builder(page: Page, demo: str) -> None:
    opened(page, demo)
    held = Held(page, "/v1/draft")
    page.get_by_role("button", name="Remove this group area").click()
    held.wait()
    expect(panel(page, "SQL")).to_have_class(re.compile("stale"))
    expect(panel(page, "Answer")).to_have_class(re.compile("stale"))
    expect(page.get_by_role("button", name="Copy link")).to_be_disabled()
    held.let_go(**FAILURES["slow down"])
    expect(page.locator(".forecast")).to_contain_text("is not updated from the builder")
    page.click("#run")
    held.wait()
    held.let_go(**FAILURES["slow down"])
    expect(panel(page, "Answer").get_by_role("alert")).to_contain_text("Try again in 2 s")
    nothing_is_left(page)
    page.unroute("**/v1/draft")
    page.click("#run")
    expect(page.locator("#sql")).not_to_have_value(re.compile("GROUP BY"))
    settled(page)


@pytest.mark.long("the builder beside the text; that it waits stays")
def test_what_is_no_limit_does_not_stay_in_the_builder(page: Page, demo: str) -> None:
    opened(page, demo)
    page.get_by_label("Most rows").fill("2")
    expect(page.locator("#sql")).to_have_value(re.compile("LIMIT 2$"))
    page.get_by_label("Most rows").fill("2x")
    expect(page.locator("#sql")).not_to_have_value(re.compile("LIMIT"))
    page.locator("#sql").focus()
    expect(page.get_by_label("Most rows")).to_have_value("")
