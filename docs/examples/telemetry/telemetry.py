"""Private telemetry of a program: asked first, perturbed here, sent once per round.

Copy this file and change ADDRESS, COLLECTION and HOME. Only the standard library and `tacit.client` are needed. Nothing
here raises into the program that calls it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

from tacit.client import Client, connect
from tacit.errors import TacitError

ADDRESS = "https://stats.example.org"
COLLECTION = (
    "0" * 64
)  # the id that `tacit serve telemetry.store telemetry.toml` prints: what you reviewed is what encodes
HOME = Path.home() / ".config" / "yourtool"

SERVICE = "installs"
CAP = 4  # all that an installation ever spends: four rounds of epsilon 1
SECONDS = 3


def consent(*, yes: bool) -> None:
    """Remember a person's decision; a no deletes what was sent, here and at the collector."""
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "telemetry").write_text("yes" if yes else "no", encoding="utf-8")
    if not yes and (HOME / "wallet.db").exists():
        try:
            client = _client()
            client.person(_install()).forget()
            client.flush(seconds=SECONDS)
            client.close()
        except (TacitError, OSError):
            return


def preview(record: Mapping[str, object]) -> str:
    """Return the guarantee in words and the exact bytes that would be sent; nothing is sent."""
    try:
        client = _client()
        shown = client.person(_install()).preview(SERVICE, dict(record))
        client.close()
    except (TacitError, OSError) as problem:
        return f"nothing would be sent: {problem}"
    return "\n".join([shown.sentence, *map(str, shown.leaves)])


def report(record: Mapping[str, object]) -> str:
    """Send the record of this round if the person agreed, and say what happened; calling it again does no harm."""
    decided = HOME / "telemetry"
    if not decided.exists():
        return "not asked yet"
    if decided.read_text(encoding="utf-8") != "yes":
        return "declined"
    try:
        client = _client()
        client.person(_install()).record(SERVICE, dict(record))
        delivery = client.flush(seconds=SECONDS)
        client.close()
    except (TacitError, OSError) as problem:
        return f"not sent: {problem}"
    if delivery.pending:
        return "waiting"  # offline: the same bytes are sent next time
    return "sent" if delivery.sent else "sent before"


def _client() -> Client:
    HOME.mkdir(parents=True, exist_ok=True)
    return connect(ADDRESS, collection=COLLECTION, store=HOME / "wallet.db", cap=CAP, every=0)


def _install() -> str:
    """Return a random name of this installation that means nothing elsewhere."""
    file = HOME / "install"
    if not file.exists():
        file.write_text(uuid.uuid4().hex, encoding="utf-8")
    return file.read_text(encoding="utf-8")
