"""Parts of Arrow that questions need none of, loaded when something in them is used: together they take 25 ms.

`pc` has functions over columns; `csv`, `json` and `parquet` read and write files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from pyarrow import csv, json, parquet
else:

    class _Part:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    pc = _Part("pyarrow.compute")
    csv, json, parquet = (_Part(f"pyarrow.{name}") for name in ("csv", "json", "parquet"))

__all__ = ["csv", "json", "parquet", "pc"]
