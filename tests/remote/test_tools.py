"""The command line, DB-API and SQLAlchemy over a collector; a real process with TLS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

import tacit as tc
from support.collectors import Serving, body_of, reports_of
from tacit import dbapi
from tacit.cli import main
from tacit.errors import EngineError
from tacit.server.keys import Keys

TEXT = "SELECT os, COUNT(*) AS n FROM users WHERE age > 2 GROUP BY os ORDER BY os"
TLS = Path(__file__).parents[1] / "data" / "tls"


def test_dbapi(place: Any) -> None:
    with dbapi.connect(place.address, key=place.query, confidence=0.8) as connection:
        rows = connection.cursor().execute(TEXT).fetchall()
    answer = place.collector.query(TEXT, confidence=0.8)
    assert [row[0] for row in rows] == [os for os, _ in answer]
    assert [row[1:] for row in rows] == [pytest.approx((n.value, n.low, n.high), rel=1e-9) for _, n in answer]
    with pytest.raises(dbapi.DatabaseError, match="unknown-key"):
        dbapi.connect(place.address, key="wrong").cursor().execute(TEXT)


def test_sqlalchemy_reflects_and_asks(place: Any) -> None:
    host = place.address.removeprefix("http://")
    engine = sa.create_engine(f"tacit://:{place.query}@{host}/?confidence=0.8")
    assert place.query not in repr(engine)
    assert place.query not in str(engine.url)
    found = sa.inspect(engine)
    assert found.get_table_names() == ["orders", "users"]
    users = sa.Table("users", sa.MetaData(), autoload_with=engine)
    assert [type(column.type).__name__ for column in users.columns][:2] == ["String", "BigInteger"]
    asked = sa.select(users.c.os, sa.func.count().label("n")).where(users.c.age > 2).group_by(users.c.os).order_by("os")
    with engine.connect() as connection:
        frame = pd.read_sql(asked, connection)
    answer = place.collector.query(TEXT, confidence=0.8)
    assert frame["n_high"].tolist() == pytest.approx([n.high for _, n in answer], rel=1e-9)
    engine.dispose()


def test_sqlalchemy_takes_keys_from_the_environment(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_KEY", place.query)
    engine = sa.create_engine(f"tacit://{place.address.removeprefix('http://')}")
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT COUNT(*) AS n FROM users")) == 400
    engine.dispose()


@pytest.mark.parametrize("address", ["tacit://host?engine=duckdb", "tacit://host?key=1", "tacit://:key@/shop.tacit"])
def test_wrong_addresses(address: str) -> None:
    with pytest.raises(sa.exc.ArgumentError):
        sa.create_engine(address)


def test_command_line(place: Any, monkeypatch: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setenv("TACIT_KEY", place.query)
    assert main(["query", place.address, TEXT]) == 0
    assert str(place.collector.query(TEXT)) in capsys.readouterr().out
    assert main(["marginal", place.address, "age", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 10
    out = tmp_path / "rows.csv"
    assert main(["synthesize", place.address, str(out), "--rows", "20", "--service", "users"]) == 0
    assert len(out.read_text().splitlines()) == 21
    monkeypatch.delenv("TACIT_KEY")
    assert main(["query", place.address, TEXT]) == 2
    assert main(["query", "https://me:secret@host", TEXT]) == 2
    assert "secret" not in capsys.readouterr().err


def test_shell_over_tls(tmp_path: Path) -> None:
    """A collector with a certificate and keys, its key in a file, asked by another process."""
    keys = Keys(tmp_path / "store" / "keys.json")
    (tmp_path / "store").mkdir()
    query, ingest = (keys.create("test", [scope]) for scope in ("query", "ingest"))
    (tmp_path / "key").write_text(query)
    certificate = ["--certificate", str(TLS / "localhost.pem"), "--private-key", str(TLS / "localhost-key.pem")]
    serving = Serving(tmp_path, options=certificate)
    address = serving.address.replace("127.0.0.1", "localhost")
    try:
        with pytest.raises(EngineError, match="bad-certificate"):
            tc.connect(address, key=query).sql(TEXT)
        trusting = os.environ | {"SSL_CERT_FILE": str(TLS / "localhost.pem")}
        send = (
            "import json, sys, urllib.request as r\n"
            "r.urlopen(sys.argv[1], data=sys.stdin.buffer.read()).read()"  # with the process's own certificates
        )
        body = json.dumps(body_of(reports_of(0, 100), key=ingest))
        where = [sys.executable, "-c", send, address + serving.path]
        subprocess.run(where, input=body, text=True, check=True, env=trusting)
        words = [sys.executable, "-m", "tacit.cli", "shell", address, "--key-file", str(tmp_path / "key")]
        asked = "SELECT COUNT(*) AS n FROM users\nSELECT nothing FROM users\n"
        shown = subprocess.run(words, input=asked, capture_output=True, text=True, check=True, env=trusting)
        assert "100" in shown.stdout
        assert "unknown-column" in shown.stderr
        assert query not in shown.stdout + shown.stderr
    finally:
        serving.end()
