"""A collector of this process that also speaks the PostgreSQL protocol, with keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.wire import Place, port_of


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with port_of(tmp_path_factory.mktemp("wire")) as made:
        yield made


@pytest.fixture(scope="session")
def open_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Return a collector on this machine without keys."""
    with port_of(tmp_path_factory.mktemp("open"), has_keys=False) as made:
        yield made
