"""S1: whatever value a member of a request has, no answer is a mistake of ours; every POST route is tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.collectors import COLLECTION, collector_here, reports_of, served_here
from support.tiers import how_many
from tacit.server.app import TABLE, make_app
from tacit.server.keys import Keys

QUESTION = "SELECT os, AVG(age) AS mean FROM users GROUP BY os"
BODIES: dict[str, dict[str, Any]] = {
    "/v1/collections/{id}/reports": {"reports": reports_of(0, 1)},
    "/v1/collections/{id}/coin": {"person": "p"},
    "/v1/forget": {"person": "p"},
    "/v1/receipts": {"collection": COLLECTION.id, "key": "p", "token": "x"},
    "/v1/query": {"sql": QUESTION},
    "/v1/marginal": {"attributes": ["age"]},
    "/v1/synthesize": {"rows": 3, "service": "users"},
    "/v1/draft": {"sql": QUESTION},
    "/v1/curves": {"sql": QUESTION},
    "/v1/contributions": {"sql": QUESTION, "group": {"os": "i"}},
    "/v1/export": {},
}
"""A good body of every route."""

DEEP: Any = {"os": [{}]}
ODD: list[Any] = [
    *(["x"], {}, 10**30, None, -1, float("nan"), "\ud800", DEEP),
    *(True, False, 0, 1.5, 1e308, float("-inf"), 2**63, "", "\x00", "é" * 300, [], [[]], [None], {"os": None}),
    *([{"number": "NaN"}], [{"number": "1e999999"}], [{"number": "sNaN"}], ["SELECT"] * 40, {"os": 1e308}),
]
FEW = how_many(8, 27, "odd values of every member of every request")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("odd")
    with collector_here(folder / "store") as collector:
        collector.accept(COLLECTION.id, reports_of(0, 60)).result()
        with served_here(make_app(collector, Keys(folder / "keys.json"))) as made:
            yield made


def test_every_route_has_a_body_here() -> None:
    assert set(BODIES) == {endpoint.path for endpoint in TABLE if endpoint.method == "POST"}


@pytest.mark.parametrize("path", BODIES)
def test_odd_values_are_no_mistake_of_ours(client: httpx.Client, path: str) -> None:
    [endpoint] = [one for one in TABLE if one.path == path]
    for member in ("tacit", "key", *(endpoint.takes or ())):
        for value in ODD[:FEW]:
            body = {"tacit": 1} | BODIES[path] | {member: value}
            content = json.dumps(body).encode(errors="surrogatepass")
            response = client.post(path.replace("{id}", COLLECTION.id), content=content)
            assert response.status_code < 500, (member, value, response.text)
