"""Settings of a session, its transaction, and the commands that read or change them.

Nothing here changes the collector. ``tacit.confidence``, ``tacit.decoder`` and three switches determine how questions
are answered, and ``tacit.intervals`` whether estimates are sent with their errors and intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.adapters.pgwire.catalog.functions import VERSION
from tacit.adapters.pgwire.catalog.tables import PgCatalog
from tacit.adapters.pgwire.statements import ClientStatement
from tacit.errors import ParseError, UnknownNameError, UsageError

__all__ = ["Outcome", "PgSession", "options_of", "with_intervals"]

REPORTED = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
    "is_superuser": "off",
    "session_authorization": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
}
"""Settings reported to a client when it connects and whenever they change."""

OTHERS = {
    "server_version_num": "150000",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "on",
    "search_path": "public",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "statement_timeout": "0",
    "client_min_messages": "notice",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "backslash_quote": "safe_encoding",
    "tacit.confidence": "0.95",
    "tacit.decoder": "blue",
    "tacit.consistent": "off",
    "tacit.simultaneous": "off",
    "tacit.superpopulation": "off",
    "tacit.intervals": "on",
}
FIXED = (
    "server_version",
    "server_encoding",
    "server_version_num",
    "is_superuser",
    "integer_datetimes",
    "session_authorization",
)
MOST_SETTINGS, LONGEST = 100, 200
"""Maximum settings of a session, and characters of a value."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,62}")
SWITCHES = ("consistent", "simultaneous", "superpopulation")
ON = ("on", "true", "yes", "1")


@dataclass(frozen=True)
class Outcome:
    """The result of a command: its tag, and perhaps columns with rows."""

    tag: str
    columns: tuple[tuple[str, str], ...] | None = None
    rows: tuple[tuple[Any, ...], ...] = ()


