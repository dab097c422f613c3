"""The work of `tacit serve`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import errno
import gc
import ipaddress
import math
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from tacit.cli.tls import server_context
from tacit.collection import Collection
from tacit.contract.budget import exact_number
from tacit.engines.failures import opening
from tacit.errors import UsageError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.connections import HttpConnection
from tacit.server.http.request_log import LogFile, journal, say
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys
from tacit.server.metrics import file_limit
from tacit.server.postgres import MOST_CONNECTIONS, Listening
from tacit.server.shared_keys import is_address, open_keys
from tacit.server.store.ledger import declared_total

__all__ = ["is_loopback", "listen", "run", "serve_app"]

SWITCH_SECONDS = 0.001
"""How long a busy thread may hold Python's lock: SQLite releases it at every step, and would wait for it each time."""

MAX_PORT = 65_535

RESERVED_FILES = 64
"""File descriptors reserved for the store, its copies and the log: about 30 are open, an export adds ten."""

OBJECTS = 50_000
"""New objects between garbage collections: a few batches of reports."""


def run(options: argparse.Namespace) -> int:
    """Serve until the process is stopped; every acknowledged report is on disk before that."""
    _check_exposure(options)
    _check_options(options)
    if is_address(options.folder):  # several collectors share the store; the folder is for temporary files only
        options.store, options.folder = options.folder, ""
    read = [Collection.from_file(path) for path in options.collections]  # before anything is created
    HttpConnection.most = _most_connections(0 if options.pg_port is None else MOST_CONNECTIONS)
    with ExitStack() as opened:
        file = opened.enter_context(journal(options.log))
        listening = opened.enter_context(listen(options.host, options.port))
        postgres = None if options.pg_port is None else opened.enter_context(listen(options.host, options.pg_port))
        _reopen_on_hangup(file)
        folder = options.folder or opened.enter_context(tempfile.TemporaryDirectory(prefix="tacit-"))
        _collect(options, Path(folder), read, listening, postgres)
    return 0


def _collect(
    options: argparse.Namespace,
    folder: Path,
    read: list[Collection],
    listening: socket.socket,
    postgres: socket.socket | None,
) -> None:
    """Open the store and serve it."""
    total = _total(options.person_epsilon)
    collector = Collector(folder, options.store, lake=options.lake, person_epsilon=total, snapshot=options.snapshot)
    try:
        collector.inbox.set_quotas(dict(map(_quota, options.quota)))
        with closing(open_keys(folder, options.store)) as keys:
            _publish_and_serve(options, collector, keys, read, listening, postgres)
    finally:
        collector.close()


def _publish_and_serve(
    options: argparse.Namespace,
    collector: Collector,
    keys: Keys,
    read: list[Collection],
    listening: socket.socket,
    postgres: socket.socket | None,
) -> None:
    settings = Settings(
        tokens=frozenset(options.require_token),
        without_token=frozenset(options.allow_without_token),
        deletions_per_minute=options.deletions_per_minute,
        reports_per_second=options.reports_per_second,
        questions_per_minute=options.questions_per_minute,
        question_seconds=options.question_seconds,
        otlp=options.otlp,
    )
    if (options.behind_proxy or not is_loopback(options.host)) and not keys.required:
        message = "A collector that others can reach needs keys. Create some first: tacit keys create."
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
    limit = f"; reports beyond {options.person_epsilon} are refused" if options.person_epsilon else ""
    say(f"a person who reports to every collection spends at most epsilon {declared:g}{limit}")
    app = make_app(collector, keys, settings=settings, postgres=_postgres(options, postgres, keys))
    serve_app(app, listening, options.certificate, options.private_key, drain=options.drain_seconds)


def _postgres(options: argparse.Namespace, listening: socket.socket | None, keys: Keys) -> Listening | None:
    """Return the endpoint for PostgreSQL clients, and print which keys they cannot use."""
    if listening is None:
        return None
    host, port = listening.getsockname()[:2]
    say(f"PostgreSQL clients: host={host} port={port} sslmode={'verify-full' if options.certificate else 'disable'}")
    for name in sorted(keys.without_verifiers()):
        say(f"the key of {name} was made by an earlier version: PostgreSQL clients need a new one")
    context = server_context(options.certificate, options.private_key) if options.certificate else None
    return Listening(listening, context)


def _most_connections(others: int) -> int | None:
    """Return how many connections leave enough file descriptors for the store and for others."""
    limit = file_limit()
    if limit is not None and limit < 2 * RESERVED_FILES:
        message = (
            f"This process may open {limit} files; a collector needs {2 * RESERVED_FILES}. Raise it: ulimit -n 1024."
        )
        raise UsageError(message, code="too-many-files")
    return limit and max(RESERVED_FILES, limit - RESERVED_FILES - others)


