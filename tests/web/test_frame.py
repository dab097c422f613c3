"""The pages as files and over HTTP: built from their sources, small, with a strict policy, and holding no data."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

import tacit
from support.collectors import served_here
from tacit.collection import Collection
from tacit.contract.schema import Ordinal, Schema, Service
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.screens import HEADERS, SCREENS
from tacit.server.keys import Keys
from tacit.server.routes.demo import Demo

PAGES = Path(tacit.__file__).parent / "server" / "pages"
SOURCES = Path(__file__).parents[2] / "web"
MOST_BYTES = 150 * 1024
"""All pages together, gzipped."""

MOST_BYTES_OF_A_SCREEN = 60 * 1024
"""One screen with all that it loads, gzipped."""

COLLECTION = Collection(Schema([Service("users", key="uid", attributes=[Ordinal("age", 0, 9)])]), 1)


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    made = Collector(tmp_path)
    made.publish(COLLECTION)
    yield made
    made.close()


@pytest.fixture
def client(collector: Collector, tmp_path: Path) -> Iterator[httpx.Client]:
    with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as made:
        yield made


def test_the_pages_are_what_their_sources_build(tmp_path: Path) -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("no node and npm: the pages are not built again")
    work = tmp_path / "web"
    shutil.copytree(SOURCES, work, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(
        SOURCES.parent / "sdk", tmp_path / "sdk", ignore=shutil.ignore_patterns("node_modules", "dist", "build")
    )
    for command in (["npm", "ci"], ["npm", "run", "check"], ["node", "build.mjs", str(tmp_path / "built")]):
        done = subprocess.run(
            command, cwd=work, env=os.environ | {"CI": "1"}, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    built = {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()}
    assert built == {path.name: path.read_bytes() for path in PAGES.iterdir()}, "run npm run build in web/"


def test_all_pages_together_are_small() -> None:
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in PAGES.iterdir()) <= MOST_BYTES


@pytest.mark.parametrize("screen", ["start", "owner", "analyst", "board", "collection"])
def test_each_screen_is_small(screen: str) -> None:
    parts = (f"{screen}.html", f"{screen}.js", "style.css", "icon.svg")
    assert sum(len(gzip.compress((PAGES / part).read_bytes(), 9)) for part in parts) <= MOST_BYTES_OF_A_SCREEN


def test_the_lock_file_names_no_host() -> None:
    assert not re.search(r'"resolved"|registry', (SOURCES / "package-lock.json").read_text())


def test_screens_have_their_policy_and_nothing_inline(client: httpx.Client) -> None:
    for path in SCREENS:
        page = client.get(path.replace("{id}", COLLECTION.id))
        assert page.status_code == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert all(value in page.headers[name] for name, value in HEADERS.items())
        assert not re.search(r"<style|style=|<script(?![^>]*src=)|\son\w+=|https?://", page.text)
        for asset in re.findall(r'(?:src|href)="(/pages/[^"]+)"', page.text):
            assert client.get(asset).status_code == 200
    assert client.get("/pages/style.css").headers["content-type"] == "text/css; charset=utf-8"
    assert client.get("/pages/start.js").headers["content-type"] == "text/javascript; charset=utf-8"
    assert client.get("/pages/start.html").status_code == 404


def test_a_page_is_sent_once(client: httpx.Client) -> None:
    first = client.get("/pages/style.css")
    assert first.headers["content-encoding"] == "gzip"
    again = client.get("/pages/style.css", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get("/pages/style.css", headers={"If-None-Match": '"other"', "Accept-Encoding": "identity"})
    assert (other.status_code, other.content) == (200, first.content)


def test_exact_answers_exist_in_demos_only(client: httpx.Client, collector: Collector, tmp_path: Path) -> None:
    question = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users WHERE age > 4"}
    assert client.get("/demo").json() == {"demo": False}
    assert client.post("/demo/exact", json=question).status_code == 404
    table = pa.table({"uid": [1, 2, 3], "age": [3, 5, 9]})
    demo = Demo({"users": table}, [{"title": "Older", "sql": question["sql"]}], [])
    with served_here(make_app(collector, Keys(tmp_path / "keys.json"), demo)) as with_demo:
        assert with_demo.get("/demo").json()["loaded"] == {"users": 3}
        assert with_demo.post("/demo/exact", json=question).json() == {"columns": ["n"], "rows": [[2]]}
        for bad, code in {
            "DROP TABLE users": "not-a-select",
            "SELECT * FROM read_csv('/etc/passwd')": "table-function",
            "SELECT 1; DROP TABLE users": "several-statements",
            "SELECT ERR(COUNT(*)) FROM users": "not-exact",
        }.items():
            refused = with_demo.post("/demo/exact", json=question | {"sql": bad})
            assert refused.json()["code"] == code
        assert with_demo.post("/demo/exact", json=question).json()["rows"] == [[2]]
