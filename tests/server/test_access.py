"""Who may do what: a matrix of roles and endpoints made from the OpenAPI description, live keys, tokens of people."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from tacit.cli import main
from tacit.client import connect
from tacit.client.tokens import sign
from tacit.errors import AccessError, UsageError
from tacit.server.app import TABLE, make_app
from tacit.server.collector import Collector
from tacit.server.http.openapi import describe_api
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys

PATH = f"/v1/collections/{COLLECTION.id}/reports"
SCOPES = ("ingest", "query", "admin", "audit")
PAGE = "https://shop.example"


class Place(NamedTuple):
    """A collector with keys of every role."""

    client: httpx.Client
    keys: Keys
    roles: dict[str, str]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with collector_here(tmp_path / "store") as made:
        yield made


@pytest.fixture
def place(collector: Collector, tmp_path: Path) -> Iterator[Place]:
    keys = Keys(tmp_path / "store" / "keys.json")
    roles = {scope: keys.create("shop", [scope]) for scope in SCOPES}
    roles |= {
        "page": keys.create("page", ["ingest"], PAGE),
        "secret": keys.create("shop", ["sign"]),
        "page's secret": keys.create("page", ["sign"]),
    }
    with served_here(make_app(collector, keys)) as client:
        yield Place(client, keys, roles)


def operations() -> list[tuple[str, str, set[str]]]:
    """Return method, path and scopes of everything that is described; none for what is open to all."""
    paths = describe_api(TABLE)["paths"]
    return [
        (m, path, {one["x-tacit-scope"], *one.get("x-tacit-also", ())} - {None})
        for path, ways in paths.items()
        for m, one in ways.items()
    ]


def asked(place: Place, method: str, path: str, key: object, origin: str = "") -> httpx.Response:
    """Send something that a key of the right scope may ask."""
    headers = {"Origin": origin} if origin else {}
    path = path.replace("{id}", COLLECTION.id)
    if method == "get":
        if isinstance(key, str):
            headers["Authorization"] = f"Bearer {key}"
        return place.client.get(path, headers=headers)
    body = {"tacit": 1, "key": key, "reports": [], "person": "p", "sql": "SELECT COUNT(*) AS n FROM users"}
    return place.client.post(path, json=body, headers=headers)


def code(response: httpx.Response) -> str:
    return str(response.json()["code"])


def test_every_role_at_every_endpoint(place: Place) -> None:
    """S3: exactly the roles of an endpoint's scope come in; everybody else is refused, and told why."""
    place.client.post(PATH, json=body_of(reports_of(0, 1), key=place.roles["ingest"]))
    seen = set()
    for method, path, scopes in operations():
        for role, key in place.roles.items():
            response = asked(place, method, path, key)
            if path == "/v1/receipts":  # a token opens it, and no key
                assert (response.status_code, code(response)) == (400, "bad-body")
            elif not scopes or role in scopes:
                assert response.status_code not in (401, 403), (method, path, role, response.text)
            else:
                expected = "wrong-origin" if role == "page" and "ingest" in scopes else "wrong-scope"
                assert (response.status_code, code(response)) == (403, expected), (method, path, role)
            seen.add((path, role))
        for nobody in (None, "", "tacit_live_guess", 7, ["x"], place.roles["query"][:-1], "\x00", "é"):
            response = asked(place, method, path, nobody if method == "post" else "guess")
            if scopes:
                assert (response.status_code, code(response)) == (401, "unknown-key"), (method, path)
    assert len(seen) == len(TABLE) * len(place.roles)


def test_pages_may_send_and_nothing_else(place: Place) -> None:
    for method, path, scopes in operations():
        if not scopes:
            continue
        home = asked(place, method, path, place.roles["page"], PAGE)
        if "ingest" in scopes:
            assert (home.status_code, code(home)) == (403, "token-needed"), path
            assert code(asked(place, method, path, place.roles["page"], "https://evil.example")) == "wrong-origin"
        else:
            assert code(home) == "wrong-scope"


def test_a_running_collector_sees_new_and_revoked_keys(place: Place, tmp_path: Path) -> None:
    other = Keys(tmp_path / "store" / "keys.json")  # as `tacit keys` in another process
    second = other.create("shop", ["query"])
    first = place.roles["query"]
    assert asked(place, "post", "/v1/forget", second).status_code == 403
    with pytest.raises(UsageError, match="Revoke the old one first"):
        other.create("shop", ["query"])
    [old, _] = [key["digest"] for key in other.list_keys() if key["name"] == "shop" and key["scopes"] == ("query",)]
    assert other.revoke(str(old)) == 1
    assert code(asked(place, "post", "/v1/query", first)) == "unknown-key"
    assert code(asked(place, "post", "/v1/query", second)) == "no-reports"


def test_revoking_the_last_key_opens_nothing(place: Place) -> None:
    for key in place.keys.list_keys():
        place.keys.revoke(str(key["digest"]))
    assert place.keys.list_keys() == []
    assert code(asked(place, "post", "/v1/query", None)) == "unknown-key"


