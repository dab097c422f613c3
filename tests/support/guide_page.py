"""The page of the app developer's guide in a real browser, with the packages as installed."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from support.browser import CHROMIUM
from support.installed import Installed
from tacit.client.tokens import sign

__all__ = ["block", "check_guide_page", "compile_types"]

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "app-developer.md"
TSC = Path(__file__).parents[2] / "sdk" / "typescript" / "node_modules" / "typescript" / "bin" / "tsc"


def block(kind: str) -> str:
    """Return the guide's only block of a kind."""
    [text] = re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return str(text)


def check_guide_page(installed: Installed, folder: Path) -> None:
    """Serve the guide's page, press its button, compile its types, and ask the collector about the reports."""
    [toml] = re.findall(r'write_text\("""(.*?)"""\)', GUIDE.read_text(), re.DOTALL)
    (folder / "shop.toml").write_text(toml)
    with _app(installed.npm) as app:
        origin = f"http://127.0.0.1:{app.server_port}"
        keys = {
            scope: _tacit(installed, folder, "keys", "store", "create", "shop", "--scope", scope, "--json", *more)
            for scope, more in {"ingest": ["--origin", origin], "sign": [], "query": []}.items()
        }
        with _collector(installed, folder) as (address, collection):
            app.token = sign(json.loads(keys["sign"])["key"], collection=collection, person="u-44", seconds=600)
            page = block("html").replace("https://stats.example.org", address).replace("9f3c…", collection)
            page = page.replace("tacit_live_…", json.loads(keys["ingest"])["key"])
            (installed.npm / "index.html").write_text(page)
            shown, told = _press(origin)
            assert json.loads(shown)["person"] == "u-44"
            assert told.strip() == "Sent 2, waiting 0.", told
            compile_types(installed.npm, address, collection)
            key = json.loads(keys["query"])["key"]
            (folder / "key").write_text(key)
            (folder / "key").chmod(0o600)
            words = ["query", address, "SELECT COUNT(*) AS n FROM users", "--key-file", "key", "--json"]
            answer = json.loads(_tacit(installed, folder, *words))
            assert "1" in json.dumps(answer)


def compile_types(place: Path, address: str, collection: str) -> None:
    """Write the types of the contract and compile the guide's lines, whose wrong line must be refused."""
    words = [str(place / "node_modules" / ".bin" / "tacit-types"), address, collection]
    made = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
    (place / "shop.ts").write_text(made.stdout)
    (place / "guide.ts").write_text(block("ts"))
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    result = subprocess.run(
        ["node", str(TSC), *options, "guide.ts"], cwd=place, capture_output=True, text=True, check=False
    )
    assert result.stdout == ""


def _press(origin: str) -> tuple[str, str]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(origin)
        page.wait_for_selector("#send:enabled")
        assert "at most" in page.inner_text("#told")
        shown = page.inner_text("#leaves")
        page.click("#send")
        page.wait_for_function(
            "/^Sent [0-9]/.test(document.querySelector('#told').textContent)"
        )  # not "Sent unchanged"
        told = page.inner_text("#told")
        browser.close()
    assert not troubles
    return shown, told


class _Server(http.server.ThreadingHTTPServer):
    token = ""


@contextlib.contextmanager
def _app(folder: Path) -> Iterator[_Server]:
    """Serve the app's folder, and a token for the person who is logged in."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: object) -> None:
            super().__init__(*given, directory=str(folder))  # type: ignore[arg-type]

        def do_GET(self) -> None:
            if self.path != "/token":
                super().do_GET()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.server.token.encode())  # type: ignore[attr-defined]

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def _collector(installed: Installed, folder: Path) -> Iterator[tuple[str, str]]:
    words = [str(installed.python.with_name("tacit")), "serve", "store", "shop.toml", "--port", "0"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield serving.stdout.readline().split()[-1], serving.stdout.readline().split()[-1]
        finally:
            serving.terminate()
            serving.wait(30)


def _tacit(installed: Installed, folder: Path, *words: str) -> str:
    command = [str(installed.python.with_name("tacit")), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
