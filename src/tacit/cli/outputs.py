"""New files and folders, written completely or not at all: an error or Ctrl-C leaves nothing half-written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import UsageError

__all__ = ["new_file", "new_folder"]


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name with the same suffix; it becomes the file when the block ends."""
    if path.exists():
        message = f"{path.name} exists already. Name a new file."
        raise UsageError(message, code="file-exists")
    with _workplace(path) as folder:
        part = folder / f"part{path.suffix}"
        yield part
        part.replace(path)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes the folder when the block ends; an empty one may exist already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _workplace(path) as folder:
        part = folder / "part"
        part.mkdir()
        yield part
        if path.is_dir():
            path.rmdir()
        part.replace(path)


@contextmanager
def _workplace(path: Path) -> Iterator[Path]:
    """Yield a temporary folder on the same disk."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as cause:
        message = f"{path.name} cannot be written ({cause.strerror}). Choose an existing folder that you can write to."
        raise UsageError(message, code="unwritable-file") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
