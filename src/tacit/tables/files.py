"""Read files of tables: Parquet, CSV with its usual variants, JSON lines; errors say where, and quote no content."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.errors import RecordError
from tacit.tables.compute import csv, json, parquet, pc
from tacit.tables.spellings import DECIMAL_COMMA, read_spellings

__all__ = ["SUFFIXES", "read_file", "stem_of", "suffix_of"]

SAMPLE = 2**16
"""Bytes of a CSV file that its dialect is detected from."""

SEPARATORS = ",;\t|"

ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")
JSON_ROW = re.compile(r"in row (\d+)")


def read_file(name: str, source: str | Path) -> pa.Table:
    """Read a service's file; the suffix of its name selects the format."""
    path = Path(source)
    suffix, problem = suffix_of(path), ""
    if suffix not in READERS:
        problem = f"the path ends with none of {', '.join(READERS)} (or .csv.gz). Convert the file to one of these."
    elif not path.is_file():
        problem = "the file does not exist. Check its path."
    elif not path.stat().st_size:
        problem = "the file is empty. Write at least a row to it."
    if not problem:
        try:
            return READERS[suffix](path)
        except pa.ArrowException as cause:
            problem = _why(suffix, str(cause))
        except (EOFError, zlib.error, OSError):
            if path.suffix.lower() != GZIP:
                raise
            problem = "the file is not compressed by gzip, or is damaged. Compress it again."
    raise RecordError(problem, code="unreadable-table", service=name)


def suffix_of(path: Path) -> str:
    """Return the suffix that tells a file's format: that before .gz, for formats that may be compressed.

    Examples
    --------
    >>> suffix_of(Path("visits.CSV.gz")), suffix_of(Path("visits.parquet"))
    ('.csv', '.parquet')
    """
    inner = Path(path.stem).suffix.lower()
    return inner if path.suffix.lower() == GZIP and inner in COMPRESSED else path.suffix.lower()


def stem_of(path: Path) -> str:
    """Return a file's name without the suffixes of its format."""
    return Path(path.stem).stem if suffix_of(path) != path.suffix.lower() else path.stem


def _open(path: Path) -> Any:
    """Open a file, compressed or not, for reading bytes."""
    return gzip.open(path) if path.suffix.lower() == GZIP else path.open("rb")


def _why(suffix: str, message: str) -> str:
    """Describe the problem with a file from a library's message, which may quote values: only row numbers are used."""
    row, line = ROW.search(message), JSON_ROW.search(message)
    if row:
        return f"line {row[1]} has {row[3]} fields, the first line {row[2]}. Quote fields that contain separators."
    if line:
        return f"line {int(line[1]) + 1} is not a JSON object, or its values have other types than before. Correct it."
    if suffix == ".parquet":
        return "the file is not Parquet, or damaged. Write it again, or convert it to CSV."
    wanted = "a JSON object on each line" if "json" in suffix else "a line of column names, then a line for each row"
    return f"the file cannot be read. It must have {wanted}."


def _read_csv(path: Path) -> pa.Table:
    """Read a CSV file with any usual separator, decimal sign and encoding; blank texts are missing, as numbers."""
    with _open(path) as file:
        start = file.read(SAMPLE)
    encoding = "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    sample = start.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    lines = sample.splitlines()
    separator = max(SEPARATORS, key=lambda character: (lines[0].count(character), -SEPARATORS.index(character)))
    fields = [field.strip('" ') for line in lines[1:100] for field in line.split(separator)]
    comma = separator != "," and any(map(DECIMAL_COMMA.match, fields))
    convert = csv.ConvertOptions(decimal_point="," if comma else ".")
    quoted_lines = any(line.count('"') % 2 for line in lines[:-1])
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=quoted_lines)
    try:
        table = csv.read_csv(path, csv.ReadOptions(encoding=encoding), parse, convert)
    except pa.ArrowInvalid:  # quoted line breaks may come late, and one thread knows the number of the line
        parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        table = csv.read_csv(path, csv.ReadOptions(use_threads=False, encoding=encoding), parse, convert)
    if any(pa.types.is_binary(field.type) for field in table.schema):  # not UTF-8
        _refuse_mixed(path)
        read = csv.ReadOptions(encoding="cp1252")
        try:
            table = csv.read_csv(path, read, parse, convert)
        except (UnicodeDecodeError, pa.ArrowException):
            return table
    if all(map(NUMBER.fullmatch, table.column_names)):
        problem = "the first line has numbers instead of column names, so its row would be lost. Write names above it."
        raise RecordError(problem, code="unreadable-table", service=stem_of(path))
    return read_spellings(_without_blanks(table), "," if comma else ".")


def _refuse_mixed(path: Path) -> None:
    """Refuse a file with lines in UTF-8 and lines that are not: read as one encoding, the same text would be two."""
    utf8, other = 0, 0
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if not line.isascii():
                try:
                    line.decode()
                    utf8 = utf8 or number
                except UnicodeDecodeError:
                    other = other or number
            if utf8 and other:
                problem = (
                    f"line {utf8} is UTF-8, and line {other} is not: the file mixes encodings. Save all of it as UTF-8."
                )
                raise RecordError(problem, code="unreadable-table", service=stem_of(path))


def _without_blanks(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(place)
            blank = pc.equal(pc.utf8_trim_whitespace(column), "")
            if pc.any(blank).as_py():
                column = pc.if_else(blank, pa.scalar(None, field.type), column)
                table = table.set_column(place, field.name, column)
    return table


READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": lambda path: parquet.read_table(path),
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": lambda path: json.read_json(path),
    ".ndjson": lambda path: json.read_json(path),
}
"""Readers by the suffix of the file's name."""

GZIP, COMPRESSED = ".gz", (".csv", ".tsv", ".jsonl", ".ndjson")

SUFFIXES = tuple(READERS)
