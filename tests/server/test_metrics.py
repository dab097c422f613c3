"""Metrics pass a strict parser of Prometheus' text format, and count what happened."""

from __future__ import annotations

import math
import re
from pathlib import Path

import httpx
import pytest

from support.collectors import body_of, reports_of, serving

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? (\S+)")
KINDS = ("counter", "gauge", "histogram", "summary", "untyped")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}

Labels = frozenset[tuple[str, str]]


class FormatError(Exception):
    pass


def parse(text: str) -> dict[str, dict[tuple[str, Labels], float]]:
    """Parse version 0.0.4 strictly: every family has HELP, TYPE and then its samples, once and in one piece."""
    if not text.endswith("\n"):
        raise FormatError("the last line has no end")
    families: dict[str, dict[tuple[str, Labels], float]] = {}
    kinds: dict[str, str] = {}
    current, helped = "", ""
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            helped, _, words = line[7:].partition(" ")
            if not re.fullmatch(NAME, helped) or not words or helped in families:
                raise FormatError(line)
        elif line.startswith("# TYPE "):
            current, _, kind = line[7:].partition(" ")
            if current != helped or kind not in KINDS or current in families:
                raise FormatError(line)
            families[current], kinds[current] = {}, kind
        else:
            name, labels, value = _sample(line)
            if not current or name.removeprefix(current) not in SUFFIXES[kinds[current]] or name == helped != current:
                raise FormatError(line)
            if (name, labels) in families[current]:
                raise FormatError(f"twice: {line}")
            families[current][name, labels] = value
    for name, kind in kinds.items():
        _check(name, kind, families[name])
    return families


def _sample(line: str) -> tuple[str, Labels, float]:
    found = SAMPLE.fullmatch(line)
    if not found:
        raise FormatError(line)
    pairs = [tuple(one.split("=", 1)) for one in re.findall(LABEL, found[2] or "")]
    if len({name for name, _ in pairs}) != len(pairs):
        raise FormatError(f"a label twice: {line}")
    return found[1], frozenset((name, text[1:-1]) for name, text in pairs), float(found[3])


def _check(name: str, kind: str, samples: dict[tuple[str, Labels], float]) -> None:
    """Counters are not negative and end with _total; buckets rise to the count."""
    if kind == "counter" and (not name.endswith("_total") or any(value < 0 for value in samples.values())):
        raise FormatError(name)
    if kind != "histogram":
        return
    places = {frozenset(pair for pair in labels if pair[0] != "le") for _, labels in samples}
    for place in places:
        bounds = sorted(
            (float(dict(labels)["le"]), value)
            for (own, labels), value in samples.items()
            if own == f"{name}_bucket" and frozenset(pair for pair in labels if pair[0] != "le") == place
        )
        counts = [value for _, value in bounds]
        if not math.isinf(bounds[-1][0]) or counts != sorted(counts) or counts[-1] != samples[f"{name}_count", place]:
            raise FormatError(f"{name}: {place}")
        if samples[f"{name}_sum", place] < 0:
            raise FormatError(f"{name}: {place}")


@pytest.mark.parametrize(
    "text",
    [
        "a 1",
        "a 1\n",
        "# TYPE a counter\na 1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total -1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n",
        '# HELP a x\n# TYPE a gauge\na{b="1",b="2"} 1\n',
        '# HELP a x\n# TYPE a gauge\na{b="\n"} 1\n',
        '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
        '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n',
    ],
)
def test_the_parser_refuses_what_is_wrong(text: str) -> None:
    with pytest.raises(FormatError):
        parse(text)


def value(text: str, name: str, **labels: str) -> float:
    families = parse(text)
    family = next(own for own in sorted(families, key=len, reverse=True) if name.startswith(own))
    return families[family].get((name, frozenset(labels.items())), 0.0)


def test_metrics_count_what_happened(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.client() as client:
        for _ in range(3):
            client.post(running.path, json=body_of(reports_of(0, 5)))
        client.post(running.path, content=b"not JSON")
        client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"})
        client.post("/v1/query", json={"tacit": 1, "sql": "SELECT nonsense FROM users"})
        client.get("/v1/collections/unknown")
        client.get('/a"b\\c%0Ad')
        client.request("DELETE", "/healthz")
        client.request("BREW", "/healthz")
        answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text, route = answer.text, "/v1/collections/{id}/reports"
    assert value(text, "tacit_request_seconds_count", method="POST", route=route) == 4
    assert 0 < value(text, "tacit_request_seconds_sum", method="POST", route=route) < 60
    assert value(text, "tacit_responses_total", method="POST", route=route, status="200") == 3
    assert value(text, "tacit_responses_total", method="POST", route="/v1/query", status="400") == 1
    assert value(text, "tacit_errors_total", code="bad-body") == 1
    assert value(text, "tacit_errors_total", code="unknown-collection") == 1
    assert value(text, "tacit_errors_total", code="not-found") == 1
    assert value(text, "tacit_errors_total", code="wrong-method") == 1
    assert value(text, "tacit_errors_total", code="bad-request") == 1
    assert value(text, "tacit_stored_total") == 15
    assert value(text, "tacit_reports_known") == 15
    assert 10 < value(text, "tacit_open_files") < value(text, "tacit_open_files_limit")
    assert all(name.startswith("tacit_") for name in parse(text))


def test_what_is_sent_makes_no_labels(tmp_path: Path) -> None:
    """Otherwise a sender could fill the memory of whoever keeps the metrics."""
    with serving(tmp_path) as running, running.client() as client:
        client.get("/metrics")
        before = parse(client.get("/metrics").text)
        for number in range(50):
            client.get(f"/v1/collections/v1{number}")
            client.get(f"/nothing/{number}")
            client.request(f"X{number}", "/healthz")
            with httpx.Client(base_url=running.address) as other:
                other.get("/healthz", headers={f"x-{number}": "1"})
        after = parse(client.get("/metrics").text)
    more = sum(map(len, after.values())) - sum(map(len, before.values()))
    assert more < 80, "a few routes, once each"
