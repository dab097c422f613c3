"""The file with the key that assigns views and seeds, for `tacit encode` and `tacit load`."""

from __future__ import annotations

import secrets
from pathlib import Path

from tacit.errors import UsageError
from tacit.tables.atomic import write_atomically

__all__ = ["read_coin_key"]


def read_coin_key(path: Path | None, *, make: bool = False) -> str | None:
    """Return the key in a file, None without a file; ``make`` writes a new one where there is none."""
    if path is None:
        return None
    try:
        if make and not path.exists():
            write_atomically(path, f"{secrets.token_hex(32)}\n".encode(), mode=0o600)
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as cause:
        message = f"{path.name} cannot be used ({type(cause).__name__}). Name the file that `tacit encode` wrote."
        raise UsageError(message, code="bad-key") from None
