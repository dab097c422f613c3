"""S13: a key deletes people of its own services, a token its own person, and nobody keeps others from reporting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from tacit.cli import main
from tacit.client import connect
from tacit.client.delivery import Delivery
from tacit.client.tokens import sign
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys

NEXT = tc.Collection(COLLECTION.schema, 6.0, round="next")
PAGE = "https://shop.example"


class Place(NamedTuple):
    client: httpx.Client
    collector: Collector
    keys: Keys
    all: str
    """A key for all services."""

    def sent(self, person: int, collection: tc.Collection = COLLECTION) -> dict[str, str]:
        """Send all reports of a person; return what became of each service's."""
        reports = reports_of(person, 1)
        path = f"/v1/collections/{collection.id}/reports"
        found = self.client.post(path, json=body_of(reports, key=self.all)).json()["statuses"]
        return {one["service"]: two.get("code", two["status"]) for one, two in zip(reports, found, strict=True)}

    def forget(self, person: str, key: str, **more: Any) -> tuple[int, Any]:
        headers = {"Origin": PAGE} if more.pop("page", False) else {}
        body = {"tacit": 1, "key": key, "person": person} | more
        answer = self.client.post("/v1/forget", json=body, headers=headers)
        return answer.status_code, answer.json().get("code", answer.json().get("deleted"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    keys = Keys(tmp_path / "store" / "keys.json")
    with collector_here(tmp_path / "store", COLLECTION, NEXT) as collector:
        key = keys.create("all", ["ingest"])
        with served_here(make_app(collector, keys, settings=Settings(deletions_per_minute=30))) as client:
            yield Place(client, collector, keys, key)


def people(collector: Collector) -> tuple[int, int]:
    """Return how many people each service has in the analytical database."""
    collector.move()
    engine = collector.database._engine
    users, orders = (
        engine.fetch(f'SELECT count(DISTINCT uid) AS n FROM "reports_{COLLECTION.id[:16]}_{name}"', [], {})
        for name in ("users", "orders")
    )
    return users["n"][0].as_py(), orders["n"][0].as_py()


def test_a_key_of_one_service_deletes_there_alone(place: Place) -> None:
    for number in range(4):
        place.sent(number)
        place.sent(number, NEXT)
    users = place.keys.create("users", ["ingest"], services=["users"])
    assert place.forget("u-1", users, collection=COLLECTION.id) == (200, 1)
    assert place.sent(1) == {"users": "forgotten", "orders": "again"}
    assert set(place.sent(1, NEXT).values()) == {"again"}
    assert people(place.collector) == (3, 4)
    assert place.forget("u-1", users) == (200, 1), "of all collections, still one service"
    assert place.sent(1, NEXT) == {"users": "forgotten", "orders": "again"}
    details = place.collector.log.read().entries[-3]["details"]
    assert details["key"] == "users"
    assert place.collector.log.read().ok


def test_a_token_deletes_its_person_from_its_collection(place: Place) -> None:
    page, secret = place.keys.create("page", ["ingest"], PAGE), place.keys.create("page", ["sign"])
    token = sign(secret, collection=NEXT.id, person="u-1")
    for collection in (COLLECTION, NEXT):
        place.sent(1, collection)
    assert place.forget("u-1", page, token=token, page=True) == (200, 3)
    assert set(place.sent(1, NEXT).values()) == {"forgotten"}
    assert set(place.sent(1).values()) == {"again"}
    assert place.forget("u-1", page, token=token, page=True, collection=COLLECTION.id) == (403, "bad-token")
    assert place.forget("u-2", page, token=token, page=True) == (403, "bad-token")
    assert place.forget("u-1", page, page=True) == (403, "token-needed")


def test_nobody_is_blocked_before_reporting_by_a_guess_of_the_id(place: Place) -> None:
    assert place.forget("u-5", place.all) == (404, "nothing-to-delete")
    assert set(place.sent(5).values()) == {"stored"}
    users = place.keys.create("users", ["ingest"], services=["users"])
    only_orders = [report for report in reports_of(6, 1) if report["service"] == "orders"]
    place.client.post(f"/v1/collections/{COLLECTION.id}/reports", json=body_of(only_orders, key=place.all))
    assert place.forget("u-6", users) == (404, "nothing-to-delete"), "of another service"
    assert place.sent(6)["users"] == "stored"


def test_the_own_token_and_an_admin_delete_before_there_is_a_report(place: Place) -> None:
    admin, secret = place.keys.create("boss", ["admin"]), place.keys.create("all", ["sign"])
    assert place.forget("u-7", admin) == (200, 0)
    assert set(place.sent(7).values()) == set(place.sent(7, NEXT).values()) == {"forgotten"}
    token = sign(secret, collection=COLLECTION.id, person="u-8")
    assert place.forget("u-8", place.all, token=token) == (200, 0)
    assert set(place.sent(8).values()) == {"forgotten"}
    assert set(place.sent(8, NEXT).values()) == {"stored"}


def test_asking_again_is_no_error(place: Place) -> None:
    """The answer may get lost: who asks again hears that it is done."""
    place.sent(1)
    assert place.forget("u-1", place.all) == (200, 3)
    assert place.forget("u-1", place.all) == (200, 0)


def test_deletions_are_limited_and_tokens_have_limits_of_their_own(place: Place) -> None:
    secret = place.keys.create("all", ["sign"])
    found = [place.forget(f"u-{number}", place.all)[0] for number in range(40)]
    assert found[:30] == [404] * 30
    assert 429 in found[30:]
    token = sign(secret, collection=COLLECTION.id, person="u-90")
    assert place.forget("u-90", place.all, token=token) == (200, 0), "one person's is not another's"


def test_a_restored_archive_is_told_of_deletions_of_one_service(place: Place, tmp_path: Path) -> None:
    for number in range(3):
        place.sent(number)
    assert main(["export", str(place.client.base_url), str(tmp_path / "a.zip"), "--key", _admin(place)]) == 0
    place.collector.forget("u-0", COLLECTION.id, ["users"])
    place.collector.forget("u-2", COLLECTION.id)
    (tmp_path / "log").write_text("\n".join(place.collector.log.lines()), encoding="utf-8")
    words = ["import", str(tmp_path / "a.zip"), str(tmp_path / "again"), "--deletions", str(tmp_path / "log")]
    assert main(words) == 0
    again = Collector(tmp_path / "again")
    try:
        assert again.reported_slots(COLLECTION.id, "u-1") == place.collector.reported_slots(COLLECTION.id, "u-1")
        assert people(again) == (1, 2)
        mine = [report for report in reports_of(0, 1) if report["service"] == "users"]
        assert again.accept(COLLECTION.id, mine).result() == [{"status": "refused", "code": "forgotten"}]
    finally:
        again.close()


def _admin(place: Place) -> str:
    return place.keys.create("boss", ["admin"])


def test_a_client_that_leaves_before_its_first_delivery_goes_on(place: Place, tmp_path: Path) -> None:
    to = {"collection": COLLECTION.id, "key": place.all, "cap": 20, "every": 0}
    app = connect(str(place.client.base_url), store=tmp_path / "wallet.db", **to)  # type: ignore[arg-type]
    app.person("u-1").record("users", {"age": 1, "os": "i"})
    app.person("u-1").forget()
    app.person("u-2").record("users", {"age": 1, "os": "i"})
    delivered = app.flush()
    app.close()
    assert (delivered.sent, delivered.pending, delivered.problem) == (1, 0, "")
    assert place.collector.inbox.counts()["known"] == 1


def test_who_leaves_a_round_is_not_kept_from_another(tmp_path: Path) -> None:
    """Also where there are no keys, so that everybody may delete everything: clients name the collection."""
    with collector_here(tmp_path / "store", COLLECTION, NEXT) as collector:
        with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as served:
            apps = [
                connect(str(served.base_url), collection=one.id, store=tmp_path / "w.db", cap=20, every=0)
                for one in (COLLECTION, NEXT)
            ]
            for app in apps:
                app.person("u-1").record("users", {"age": 1, "os": "i"})
                assert app.flush().sent == 1
                app.person("u-1").forget() if app is apps[0] else None
                assert app.flush().problem == ""
                app.close()
            assert collector.reported_slots(COLLECTION.id, "u-1", ["users"]) == [("users", 0)]
        assert collector.inbox.counts()["known"] == 1


def test_a_token_of_a_round_of_a_panel_deletes_in_that_round(tmp_path: Path) -> None:
    panel = tc.Collection(COLLECTION.schema, 6.0, panel="weeks", rounds=2, reports=2)
    keys = Keys(tmp_path / "keys.json")
    key, secret = keys.create("all", ["ingest"]), keys.create("all", ["sign"])
    with collector_here(tmp_path / "store", panel) as collector, served_here(make_app(collector, keys)) as served:
        for number, part in enumerate(panel.parts, 1):
            app = connect(
                str(served.base_url),
                collection=panel.id,
                store=tmp_path / "w.db",
                key=key,
                token=sign(secret, collection=part.id, person="u-1"),
                cap=20,
                every=0,
                round=number,
            )
            app.person("u-1").record("users", {"age": 1, "os": "i"})
            assert app.flush().sent == 1
            if number == 1:
                app.person("u-1").forget()
                assert app.flush() == Delivery(0, 0, 0)
            app.close()
        assert collector.inbox.counts()["known"] == 1
