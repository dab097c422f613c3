"""Which paths mean a lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["MANIFESTS", "as_lake", "is_lake", "is_other_folder"]

MANIFESTS = "manifests"
"""The folder of a lake's versions, which every lake has."""

SCHEMES = ("s3://", "gs://", "abfs://")


def is_lake(place: Any, engine: Any) -> bool:
    """Tell whether a lake is meant: it exists, or DuckDB is to use an object store or a path that ends in a slash.

    Without an engine, the question is whether one exists; of an object store that is taken for granted.
    """
    if engine == "lake":
        return True
    if not isinstance(place, str | Path):
        return False
    if str(place).startswith(SCHEMES):
        return engine in ("duckdb", "")
    return (engine == "duckdb" and str(place).endswith("/")) or (Path(place) / MANIFESTS).is_dir()


def as_lake(place: str) -> str:
    """Return a folder or address so that it means a lake, existing or new; an empty text stays empty."""
    return place if not place or place.startswith(SCHEMES) or place.endswith("/") else f"{place}/"


def is_other_folder(place: str | Path) -> bool:
    """Tell whether a path is a folder that holds something, but no lake."""
    if str(place).startswith(SCHEMES) or not Path(place).is_dir():
        return False
    return not (Path(place) / MANIFESTS).is_dir() and any(Path(place).iterdir())
