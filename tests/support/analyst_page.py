"""The analyst's screen for tests: its parts, when it has settled, and replies that are held back."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Locator, Page, Route, expect

AREAS = "SELECT area, COUNT(*) AS people FROM shop WHERE age >= 30 GROUP BY area"

SMOKERS = "SELECT smoker, COUNT(*) AS people FROM clinic GROUP BY smoker"


def panel(page: Page, name: str) -> Locator:
    return page.locator(f"section[aria-label^='{name}']")


def table(page: Page) -> Locator:
    return page.locator("[aria-label='Answer as a table'] tbody")


def export(page: Page, name: str = "CSV") -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def settled(page: Page) -> None:
    """Wait until everything of the answer is there, and nothing is grey."""
    expect(page.locator("[data-adds-up=true]").first).to_be_visible()
    expect(page.locator("figure svg")).to_have_count(2)
    expect(page.locator(".stale")).to_have_count(0)


def opened(page: Page, address: str, sql: str = AREAS, more: str = "") -> None:
    page.goto(f"{address}/query#q={quote(sql)}{more}")
    settled(page)


def nothing_is_left(page: Page) -> None:
    """Require that no answer, chart, verdict, file, curve, tuple or tick is on the screen, not even in grey."""
    for gone in ("#chart", ".advice", "[data-adds-up]", "figure", ".tuples", "[aria-label='Answer as a table']"):
        expect(page.locator(gone)).to_have_count(0)
    expect(export(page)).to_have_count(0)


class Held:
    """Replies of a path that wait until they are let go."""

    def __init__(self, page: Page, path: str, only: str = "") -> None:
        self.waiting: list[Route] = []

        def hold(route: Route) -> None:
            if only in (route.request.post_data or ""):
                self.waiting.append(route)
            else:
                route.continue_()

        page.route(f"**{path}", hold)
        self._page = page

    def wait(self, many: int = 1) -> None:
        for _ in range(600):
            if len(self.waiting) >= many:
                return
            self._page.wait_for_timeout(50)
        raise AssertionError(self.waiting)

    def let_go(self, **reply: Any) -> None:
        for route in self.waiting:
            route.fulfill(**reply) if reply else route.continue_()
        self.waiting.clear()


def refusal(status: int, code: str, detail: str) -> dict[str, Any]:
    body = json.dumps({"code": code, "detail": detail, "status": status})
    return {"status": status, "body": body, "content_type": "application/problem+json"}


FAILURES: dict[str, dict[str, Any]] = {
    "slow down": refusal(429, "slow-down", "This key sends more questions than it may. Try again in 2 s."),
    "no store": refusal(503, "no-store", "The store cannot be reached."),
    "internal": refusal(500, "internal", "The collector made a mistake."),
    "proxy": {"status": 502, "body": "<html><h1>Bad gateway</h1></html>", "content_type": "text/html"},
    "not json": {"status": 200, "body": '{"rows": [NaN]}', "content_type": "application/json"},
}
