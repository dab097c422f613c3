"""`tacit.connect`: a database, or a running collector, whose module is loaded with the first such address."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from tacit.adapters.beside import open_database
from tacit.adapters.remote.address import is_address
from tacit.database import Database
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.adapters.remote.database import RemoteDatabase

__all__ = ["connect"]


@overload
def connect(path: Any = None, *, engine: Any = "duckdb") -> Database: ...


@overload
def connect(path: str, *, key: str | None = None, key_file: Any = None) -> RemoteDatabase: ...


def connect(
    path: Any = None, *, engine: Any = "duckdb", key: str | None = None, key_file: Any = None
) -> Database | RemoteDatabase:
    """Open a database, or query a running collector.

    Parameters
    ----------
    path : str or Path, optional
        A DuckDB file, a lake (a folder with a slash at its end, or ``s3://…``), a folder for Spark, the address of a
        PostgreSQL database (``postgresql://…``), or a SparkSession. ``https://host`` is a running collector. Default:
        in memory.
    engine : str or SparkSession
        ``"duckdb"``, ``"lake"``, ``"postgresql://…"``, a SparkSession, or ``"spark"`` for one on this machine.
    key, key_file : str, optional
        A collector's key with the scope ``query``, or a file with it. Default: TACIT_KEY or TACIT_KEY_FILE in the
        environment.
    """
    if is_address(path):
        remote: RemoteDatabase = import_module("tacit.adapters.remote.database").RemoteDatabase(
            path, key=key, key_file=key_file
        )
        return remote
    if key is not None or key_file is not None:
        message = "Keys are for collectors, whose addresses start with https://. A file needs none."
        raise UsageError(message, code="bad-option")
    return open_database(path, engine)
