"""The client on a person's device. Reads only the JSON contract, and needs only the standard library.

Names load when they are first used: collectors need some of its modules, but none that sends anything.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.client.client import Client, Delivery, PersonClient, Preview, connect
    from tacit.client.interpreter import Interpreter

__all__ = ["Client", "Delivery", "Interpreter", "PersonClient", "Preview", "connect"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module 'tacit.client' has no attribute {name!r}"
        raise AttributeError(message)
    home = importlib.import_module(f"tacit.client.{'interpreter' if name == 'Interpreter' else 'client'}")
    value = globals()[name] = getattr(home, name)
    return value
