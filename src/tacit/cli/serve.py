"""Collect reports and answer questions over HTTP, from one folder."""

from __future__ import annotations

import argparse
import gc
import ipaddress
import signal
import socket
import sys
from fractions import Fraction
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from tacit.collection import Collection
from tacit.errors import UsageError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.connections import Connection
from tacit.server.journal import Requests, journal
from tacit.server.keys import Keys
from tacit.server.ledger import declared_total
from tacit.server.settings import EVERYBODY, Settings

__all__ = ["configure", "is_loopback", "run", "serve_app"]

SWITCH_SECONDS = 0.001
"""How long a busy thread keeps Python's lock from the others: SQLite lets go of it at every step, and reports would
wait for it as often."""

OBJECTS = 50_000
"""New objects until those that refer to each other are looked for: a few batches of reports."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("folder", help="where everything is kept; it is made if it does not exist")
    parser.add_argument("collections", nargs="*", help="collection files or contracts to publish")
    parser.add_argument("--store", default="", help="postgresql://… to keep reports there instead of in the folder")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="port (default 8765); 0 for any that is free")
    parser.add_argument("--certificate", help="PEM file with the certificate, for TLS")
    parser.add_argument("--private-key", help="PEM file with its key")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy in front of this does TLS")
    parser.add_argument("--log", type=Path, metavar="FILE", help="also write a JSON line for each request to a file")
    chosen = Settings()
    parser.add_argument(
        "--require-token",
        action="append",
        default=[],
        metavar="NAME",
        help=f"keys of this name send and delete only with tokens of people; {EVERYBODY} for all keys; may be repeated",
    )
    parser.add_argument(
        "--allow-without-token",
        action="append",
        default=[],
        metavar="NAME",
        help=f"browsers' keys of this name send without tokens of people: whoever reads the page can then report under "
        f"any id; {EVERYBODY} for all; may be repeated; the log is told",
    )
    parser.add_argument(
        "--person-epsilon",
        metavar="EPSILON",
        help="what a person may give away over all collections: reports that would exceed it are refused "
        "(default: what the contracts declare)",
    )
    parser.add_argument(
        "--deletions-per-minute",
        type=float,
        default=chosen.deletions_per_minute,
        help="of one key, or of one person with a token, on average (default %(default)g)",
    )
    parser.add_argument(
        "--reports-per-second",
        type=float,
        default=chosen.reports_per_second,
        help="of one key, on average (default %(default)g)",
    )
    parser.add_argument(
        "--questions-per-minute",
        type=float,
        default=chosen.questions_per_minute,
        help="of one key, on average (default %(default)g)",
    )
    parser.add_argument(
        "--question-seconds",
        type=float,
        default=chosen.question_seconds,
        help="after which a question is interrupted (default %(default)g)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the process is told to end; what was acknowledged is on disk before that."""
    _check_exposure(options)
    folder = Path(options.folder)
    read = [Collection.from_file(path) for path in options.collections]  # before anything is made
    collector = Collector(folder, options.store, person_epsilon=_total(options.person_epsilon))
    keys = Keys(folder / "keys.json")
    settings = Settings(
        tokens=frozenset(options.require_token),
        without_token=frozenset(options.allow_without_token),
        deletions_per_minute=options.deletions_per_minute,
        reports_per_second=options.reports_per_second,
        questions_per_minute=options.questions_per_minute,
        question_seconds=options.question_seconds,
    )
    if (options.behind_proxy or not is_loopback(options.host)) and not keys.required:
        collector.close()
        message = "Beyond this machine a collector needs keys. Make some first: tacit keys create."
        raise UsageError(message, code="no-keys")
    for collection in read:
        collector.publish(collection)
    if settings.without_token:
        collector.log.add("tokens-waived", keys=sorted(settings.without_token))
    listening = socket.create_server((options.host, options.port))
    host, port = listening.getsockname()[:2]
    scheme = "https" if options.certificate else "http"
    print(f"listening on {scheme}://{host}:{port}", flush=True)
    for name in collector.collections:
        print(f"collecting {name}", flush=True)
    declared = float(declared_total(collector.collections.values()))
    limit = f"; beyond {options.person_epsilon} reports are refused" if options.person_epsilon else ""
    print(f"a person who reports to everything gives away at most epsilon {declared:g}{limit}", flush=True)
    app = make_app(collector, keys, settings=settings)
    app.add_middleware(Requests)
    try:
        with journal(options.log):
            serve_app(app, listening, options.certificate, options.private_key)
    finally:
        collector.close()
    return 0


def serve_app(
    app: Starlette, listening: socket.socket, certificate: str | None = None, private_key: str | None = None
) -> None:
    """Serve an application until the process is told to end."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # it would hold addresses of people
        proxy_headers=False,  # nobody asks for them, for the same reason
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        timeout_graceful_shutdown=4,
        http=Connection,
        ws="none",
        server_header=False,
    )
    for how in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends by them, and raises them once more when it has
        signal.signal(how, lambda *_: None)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is there now stays: looking at it again and again would keep reports waiting
    gc.set_threshold(OBJECTS)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        gc.unfreeze()


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _total(text: str | None) -> Fraction | None:
    """Return a total of epsilon, exactly as it was written."""
    if text is None:
        return None
    try:
        total = Fraction(text)
    except (ValueError, ZeroDivisionError):
        total = Fraction(0)
    if total <= 0:
        message = "--person-epsilon is a number above 0, such as 4 or 2.5."
        raise UsageError(message, code="bad-option")
    return total


def _check_exposure(options: argparse.Namespace) -> None:
    """Refuse to send keys and reports over a network in the clear."""
    if not is_loopback(options.host) and not options.certificate and not options.behind_proxy:
        message = "Beyond this machine give --certificate and --private-key, or --behind-proxy if a proxy does TLS."
        raise UsageError(message, code="no-tls")
