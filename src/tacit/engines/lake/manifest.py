"""The manifest of a lake version: one immutable JSON file that names all other files with their digests.

It refers to the digest of the previous manifest. Creating the file under its name is the commit. Readers use the newest
manifest; earlier ones can be restored.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from tacit.engines.base import Stamp
from tacit.engines.lake.place import MANIFESTS
from tacit.engines.lake.storage import Storage
from tacit.errors import EngineError
from tacit.sql.names import PEOPLE

__all__ = [
    "Columns",
    "LakeTable",
    "Manifest",
    "Stored",
    "StoredDimension",
    "digest_of",
    "manifest_name",
    "manifest_names",
    "number_of",
    "read_manifest",
]

NAME = re.compile(r"\w{1,200}/\w{1,100}\.(parquet|json)", re.ASCII)
"""Names of files: others could be anywhere on the disk, and would be read, overwritten or removed there."""

MANIFEST = re.compile(rf"{MANIFESTS}/\d{{12}}\.json", re.ASCII)
"""Names of manifests; programs that synchronise folders leave files of other names beside them."""

DIGEST = re.compile("[0-9a-f]{64}", re.ASCII)

FORMAT = 1
"""Version of the format of manifests."""


class Stored(NamedTuple):
    """A file, with its number of rows, size and SHA-256."""

    name: str
    rows: int
    bytes: int
    digest: str


Columns = Sequence[tuple[str, str]]
"""Names of columns with their Arrow types."""


class StoredDimension(NamedTuple):
    """A public table."""

    name: str
    key: str
    file: Stored


@dataclass(frozen=True)
class LakeTable:
    """The reports of one service, or counts of them."""

    columns: tuple[tuple[str, str], ...]
    """Names and Arrow types of the columns."""

    files: tuple[Stored, ...] = ()

    by: tuple[str, ...] | None = None
    """Public columns by which codes are counted; None without counts."""

    rollups: tuple[Stored, ...] = ()
    """Counts of codes; together they count each row once."""

    @property
    def rows(self) -> int:
        """Number of reports."""
        return sum(file.rows for file in self.files)

    @property
    def rollup_columns(self) -> Columns:
        """The columns of its rollups; the last one counts people."""
        kinds = dict(self.columns)
        return [*((name, kinds[name]) for name in ("channel", "code", *(self.by or ()))), (PEOPLE, "int64")]

    def with_files(self, *files: Stored) -> LakeTable:
        """Return it with other files of reports."""
        return replace(self, files=files)

    def with_rollups(self, *rollups: Stored) -> LakeTable:
        """Return it with other rollups."""
        return replace(self, rollups=rollups)


@dataclass(frozen=True)
class Manifest:
    """One version of a lake."""

    number: int = 0
    identity: str = ""
    previous: str = ""
    """Digest of the manifest before."""

    time: str = ""
    since: int = 1
    """The oldest version that may be restored: a deletion ends the history before it."""

    contracts: tuple[tuple[str, Stored], ...] = ()
    dimensions: tuple[StoredDimension, ...] = ()
    tables: dict[str, LakeTable] = field(default_factory=dict)
    stamp: Stamp | None = None
    digest: str = ""
    """Digest of its own text."""

    def files(self) -> Iterator[Stored]:
        """Yield every file that it names."""
        yield from (file for _, file in self.contracts)
        yield from (dimension.file for dimension in self.dimensions)
        for table in self.tables.values():
            yield from table.files
            yield from table.rollups

    def with_table(self, name: str, table: LakeTable | None) -> Manifest:
        """Return it with one table replaced, added or removed."""
        others = {other: self.tables[other] for other in self.tables if other != name}
        return replace(self, tables=others if table is None else others | {name: table})

    def write(self, storage: Storage) -> Manifest:
        """Store it as the next version; FileExistsError if another process has stored one."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        successor = replace(self, number=self.number + 1, previous=self.digest, time=now, digest="")
        values = {"format": FORMAT} | {name: value for name, value in asdict(successor).items() if name != "digest"}
        text = json.dumps(values, separators=(",", ":")).encode()
        storage.create(manifest_name(successor.number), text)
        return replace(successor, digest=digest_of(text))


def manifest_name(number: int) -> str:
    """Return the file name of a version."""
    return f"{MANIFESTS}/{number:012d}.json"


def manifest_names(storage: Storage) -> list[str]:
    """Return the file names of all versions, oldest first."""
    return [name for name in storage.names(MANIFESTS) if MANIFEST.fullmatch(name)]


def number_of(name: str) -> int:
    """Return the version number in a manifest's file name."""
    return int(name.removeprefix(f"{MANIFESTS}/").removesuffix(".json"))


def digest_of(content: bytes | memoryview) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def read_manifest(storage: Storage, name: str) -> Manifest:
    """Read one version."""
    text = storage.read(name)
    try:
        values = json.loads(text)
        if values.pop("format") != FORMAT:
            message = f"The lake was written by a later version of tacit ({name}). Update tacit."
            raise EngineError(message, code="later-version")
        manifest = _from_json(values)
        if not _is_sound(manifest, number_of(name)):
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        message = f"{name} is not a manifest of a lake, or was altered. Restore it from a backup."
        raise EngineError(message, code="damaged-store") from None
    return replace(manifest, digest=digest_of(text))


def _from_json(values: dict[str, Any]) -> Manifest:
    tables = {name: _table(table) for name, table in values.pop("tables").items()}
    contracts = tuple((name, Stored(*file)) for name, file in values.pop("contracts"))
    dimensions = tuple(StoredDimension(name, key, Stored(*file)) for name, key, file in values.pop("dimensions"))
    stamp = values.pop("stamp")
    return Manifest(
        **values, tables=tables, contracts=contracts, dimensions=dimensions, stamp=Stamp(*stamp) if stamp else None
    )


def _is_sound(manifest: Manifest, number: int) -> bool:
    """Return whether a manifest is one that `Manifest.write` could have written; raise, or return False, otherwise."""
    datetime.datetime.fromisoformat(manifest.time)
    texts = [manifest.identity, *(file.digest for file in manifest.files()), *([manifest.previous] * (number > 1))]
    sizes = [number for file in manifest.files() for number in (file.rows, file.bytes)]
    return (
        manifest.number == number
        and type(manifest.since) is int
        and 1 <= manifest.since <= number
        and all(isinstance(text, str) for text in texts)
        and all(DIGEST.fullmatch(text) for text in texts[1:])
        and all(type(size) is int and size >= 0 for size in sizes)
        and all(NAME.fullmatch(file.name) for file in manifest.files())
        and all(map(_is_sound_table, manifest.tables.values()))
    )


def _is_sound_table(table: LakeTable) -> bool:
    """Return whether a table has columns of known types, names no file twice, and counts codes if it has any."""
    names = [name for name, kind in table.columns if pa.type_for_alias(kind) is not None]
    counted = {"channel", "code", *(table.by or ())}
    return (
        len({*names}) == len(names)
        and {"slot", *counted} <= {*names}
        and all(len({file.name for file in files}) == len(files) for files in (table.files, table.rollups))
        and (table.by is None or table.rows == 0 or len(table.rollups) > 0)
    )


def _table(values: dict[str, Any]) -> LakeTable:
    return LakeTable(
        tuple((name, kind) for name, kind in values["columns"]),
        tuple(Stored(*file) for file in values["files"]),
        None if values["by"] is None else tuple(values["by"]),
        tuple(Stored(*file) for file in values["rollups"]),
    )
