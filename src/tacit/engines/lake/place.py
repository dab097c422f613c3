"""Recognise paths of lakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["MANIFESTS", "as_lake", "is_lake", "is_other_folder"]

MANIFESTS = "manifests"
"""The folder of a lake's versions, which every lake has."""

SCHEMES = ("s3://", "gs://", "abfs://")


def is_lake(place: Any, engine: Any) -> bool:
    """Return whether a path names a lake: it exists, is an object store, or ends in a slash with engine DuckDB.

    Without an engine, only an existing lake counts; object stores are assumed to exist.
    """
    if engine == "lake":
        return True
    if not isinstance(place, str | Path):
        return False
    if str(place).startswith(SCHEMES):
        return engine in ("duckdb", "")
    return (engine == "duckdb" and str(place).endswith("/")) or (Path(place) / MANIFESTS).is_dir()


def as_lake(place: str) -> str:
    """Return a folder or address in a form that names a lake, existing or new; an empty text stays empty."""
    return place if not place or place.startswith(SCHEMES) or place.endswith("/") else f"{place}/"


def is_other_folder(place: str | Path) -> bool:
    """Return whether a path is a non-empty folder that is not a lake."""
    if str(place).startswith(SCHEMES) or not Path(place).is_dir():
        return False
    return not (Path(place) / MANIFESTS).is_dir() and any(Path(place).iterdir())
