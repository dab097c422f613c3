"""Which paths mean a lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["MANIFESTS", "as_lake", "is_lake"]

MANIFESTS = "manifests"
"""The folder of a lake's versions, which every lake has."""

SCHEMES = ("s3://", "gs://", "abfs://")


def is_lake(place: Any, engine: Any) -> bool:
    """Tell whether a lake is meant: it exists, or DuckDB is to use an object store or a path that ends in a slash."""
    if engine == "lake":
        return True
    if not isinstance(place, str | Path):
        return False
    is_named_so = str(place).startswith(SCHEMES) or str(place).endswith("/")
    return (engine == "duckdb" and is_named_so) or (Path(place) / MANIFESTS).is_dir()


def as_lake(place: str) -> str:
    """Return a folder or address so that it means a lake, existing or new; an empty text stays empty."""
    return place if not place or place.startswith(SCHEMES) or place.endswith("/") else f"{place}/"
