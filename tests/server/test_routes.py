"""The table of routes: described as registered, and every error a problem with a stable code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from support.collectors import COLLECTION, collector_here, served_here
from tacit.server.app import TABLE, make_app
from tacit.server.collector import Collector
from tacit.server.http.screens import screen_routes
from tacit.server.keys import Keys


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with collector_here(tmp_path_factory.mktemp("collector")) as made:
        yield made


@pytest.fixture(scope="module")
def app(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Starlette:
    return make_app(collector, Keys(tmp_path_factory.mktemp("keys") / "keys.json"))


@pytest.fixture(scope="module")
def client(app: Starlette) -> Iterator[httpx.Client]:
    with served_here(app) as made:
        yield made


def problem(response: httpx.Response) -> tuple[int, str]:
    """Return status and code of an answer that must be a problem."""
    assert response.headers["content-type"] == "application/problem+json"
    data = response.json()
    assert {"type", "title", "status", "detail", "code"} <= set(data)
    assert data["status"] == response.status_code
    assert data["type"] == f"urn:tacit:{data['code']}"
    assert re.fullmatch("[a-z0-9-]{1,64}", data["code"])
    return response.status_code, data["code"]


def test_the_description_has_exactly_the_registered_routes(app: Starlette, client: httpx.Client) -> None:
    data = client.get("/openapi.json").json()
    assert data["openapi"].startswith("3.1")
    described = {(path, method.upper()) for path, ways in data["paths"].items() for method in ways}
    registered = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Route) and route.path not in {page.path for page in screen_routes()}
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert described == registered
    assert len(described) == len(TABLE)
    for ways in data["paths"].values():
        for operation in ways.values():
            assert operation["responses"]["default"]["content"].keys() == {"application/problem+json"}


def test_operations_have_names_of_their_own(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    names = [one["operationId"] for ways in paths.values() for one in ways.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", ["/nowhere", "/v1", "/v1/collections/", "/v1/../keys.json", "/%00", "/v2/query"])
def test_unknown_paths_are_problems(client: httpx.Client, path: str) -> None:
    assert problem(client.get(path, follow_redirects=False)) == (404, "not-found")


@pytest.mark.parametrize("endpoint", TABLE, ids=lambda one: one.path)
def test_wrong_methods_are_problems(client: httpx.Client, endpoint) -> None:
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - {endpoint.method}:
        response = client.request(method, endpoint.path.replace("{id}", COLLECTION.id))
        assert problem(response) == (405, "wrong-method")
        assert endpoint.method in response.headers["allow"]


@pytest.mark.parametrize("endpoint", [one for one in TABLE if one.method == "POST"], ids=lambda one: one.path)
def test_broken_bodies_are_problems(client: httpx.Client, endpoint) -> None:
    path = endpoint.path.replace("{id}", COLLECTION.id)
    for content in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"tacit":1'):
        assert problem(client.post(path, content=content)) == (400, "bad-body")
    assert problem(client.post(path, json={"tacit": "1"})) == (400, "protocol-version")
    if endpoint.required:
        assert problem(client.post(path, json={"tacit": 1})) == (400, "bad-body")


def test_our_own_mistakes_are_problems_that_tell_nothing(
    client: httpx.Client, collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "canary-7431"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(collector, "query", broken)
    response = client.post("/v1/query", json={"tacit": 1, "sql": "SELECT 1"})
    assert problem(response) == (500, "internal")
    assert "canary-7431" not in response.text + caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_pages_of_others_are_told_nothing(collector: Collector, tmp_path: Path) -> None:
    """S7: CORS by key, also on errors; never for all, never with credentials."""
    keys = Keys(tmp_path / "keys.json")
    keys.create("shop", ["ingest"], "https://shop.example")
    with served_here(make_app(collector, keys)) as client:
        for path in ("/v1/collections", "/nowhere", "/v1/query"):
            mine = client.get(path, headers={"Origin": "https://shop.example"})
            assert mine.headers["access-control-allow-origin"] == "https://shop.example"
            for origin in ("https://evil.example", "null", "https://shop.example.evil.example", ""):
                other = client.get(path, headers={"Origin": origin})
                assert "access-control-allow-origin" not in other.headers
            assert "access-control-allow-credentials" not in mine.headers
            assert mine.headers["vary"] == "Origin"
            assert "default-src 'self'" in mine.headers["content-security-policy"]
        asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
        assert client.options("/v1/query", headers=asked).status_code == 204
        evil = client.options("/v1/query", headers=asked | {"Origin": "https://evil.example"})
        assert evil.status_code == 405
