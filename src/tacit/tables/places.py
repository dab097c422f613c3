"""Places that a user named, as messages may repeat them."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["place_text"]

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
SECRET = re.compile(r"(?i)(password|secret|key|token)\s*=")


def place_text(place: str | Path) -> str:
    """Return a path unchanged; shorten an address or connection settings, which may contain a password.

    Examples
    --------
    >>> place_text("shop/store"), place_text("postgresql://u:pw@host/db"), place_text("host=h password=pw")
    ('shop/store', 'postgresql://…', '…')
    """
    text = str(place)
    if address := ADDRESS.match(text):
        return f"{address[1]}://…"
    return "…" if SECRET.search(text) else text