@dataclass
class PgSession:
    """Settings and the state of the transaction: idle, in one, or in one that has failed."""

    user: str
    values: dict[str, str] = field(default_factory=dict)
    state: Literal["I", "T", "E"] = "I"
    catalog: PgCatalog | None = None
    """The catalog at the last catalog question."""

    def __post_init__(self) -> None:
        self._initial = {name.lower(): value for name, value in (REPORTED | OTHERS).items()}
        self._initial["session_authorization"] = self.user
        self.values = self._initial | self.values

    def reported_settings(self) -> Iterator[tuple[str, str]]:
        """Yield the settings that are reported to clients."""
        for name in REPORTED:
            yield name, self.values[name.lower()]

    def start_with(self, parameters: Mapping[str, str]) -> None:
        """Apply the settings that the client sent at startup."""
        for name, value in parameters.items():
            if name not in ("user", "database", "options", "replication") and not name.startswith("_pq_."):
                self.set(name, value)
        for name, value in re.findall(r"(?:-c\s*|--)([\w.]+)=((?:[^\s\\]|\\.)*)", parameters.get("options", "")):
            self.set(name, re.sub(r"\\(.)", r"\1", value))
        self._initial = dict(self.values)

    def set(self, name: str, value: str) -> None:
        """Change a setting; refuse fixed ones."""
        key = name.lower()
        if not NAME.fullmatch(name) or len(value) > LONGEST or not value.isprintable():
            message = "A setting needs a name of letters and a value of one line."
            raise UsageError(message, code="bad-parameter")
        if key in FIXED or (key not in self.values and len(self.values) >= MOST_SETTINGS):
            message = f"{key} cannot be changed."
            raise UsageError(message, code="bad-parameter")
        if key == "client_encoding" and value.strip("'\"").lower().replace("-", "") not in (
            "utf8",
            "unicode",
            "default",
        ):
            message = "Text is always sent in UTF-8. Set client_encoding to UTF8."
            raise UsageError(message, code="bad-parameter")
        if key == "datestyle" and "iso" not in value.lower():
            message = "Dates are always written in ISO 8601. Set DateStyle to ISO."
            raise UsageError(message, code="bad-parameter")
        fixed = {"client_encoding": "UTF8", "datestyle": "ISO, MDY"}
        self.values[key] = fixed.get(key, value)
        if key.startswith("tacit."):
            options_of(self.values)

    def show(self, name: str) -> Outcome:
        """Return the value of a setting."""
        if name.lower() == "all":
            rows = tuple((key, value, "") for key, value in sorted(self.values.items()))
            return Outcome("SHOW", (("name", "text"), ("setting", "text"), ("description", "text")), rows)
        key = name.lower().replace(" ", "_")
        key = {"transaction_isolation_level": "transaction_isolation", "time_zone": "timezone"}.get(key, key)
        if key not in self.values:
            raise UnknownNameError("setting", key[:63], None, code="unknown-setting")
        return Outcome("SHOW", ((key, "text"),), ((self.values[key],),))

    def run(self, statement: ClientStatement) -> Outcome:
        """Run a command."""
        words = statement.text.rstrip("; \n\t").split()
        word, arguments = statement.word, " ".join(words[1:])
        if word in ("BEGIN", "START"):
            self.state = "T" if self.state == "I" else self.state
            return Outcome("BEGIN" if word == "BEGIN" else "START TRANSACTION")
        if word in ("COMMIT", "END", "ROLLBACK", "ABORT"):
            return self._finish(word, arguments)
        if word == "SHOW":
            return self.show(arguments)
        if word == "SET":
            self._set(statement.text, arguments)
        elif word == "RESET":
            names = list(self._initial) if arguments.lower() == "all" else [arguments.lower()]
            self.values |= {name: self._initial[name] for name in names if name in self._initial}
        elif word == "DISCARD":
            self.values.clear()
            self.values.update(self._initial)
            return Outcome(f"DISCARD {arguments.upper()[:10]}")
        return Outcome(word)

    def _finish(self, word: str, arguments: str) -> Outcome:
        """End a transaction, or return to a savepoint; there is nothing to undo."""
        if arguments.upper().startswith(("TO ", "WORK TO", "TRANSACTION TO")):
            self.state = "T" if self.state == "E" else self.state
            return Outcome("ROLLBACK")
        failed, self.state = self.state == "E", "I"
        return Outcome("ROLLBACK" if failed or word in ("ROLLBACK", "ABORT") else "COMMIT")

    def _set(self, text: str, arguments: str) -> None:
        plain = re.sub(r"^(SESSION|LOCAL)\s+(?!CHARACTERISTICS|AUTHORIZATION)", "", arguments, flags=re.IGNORECASE)
        if re.match(r"(SESSION\s+CHARACTERISTICS|TRANSACTION|CONSTRAINTS)\b", plain, re.IGNORECASE):
            if re.search(r"READ\s+WRITE", plain, re.IGNORECASE):
                message = "This database is read only."
                raise UsageError(message, code="read-only")
            return
        plain = re.sub(r"^TIME\s+ZONE\s+", "TimeZone = ", plain, flags=re.IGNORECASE)
        plain = re.sub(r"^NAMES\s+", "client_encoding = ", plain, flags=re.IGNORECASE)
        result = re.fullmatch(r"([\w.]+)\s*(?:=|\bTO\b)\s*(.+)", plain, re.IGNORECASE | re.DOTALL)
        if not result:
            message = "Write SET name = value."
            raise ParseError(message, text=text)
        value = result[2].strip()
        if value.upper() == "DEFAULT":
            self.values[result[1].lower()] = self._initial.get(result[1].lower(), "")
            return
        self.set(result[1], value[1:-1].replace("''", "'") if value.startswith("'") and value.endswith("'") else value)


def options_of(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the session's options for `Database.sql`."""
    try:
        confidence = float(values["tacit.confidence"])
    except ValueError:
        confidence = -1.0
    if not 0 < confidence < 1:
        message = "tacit.confidence must be a number between 0 and 1, such as 0.95."
        raise UsageError(message, code="bad-parameter")
    chosen = {name: values[f"tacit.{name}"].lower() in ON for name in SWITCHES}
    return {"confidence": confidence, "decoder": values["tacit.decoder"], **chosen}


def with_intervals(values: Mapping[str, str]) -> bool:
    """Return whether the parts of estimates are sent after what a question lists."""
    return values["tacit.intervals"].lower() in ON
