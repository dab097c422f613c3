"""Arrow's functions over columns, loaded with the first that is called: that takes 20 ms, and questions need none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:

    class _Compute:
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("pyarrow.compute"), name)

    pc = _Compute()

__all__ = ["pc"]
