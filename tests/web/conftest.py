"""A real browser: Chromium, driven by Playwright; pictures are kept where TACIT_PICTURES says."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from support.browser import CHROMIUM, MISSING
from support.demos import demo_served
from support.tiers import keeping

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}

expect.set_options(timeout=60_000)  # busy machines are slow, and nothing here is about speed

Picture = Callable[[Page, str], None]


@pytest.fixture(scope="session")
def demo() -> Iterator[str]:
    """Lend the address of a demo."""
    with demo_served() as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Lend a browser."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(params=keeping(["dark"], LOOKS, "looks of a screen"))
def look(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """Lend a fresh profile: light, dark and narrow."""
    context = browser.new_context(**LOOKS[request.param])
    yield context
    context.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Lend a fresh profile."""
    made = browser.new_context(**LOOKS["light"])
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """Lend a page, and require that nothing in it went wrong unseen."""
    made = context.new_page()
    troubles: list[str] = []
    made.on("pageerror", lambda error: troubles.append(str(error)))
    made.on("console", lambda message: troubles.append(message.text) if "Content Security" in message.text else None)
    yield made
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> Picture:
    """Lend a way to keep what a page looks like, for people to look at."""
    folder = Path(os.environ.get("TACIT_PICTURES", Path(tempfile.gettempdir()) / "tacit-pictures"))

    def keep(page: Page, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        look = request.node.callspec.params.get("look", "light") if hasattr(request.node, "callspec") else "light"
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)

    return keep
