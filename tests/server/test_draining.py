"""On SIGTERM a collector is no longer ready first, answers for a while, and then ends."""

from __future__ import annotations

import datetime
import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from support.collectors import body_of, reports_of, serving
from tacit.errors import OverloadedError
from tacit.server.store.quotas import Quotas


def test_a_collector_that_drains_is_not_ready_and_answers_until_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-seconds", "1.5") as running, running.client() as client:
        assert client.get("/readyz").status_code == 200
        assert "close" not in client.post(running.path, json=body_of(reports_of(0, 1))).headers.get("connection", "")
        os.kill(running.process.pid, signal.SIGTERM)
        began = time.monotonic()
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "draining")
        stored = client.post(running.path, json=body_of(reports_of(1, 1)))
        assert stored.status_code == 200
        assert stored.headers["connection"] == "close", "proxies open no more requests on this connection"
        assert running.process.wait(30) == 0
        assert time.monotonic() - began >= 1.4
        with pytest.raises(httpx.TransportError):
            client.get("/healthz")


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-seconds", "600") as running, running.client() as client:
        assert client.get("/readyz").status_code == 200
        for _ in range(2):
            os.kill(running.process.pid, signal.SIGTERM)
            time.sleep(0.2)
        assert running.process.wait(30) == 0


def test_a_quota_is_of_a_day_and_survives_a_restart() -> None:
    moment = datetime.datetime(2026, 11, 18, 23, 59, 50, tzinfo=datetime.UTC)
    quotas = Quotas({"users": 10}, None, clock=lambda: moment)
    kept = quotas.with_more(["users"] * 8)
    quotas.add(["users"] * 8)
    quotas.check(["users"] * 2 + ["orders"] * 99)
    with pytest.raises(OverloadedError) as refused:
        quotas.check(["users"] * 3)
    assert (refused.value.code, refused.value.retry_after) == ("over-quota", 10)
    again = Quotas({"users": 10}, kept, clock=lambda: moment)
    with pytest.raises(OverloadedError):
        again.check(["users"] * 3)
    moment += datetime.timedelta(seconds=20)
    quotas.check(["users"] * 10)
    again.check(["users"] * 10)
    Quotas({"users": 10}, kept, clock=lambda: moment).check(["users"] * 10)
