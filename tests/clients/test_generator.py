"""P4: the Python client draws from the operating system, or not at all; forked processes share no stream."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from support.collectors import COLLECTION
from tacit.client.client import Client
from tacit.client.transport import Transport
from tacit.client.wallet import Wallet
from tacit.errors import RandomnessError

ROW = {"age": 4, "os": "ios"}

FORKS = """
import os
from tacit.client.entropy import draws
streams = {tuple(draws(2))}
for _ in range(1_000):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, repr(tuple(draws(2))).encode())
        os._exit(0)
    os.close(writer)
    streams.add(os.read(reader, 200).decode())
    os.close(reader)
    os.waitpid(child, 0)
print(len(streams))
"""


def fail(_: int) -> bytes:
    raise OSError


@pytest.mark.parametrize("generator", [fail, lambda count: b"\0" * (count // 2), lambda _: b""])
def test_without_randomness_nothing_is_drawn_or_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generator: Callable[[int], bytes]
) -> None:
    wallet = Wallet(tmp_path / "w.db")
    transport = Transport("http://127.0.0.1:1")
    client = Client(transport, wallet, COLLECTION.id, COLLECTION.to_json(), "", Fraction(6), 0)
    with monkeypatch.context() as broken:
        broken.setattr(os, "urandom", generator)
        with pytest.raises(RandomnessError):
            client.person("ada").record("users", ROW)
    assert client.person("ada").budget()["spent"] == 0.0
    assert client.person("ada").history() == []
    client.person("ada").record("users", ROW)
    client.close()


def test_a_thousand_forked_clients_draw_differently() -> None:
    result = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    assert result.stdout == "1001\n"
