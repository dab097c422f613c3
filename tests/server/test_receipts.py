"""Receipts: which slots are taken, told to whoever holds a token of that person and to nobody else."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from tacit.client.tokens import sign
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.request_log import journal
from tacit.server.keys import Keys

PATH = f"/v1/collections/{COLLECTION.id}/reports"
ALL = [{"service": "users", "slot": 0}, {"service": "orders", "slot": 0}, {"service": "orders", "slot": 1}]


class Place(NamedTuple):
    client: httpx.Client
    keys: Keys
    collector: Collector
    ingest: str
    secret: str

    def asked(self, person: object, token: object, collection: object = COLLECTION.id) -> httpx.Response:
        body = {"collection": collection, "key": person, "token": token}
        return self.client.post("/v1/receipts", json={name: one for name, one in body.items() if one is not None})

    def taken(self, person: int | str, secret: str = "") -> list[dict[str, Any]]:
        answer = self.asked(person, sign(secret or self.secret, collection=COLLECTION.id, person=person))
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["taken"]
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    keys = Keys(tmp_path / "store" / "keys.json")
    with collector_here(tmp_path / "store") as collector:
        ingest, secret = keys.create("shop", ["ingest"]), keys.create("shop", ["sign"])
        app = make_app(collector, keys)
        with served_here(app) as client:
            yield Place(client, keys, collector, ingest, secret)


def test_a_slot_is_taken_once_its_report_is_stored(place: Place) -> None:
    reports = reports_of(0, 2)
    assert place.taken("u-0") == []
    for number in (0, 1):
        mine = [report for report in reports if report["person"] == "u-0"][: number + 1]
        place.client.post(PATH, json=body_of(mine, key=place.ingest))
        assert len(place.taken("u-0")) == number + 1
    place.client.post(PATH, json=body_of(reports, key=place.ingest))
    place.collector.move()
    assert place.taken("u-0") == place.taken("u-1") == ALL
    assert place.taken(0) == place.taken("0") == [], "42 and text of it are different people"


def test_after_deletion_nothing_can_be_sent_and_every_slot_is_taken(place: Place) -> None:
    place.client.post(PATH, json=body_of(reports_of(0, 1), key=place.ingest))
    place.collector.forget("u-0", COLLECTION.id, ["orders"])
    assert place.taken("u-0") == ALL
    place.collector.forget("u-0")
    assert place.taken("u-0") == ALL
    assert place.taken("u-1") == []


def test_nobody_else_is_told(place: Place) -> None:
    place.client.post(PATH, json=body_of(reports_of(0, 2), key=place.ingest))
    stranger = place.keys.create("stranger", ["sign"])  # signs, but sends nothing here
    about = {"collection": COLLECTION.id, "person": "u-0"}
    bad = [
        sign(place.secret, collection=COLLECTION.id, person="u-1"),
        sign(place.secret, collection="0" * 64, person="u-0"),
        sign(place.secret, **about, seconds=-1),
        sign("tacit_sign_guess", **about),
        sign(stranger, **about),
        place.ingest,
        "",
        7,
        [],
        {},
    ]
    for token in bad:
        answer = place.asked("u-0", token)
        assert (answer.status_code, answer.json()["code"]) == (403, "bad-token"), token
    answer = place.asked("u-0", None)
    assert (answer.status_code, answer.json()["code"]) == (403, "token-needed")
    for person in (None, "", True, 2**63, [], "x" * 201):
        assert place.asked(person, "t").status_code == 400
    unknown = place.asked("u-0", sign(place.secret, collection="f" * 64, person="u-0"), "f" * 64)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown-collection")
    assert unknown.json()["detail"] == f"There is no collection '{'f' * 64}'.", "others are there, and are not told"
    for collection in (7, [], None):
        assert place.asked("u-0", "t", collection).status_code == 400


def test_where_nobody_signs_there_are_no_receipts(place: Place) -> None:
    for key in place.keys.signers():
        place.keys.revoke(key.digest)
    answer = place.asked("u-0", sign(place.secret, collection=COLLECTION.id, person="u-0"))
    assert (answer.status_code, answer.json()["code"]) == (404, "no-receipts")


def test_a_service_is_told_of_its_own_slots_alone(place: Place) -> None:
    """A service signs tokens of anybody: it must not find out by them who uses another one."""
    place.client.post(PATH, json=body_of(reports_of(0, 1), key=place.ingest))
    place.keys.create("till", ["ingest"], services=["orders"])
    assert place.taken("u-0", place.keys.create("till", ["sign"])) == ALL[1:]


def test_who_reported_in_another_tier_is_told_so_before_drawing(place: Place) -> None:
    """A wallet that was lost may come back with another choice of tier: its report would be refused once it is seen."""
    gold, silver = (
        tc.Collection(COLLECTION.schema, epsilon, round="r", tier=tier)
        for tier, epsilon in (("gold", 4), ("silver", 2))
    )
    for tier in (gold, silver):
        place.collector.publish(tier)
    report = {"person": "u-0", "service": "users", "slot": 0, "codes": [0], "public": {"os": "i"}}
    [stored] = place.collector.accept(gold.id, [report]).result()
    assert stored == {"status": "stored"}

    def taken(tier: tc.Collection, person: str, secret: str) -> Any:
        token = sign(secret, collection=tier.id, person=person)
        return place.asked(person, token, tier.id).json()["taken"]

    place.keys.create("till", ["ingest"], services=["orders"])
    till = place.keys.create("till", ["sign"])
    assert taken(gold, "u-0", place.secret) == ALL[:1], "the other service of this tier is open"
    assert taken(silver, "u-0", place.secret) == ALL
    assert taken(silver, "u-0", till) == [], "it is not told who uses another service"
    assert taken(silver, "u-1", place.secret) == []
    forgotten = place.client.post(
        "/v1/forget", json={"tacit": 1, "key": place.ingest, "person": "u-0", "collection": silver.id}
    )
    assert forgotten.json()["code"] == "nothing-to-delete", "deletions are of what was reported"


def test_asking_is_limited_for_each_person(place: Place) -> None:
    token = sign(place.secret, collection=COLLECTION.id, person="u-0")
    answers = [place.asked("u-0", token).status_code for _ in range(70)]
    assert answers[:60] == [200] * 60
    assert 429 in answers[60:]
    assert place.taken("u-1") == [], "nobody else waits for it"


def test_ids_and_tokens_are_in_no_log(place: Place, tmp_path: Path) -> None:
    token = sign(place.secret, collection=COLLECTION.id, person="u-0")
    with journal(tmp_path / "requests.log"):
        place.asked("u-0", token)
        place.asked("u-0", "7.0")
        logging.getLogger("tacit.requests").info("request", {"end": True})
    text = (tmp_path / "requests.log").read_text() + "".join(place.collector.log.lines())
    assert '"route": "/v1/receipts"' in text
    assert "u-0" not in text
    assert token not in text


def test_the_version_may_be_left_out_and_not_be_wrong(place: Place) -> None:
    token = sign(place.secret, collection=COLLECTION.id, person="u-0")
    body = {"collection": COLLECTION.id, "key": "u-0", "token": token}
    assert place.client.post("/v1/receipts", json=body | {"tacit": 1}).status_code == 200
    for wrong in (2, None, "1", True):
        assert place.client.post("/v1/receipts", json=body | {"tacit": wrong}).status_code == 400


def test_receipts_are_told_while_deletions_wait(place: Place) -> None:
    """Deletions wait for moves; a client that asks before it sends must not wait for both."""
    place.client.post(PATH, json=body_of(reports_of(0, 40), key=place.ingest))
    headers = {"authorization": f"Bearer {place.ingest}"}
    with ThreadPoolExecutor(40) as pool:
        with place.collector.still():
            waiting = [
                pool.submit(place.client.post, "/v1/forget", json={"tacit": 1, "person": f"u-{n}"}, headers=headers)
                for n in range(1, 40)
            ]
            time.sleep(0.3)
            assert not any(one.done() and one.result().status_code == 200 for one in waiting)
            assert len(place.taken("u-0")) == 3
        assert {one.result().status_code for one in waiting} == {200}
