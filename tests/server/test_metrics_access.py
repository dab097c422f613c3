"""Counters are for whoever watches: without keys for this machine, with keys for the scope `watch`."""

from __future__ import annotations

from pathlib import Path

from support.collectors import serving
from tacit.cli import main
from tacit.server.keys import Keys


def test_metrics_need_the_scope_watch_once_there_are_keys(tmp_path: Path) -> None:
    with serving(tmp_path) as started, started.client() as client:
        assert client.get("/metrics").status_code == 200
        assert client.get("/metrics", headers={"Host": "stats.example.org"}).status_code in (401, 403)
        keys = Keys(tmp_path / "store" / "keys.json")
        query, watch = keys.create("analyst", ["query"]), keys.create("prometheus", ["watch"])
        assert client.get("/metrics").status_code in (401, 403)
        assert client.get("/metrics", headers={"Authorization": f"Bearer {query}"}).status_code in (401, 403)
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {watch}"})
        assert answer.status_code == 200
        assert "tacit_stored_total" in answer.text
    assert main(["keys", str(tmp_path / "store"), "create", "other", "--scope", "watch"]) == 0
