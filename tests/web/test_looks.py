"""Every page in light, dark and narrow: an accessibility checker finds nothing serious, and pictures are kept."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from support.tiers import keeping

WEB = Path(__file__).parents[2] / "web"


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the program of the checker, as the lock file names it."""
    if shutil.which("npm") is None:
        pytest.skip("no npm: the accessibility checker is not installed")
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(WEB / name, folder / name)
    subprocess.run(["npm", "ci"], cwd=folder, check=True, capture_output=True, timeout=300)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


def serious(page: Page, axe: str) -> list[Any]:
    page.evaluate(axe)
    found = page.evaluate("axe.run().then((result) => result.violations)")
    return [
        (one["id"], [node["target"] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def fits(page: Page) -> bool:
    """Tell whether nothing is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def test_the_checker_finds_what_is_wrong(context: BrowserContext, demo: str, axe: str) -> None:
    page = context.new_page()
    page.goto(demo)
    expect(page.locator("h1")).to_be_visible()
    assert serious(page, axe) == []
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [name for name, _ in serious(page, axe)] == ["button-name"]


def test_the_start_page(look: BrowserContext, demo: str, axe: str, picture: Callable[[Page, str], None]) -> None:
    page = look.new_page()
    page.goto(demo)
    expect(page.locator("main li")).to_have_count(1)
    picture(page, "start")
    assert serious(page, axe) == []
    assert fits(page)


def test_the_owners_screen(look: BrowserContext, demo: str, axe: str, picture: Callable[[Page, str], None]) -> None:
    page = look.new_page()
    page.goto(f"{demo}/me")
    for step in ("raw", "encoded"):
        expect(page.locator("#encode:enabled")).to_be_visible()
        if step == "encoded":
            page.click("#encode")
            expect(page.locator("#submit")).to_be_visible()
        picture(page, f"owner-{step}")
        assert serious(page, axe) == []
        assert fits(page)


QUESTIONS = {
    "plain": "SELECT smoker, AVG(visits) AS visits, COUNT(*) AS people FROM clinic GROUP BY smoker ORDER BY smoker",
    "nested": "SELECT goods, COUNT(*) FILTER (WHERE amount > 20) AS n FROM orders JOIN shop USING (uid) "
    "WHERE NOT (goods = 'food' OR area IN ('north', 'south')) GROUP BY goods HAVING n > -1e6 ORDER BY n DESC LIMIT 3",
    "weak": "SELECT area, COUNT(*) AS people FROM shop WHERE age = 99 GROUP BY area",
    "wrong": "SELECT COUNT(*) AS people FROM shop\nWHERE agee > 3",
}


@pytest.mark.parametrize("question", keeping(["nested"], QUESTIONS, "questions whose screens are looked at"))
def test_the_analysts_screen(
    look: BrowserContext, demo: str, axe: str, picture: Callable[[Page, str], None], question: str
) -> None:
    page = look.new_page()
    page.goto(f"{demo}/query#q={quote(QUESTIONS[question])}")
    if question == "wrong":
        expect(page.locator(".copy mark")).to_have_text("agee")
    else:
        expect(page.locator("[data-adds-up=true]").first).to_be_visible()
        expect(page.locator("figure svg")).to_have_count(2)
        expect(page.locator("#run[aria-busy]")).to_have_count(0)
        page.click("summary")
    picture(page, f"analyst-{question}")
    assert serious(page, axe) == []
    assert fits(page)


def test_a_page_of_several_answers(
    look: BrowserContext, demo: str, axe: str, picture: Callable[[Page, str], None]
) -> None:
    page = look.new_page()
    grid = "SELECT area, device, COUNT(*) AS people FROM shop GROUP BY area, device"
    ages = "SELECT age, COUNT(*) AS people FROM shop GROUP BY age"
    tiles = [("a", urlencode({"q": sql, "n": name})) for name, sql in (("grid", grid), ("ages", ages))]
    page.goto(f"{demo}/board#{urlencode([('title', 'The town'), *tiles])}")
    expect(page.locator(".tile .advice")).to_have_count(2)
    picture(page, "board")
    assert serious(page, axe) == []
    assert fits(page)
    page.goto(f"{demo}/query#q={quote(grid)}&f=1")
    expect(page.locator("#fit")).to_contain_text("inside")
    picture(page, "analyst-grid")
    assert serious(page, axe) == []
    assert fits(page)


def test_the_collection_page(look: BrowserContext, demo: str, axe: str, picture: Callable[[Page, str], None]) -> None:
    page = look.new_page()
    [first, *_] = httpx.get(f"{demo}/v1/collections", trust_env=False).json()["collections"]
    page.goto(f"{demo}/collections/{first['id']}")
    expect(page.locator("#audit .badge.good")).to_have_count(2)
    picture(page, "collection")
    assert serious(page, axe) == []
    assert fits(page)
