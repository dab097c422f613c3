"""Collect reports and answer questions over HTTP, from one folder."""

from __future__ import annotations

import argparse
import errno
import gc
import ipaddress
import math
import signal
import socket
import ssl
import sys
from fractions import Fraction
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from tacit.cli.tls import server_context
from tacit.collection import Collection
from tacit.engines.failures import opening
from tacit.errors import UsageError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.connections import Connection
from tacit.server.http.request_log import LogFile, journal, say
from tacit.server.http.settings import EVERYBODY, Settings
from tacit.server.keys import Keys
from tacit.server.metrics import file_limit
from tacit.server.store.ledger import declared_total

__all__ = ["configure", "is_loopback", "listen", "run", "serve_app"]

SWITCH_SECONDS = 0.001
"""How long a busy thread keeps Python's lock from the others: SQLite lets go of it at every step, and reports would
wait for it as often."""

MAX_PORT = 65_535

RESERVED_FILES = 64
"""Descriptors that connections leave to the store, its copies and the log: about 30 are open, an export adds ten."""

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
        "--snapshot",
        type=int,
        metavar="N",
        help="answers advance by at least N people at once, so that they state a central epsilon; 0 counts every "
        "report as it comes (default: as before)",
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
    _check_options(options)
    folder = Path(options.folder)
    read = [Collection.from_file(path) for path in options.collections]  # before anything is made
    Connection.most = _most_connections()
    with journal(options.log) as file, listen(options.host, options.port) as listening:
        _reopen_on_hangup(file)
        _collect(options, folder, read, listening)
    return 0


def _collect(options: argparse.Namespace, folder: Path, read: list[Collection], listening: socket.socket) -> None:
    """Open the store and serve it."""
    total = _total(options.person_epsilon)
    collector = Collector(folder, options.store, person_epsilon=total, snapshot=options.snapshot)
    try:
        _publish_and_serve(options, collector, read, listening)
    finally:
        collector.close()


def _publish_and_serve(
    options: argparse.Namespace, collector: Collector, read: list[Collection], listening: socket.socket
) -> None:
    keys = Keys(collector.folder / "keys.json")
    settings = Settings(
        tokens=frozenset(options.require_token),
        without_token=frozenset(options.allow_without_token),
        deletions_per_minute=options.deletions_per_minute,
        reports_per_second=options.reports_per_second,
        questions_per_minute=options.questions_per_minute,
        question_seconds=options.question_seconds,
    )
    if (options.behind_proxy or not is_loopback(options.host)) and not keys.required:
        message = "Beyond this machine a collector needs keys. Make some first: tacit keys create."
        raise UsageError(message, code="no-keys")
    collector.check_keys(has_keys=keys.required)
    with opening(collector.folder / "reports.tacit"):
        for collection in read:
            collector.publish(collection)
    if settings.without_token:
        collector.log.add("tokens-waived", keys=sorted(settings.without_token))
    host, port = listening.getsockname()[:2]
    scheme = "https" if options.certificate else "http"
    say(f"listening on {scheme}://{host}:{port}")
    for name in collector.collections:
        say(f"collecting {name}")
    declared = float(declared_total(collector.collections.values()))
    limit = f"; beyond {options.person_epsilon} reports are refused" if options.person_epsilon else ""
    say(f"a person who reports to everything gives away at most epsilon {declared:g}{limit}")
    app = make_app(collector, keys, settings=settings)
    serve_app(app, listening, options.certificate, options.private_key)


def _most_connections() -> int | None:
    """Return how many connections leave enough descriptors for the store."""
    limit = file_limit()
    if limit is not None and limit < 2 * RESERVED_FILES:
        message = (
            f"This process may open {limit} files; a collector needs {2 * RESERVED_FILES}. Raise it: ulimit -n 1024."
        )
        raise UsageError(message, code="too-many-files")
    return limit and limit - RESERVED_FILES


def _reopen_on_hangup(file: LogFile | None) -> None:
    """Let SIGHUP reopen the log file, and never end the process."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: file.reopen() if file else None)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; a port that is taken or an address that is not of this machine is a usage error."""
    if not 0 <= port <= MAX_PORT:
        message = f"The port is {port}; ports are from 0 (any that is free) to {MAX_PORT}."
        raise UsageError(message, code="bad-option")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as cause:
        if cause.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use by another program. Choose another one, or 0 for any that is free."
            raise UsageError(message, code="port-taken") from None
        message = f"Nothing can listen on {host}, port {port}: {cause.strerror}. Check --host and --port."
        raise UsageError(message, code="bad-address") from None


def serve_app(
    app: Starlette, listening: socket.socket, certificate: str | None = None, private_key: str | None = None
) -> None:
    """Serve an application until the process is told to end."""
    config = uvicorn.Config(
        app,
        log_level="error",  # whoever sends nonsense must not fill the log
        access_log=False,  # it would hold addresses of people
        proxy_headers=False,  # nobody asks for them, for the same reason
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        timeout_graceful_shutdown=4,
        http=Connection,
        ws="none",
        server_header=False,
    )
    server = uvicorn.Server(config)

    def end(*_: object) -> None:
        server.should_exit = True

    for how in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends by them, and raises them once more when it has
        signal.signal(how, end)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is there now stays: looking at it again and again would keep reports waiting
    gc.set_threshold(OBJECTS)
    try:
        server.run(sockets=[listening])
    finally:
        gc.unfreeze()


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_options(options: argparse.Namespace) -> None:
    """Refuse rates that let nobody in, and certificates that cannot be used, before anything is made."""
    for option in ("deletions_per_minute", "reports_per_second", "questions_per_minute", "question_seconds"):
        value = getattr(options, option)
        if not 0 < value < math.inf:
            message = f"--{option.replace('_', '-')} is {value:g}; it must be a number above 0."
            raise UsageError(message, code="bad-option")
    if options.private_key and not options.certificate:
        message = "--private-key needs --certificate."
        raise UsageError(message, code="bad-option")
    if options.certificate:
        server_context(options.certificate, options.private_key)
    _total(options.person_epsilon)


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
    if options.certificate:
        _check_certificate(options.certificate, options.private_key)


def _check_certificate(certificate: str, private_key: str | None) -> None:
    """Refuse a certificate that cannot be used, before anything is opened."""
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, private_key, lambda: "")
    except OSError as cause:
        message = (
            f"The certificate {certificate!r} and its key cannot be used ({type(cause).__name__}). "
            "Both are PEM files that belong together, and the key has no password."
        )
        raise UsageError(message, code="bad-certificate") from None