def _reopen_on_hangup(file: LogFile | None) -> None:
    """Let SIGHUP reopen the log file, and never stop the process."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: file.reopen() if file else None)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; a port in use or a foreign address is a usage error."""
    if not 0 <= port <= MAX_PORT:
        message = f"The port is {port}; it must be from 0 (any free port) to {MAX_PORT}."
        raise UsageError(message, code="bad-option")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as cause:
        if cause.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use by another program. Choose another one, or 0 for any free port."
            raise UsageError(message, code="port-taken") from None
        message = f"Cannot listen on {host}, port {port}: {cause.strerror}. Check --host and --port."
        raise UsageError(message, code="bad-address") from None


class _Server(uvicorn.Server):
    """Drains for some seconds before it stops, so that load balancers switch; a second signal stops it at once."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None] | None, seconds: float) -> None:
        super().__init__(config)
        self._drain, self._seconds = drain, seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, or begin to drain."""
        drain, self._drain = self._drain, None
        if drain is None:
            super().handle_exit(sig, frame)
            return
        drain()
        timer = threading.Timer(self._seconds, super().handle_exit, (sig, frame))
        timer.daemon = True
        timer.start()


def serve_app(
    app: Starlette,
    listening: socket.socket,
    certificate: str | None = None,
    private_key: str | None = None,
    *,
    drain: float = 0.0,
) -> None:
    """Serve an application until the process is stopped; before that it is not ready for ``drain`` seconds."""
    config = uvicorn.Config(
        app,
        log_level="error",  # malformed requests must not fill the log
        access_log=False,  # it would contain people's addresses
        proxy_headers=False,  # unused, for the same reason
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
        timeout_graceful_shutdown=4,
        http=HttpConnection,
        ws="none",
        server_header=False,
    )
    server = _Server(config, app.state.drain if drain else None, drain)

    def end(*_: object) -> None:
        server.should_exit = True

    for how in (signal.SIGTERM, signal.SIGINT):  # uvicorn stops on them, and raises them again afterwards
        signal.signal(how, end)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # exclude existing objects: scanning them repeatedly would delay reports
    gc.set_threshold(OBJECTS)
    try:
        server.run(sockets=[listening])
    finally:
        gc.unfreeze()


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_options(options: argparse.Namespace) -> None:
    """Refuse rates of zero and unusable certificates, before anything is created."""
    for option in ("deletions_per_minute", "reports_per_second", "questions_per_minute", "question_seconds"):
        value = getattr(options, option)
        if not 0 < value < math.inf:
            message = f"--{option.replace('_', '-')} is {value:g}; it must be a number above 0."
            raise UsageError(message, code="bad-option")
    if not 0 <= options.drain_seconds < math.inf:
        message = f"--drain-seconds is {options.drain_seconds:g}; it must be a number of at least 0."
        raise UsageError(message, code="bad-option")
    if options.private_key and not options.certificate:
        message = "--private-key needs --certificate."
        raise UsageError(message, code="bad-option")
    if options.certificate:
        server_context(options.certificate, options.private_key)
    _total(options.person_epsilon)
    for text in options.quota:
        _quota(text)


def _quota(text: str) -> tuple[str, int]:
    """Return a service and its maximum number of reports per day."""
    service, _, number = text.rpartition("=")
    if not service or not number.isdecimal() or not number.isascii():
        message = "--quota takes a service and a whole number of reports per day, such as users=1000000."
        raise UsageError(message, code="bad-option")
    return service, int(number)


def _total(text: str | None) -> Fraction | None:
    """Return a total epsilon, exactly as written."""
    if text is None:
        return None
    try:
        total = exact_number(text)
    except (ValueError, ZeroDivisionError):
        total = Fraction(0)
    if total <= 0:
        message = "--person-epsilon must be a number above 0, such as 4 or 2.5."
        raise UsageError(message, code="bad-option")
    return total


def _check_exposure(options: argparse.Namespace) -> None:
    """Refuse to send keys and reports over a network without encryption."""
    if not is_loopback(options.host) and not options.certificate and not options.behind_proxy:
        message = "Other machines need TLS. Pass --certificate and --private-key, or --behind-proxy."
        raise UsageError(message, code="no-tls")
    if options.pg_port is not None and not is_loopback(options.host) and not options.certificate:
        message = "--pg-port on a network needs --certificate and --private-key: a proxy for HTTP does not protect it."
        raise UsageError(message, code="no-tls")