def test_what_signs_is_never_shown(place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in ([], ["--json"]):
        assert main(["keys", str(tmp_path / "store"), "list", *words]) == 0
    shown = capsys.readouterr().out + repr(place.keys.secrets) + repr(place.keys._keys)
    assert not any(key in shown for key in place.roles.values())


def sent(place: Place, reports: list[dict[str, Any]], token: object, role: str = "ingest") -> httpx.Response:
    headers = {"Origin": PAGE} if role == "page" else {}
    body = body_of(reports, key=place.roles[role]) | ({"token": token} if token is not None else {})
    return place.client.post(PATH, json=body, headers=headers)


def words(response: httpx.Response) -> set[str]:
    assert response.status_code == 200, response.text
    return {one.get("code", one["status"]) for one in response.json()["statuses"]}


def of(reports: list[dict[str, Any]], person: str) -> list[dict[str, Any]]:
    return [report for report in reports if report["person"] == person]


def test_tokens_let_nobody_report_for_others(place: Place) -> None:
    reports, secret = reports_of(0, 4), place.roles["secret"]
    mine = sign(secret, collection=COLLECTION.id, person="u-0")
    assert words(sent(place, of(reports, "u-0"), mine)) == {"stored"}
    mixed = sent(place, of(reports, "u-0") + of(reports, "u-1"), mine).json()["statuses"]
    assert [one.get("code", one["status"]) for one in mixed] == ["again"] * 3 + ["token-mismatch"] * 3
    assert words(sent(place, of(reports, "u-1"), None)) == {"stored"}  # nothing demands one here
    bad = [
        mine,
        sign(secret, collection="0" * 64, person="u-2"),
        sign(secret, collection=COLLECTION.id, person=2),
        sign(place.roles["page's secret"], collection=COLLECTION.id, person="u-2"),
        sign(secret, collection=COLLECTION.id, person="u-2", seconds=-1),
        sign(secret, collection=COLLECTION.id, person="u-2", now=time.time() - 3601),
        *("", "x", 7, [mine], f"{mine} ", f"9{mine}", mine.replace(".", "")),
    ]
    for token in bad:
        response = sent(place, of(reports, "u-2"), token)
        assert (response.status_code, code(response)) == (403, "bad-token"), token
    assert words(sent(place, of(reports, "u-2"), sign(secret, collection=COLLECTION.id, person="u-2"))) == {"stored"}


def test_with_a_token_a_page_may_forget_its_own_person(place: Place) -> None:
    body = {"tacit": 1, "key": place.roles["page"], "person": "u-0"}
    token = sign(place.roles["page's secret"], collection=COLLECTION.id, person="u-0")
    home = {"Origin": PAGE}
    assert words(sent(place, of(reports_of(0, 1), "u-0"), token, "page")) == {"stored"}
    assert place.client.post("/v1/forget", json=body | {"token": token}, headers=home).json() == {"deleted": 3}
    other = place.client.post("/v1/forget", json=body | {"token": token, "person": "u-1"}, headers=home)
    assert (other.status_code, code(other)) == (403, "bad-token")


def test_secrets_are_exchanged_without_a_pause(place: Place) -> None:
    new = place.keys.create("shop", ["sign"])
    for number, secret in enumerate((place.roles["secret"], new)):
        token = sign(secret, collection=COLLECTION.id, person=f"u-{number}")
        assert words(sent(place, of(reports_of(0, 2), f"u-{number}"), token)) == {"stored"}


def test_tokens_can_be_demanded_and_clients_bring_them(collector: Collector, tmp_path: Path) -> None:
    keys = Keys(tmp_path / "store" / "keys.json")
    ingest, secret = keys.create("shop", ["ingest"]), keys.create("shop", ["sign"])
    free = keys.create("trusted", ["ingest"])
    with served_here(make_app(collector, keys, settings=Settings(tokens=frozenset({"shop"})))) as client:
        refused = client.post(PATH, json=body_of(reports_of(0, 1), key=ingest))
        assert (refused.status_code, code(refused)) == (403, "token-needed")
        assert words(client.post(PATH, json=body_of(reports_of(0, 1), key=free))) == {"stored"}

        def fresh(person: int | str) -> str:
            return sign(secret, collection=COLLECTION.id, person=person, seconds=-1 if person == "late" else 60)

        to = {"collection": COLLECTION.id, "key": ingest, "cap": 6, "every": 0}
        app = connect(str(client.base_url), store=tmp_path / "wallet.db", token=fresh, **to)  # type: ignore[arg-type]
        for person in ("first", "late", 7):
            app.person(person).record("users", {"age": 1, "os": "i"})
            app.person(person).rows("orders", [])
        delivered = app.flush()
        assert (delivered.sent, delivered.rejected, delivered.pending) == (6, 0, 3)
        assert delivered.problem == "bad-token"
        app.person(7).forget()
        assert app.flush().pending == 3
        app.close()
        assert collector.inbox.counts()["known"] == 6


@pytest.mark.parametrize(
    ("scopes", "more"),
    [
        ([], {}),
        (["root"], {}),
        (["query"], {"origin": PAGE}),
        (["ingest", "query"], {"origin": PAGE}),
        (["sign", "query"], {}),
        (["sign"], {"origin": PAGE}),
    ],
)
def test_keys_that_would_be_too_strong_are_not_made(tmp_path: Path, scopes: list[str], more: dict[str, Any]) -> None:
    keys = Keys(tmp_path / "keys.json")
    with pytest.raises(UsageError):
        keys.create("shop", scopes, **more)
    assert not keys.required


def test_a_token_is_what_the_protocol_says() -> None:
    """The example of PROTOCOL.md, so that servers in other languages can compare."""
    made = sign("tacit_sign_example", collection="9f3c" * 16, person="u-42", seconds=0, now=1_800_000_000)
    text = (Path(__file__).parents[2] / "sdk" / "typescript" / "PROTOCOL.md").read_text(encoding="utf-8")
    assert made in text


def test_keys_of_nobody_open_nothing(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    (tmp_path / "keys.json").write_text(json.dumps([]), encoding="utf-8")
    with pytest.raises(AccessError):
        keys.check("", ["ingest"])
