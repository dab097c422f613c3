"""Arguments and help of the verbs for operators: collectors, their keys, stores and lakes."""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.server.http.settings import EVERYBODY, Settings

__all__ = ["doctor", "export", "keys", "lake", "restore", "serve"]


def serve(parser: argparse.ArgumentParser) -> None:
    """Collect reports and answer questions over HTTP, from one folder."""
    parser.add_argument("folder", help="folder of the store, created if needed; or a shared postgresql://…")
    parser.add_argument("collections", nargs="*", help="collection files or contracts to publish")
    parser.add_argument("--store", default="", help="postgresql://… to store reports there instead of in the folder")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="port (default 8765); 0 for any free port")
    parser.add_argument(
        "--pg-port", type=int, metavar="PORT", help="also serve PostgreSQL's protocol, read only; 0 for any free port"
    )
    parser.add_argument("--certificate", help="PEM file with the certificate, for TLS")
    parser.add_argument("--private-key", help="PEM file with its key")
    parser.add_argument("--lake", default="", help="folder or s3://… of Parquet files that answer questions")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy in front terminates TLS")
    parser.add_argument("--log", type=Path, metavar="FILE", help="also write a JSON line for each request to this file")
    chosen = Settings()
    parser.add_argument(
        "--require-token",
        action="append",
        default=[],
        metavar="NAME",
        help=f"require a person's token for reports and deletions with keys of this name; {EVERYBODY} for all keys "
        "(may be repeated)",
    )
    parser.add_argument(
        "--allow-without-token",
        action="append",
        default=[],
        metavar="NAME",
        help=f"let browser keys of this name send without tokens: anyone who reads the page can then report under "
        f"any id; {EVERYBODY} for all keys (may be repeated); recorded in the log",
    )
    parser.add_argument(
        "--person-epsilon",
        metavar="EPSILON",
        help="limit on a person's total epsilon over all collections; reports beyond it are refused "
        "(default: what the contracts declare)",
    )
    parser.add_argument(
        "--snapshot",
        type=int,
        metavar="N",
        help="answers advance by at least N people at once, so that they state a central epsilon; 0 counts every "
        "report as it arrives (default: as before)",
    )
    parser.add_argument(
        "--deletions-per-minute",
        type=float,
        default=chosen.deletions_per_minute,
        help="average limit per key, or per person with a token (default %(default)g)",
    )
    parser.add_argument(
        "--reports-per-second",
        type=float,
        default=chosen.reports_per_second,
        help="average limit per key (default %(default)g)",
    )
    parser.add_argument(
        "--questions-per-minute",
        type=float,
        default=chosen.questions_per_minute,
        help="average limit per key (default %(default)g)",
    )
    slow = "time limit of a question (default %(default)g)"
    parser.add_argument("--question-seconds", type=float, default=chosen.question_seconds, help=slow)
    quota = "maximum reports of a service stored per day (UTC), over all collectors of a store (may be repeated)"
    parser.add_argument("--quota", action="append", default=[], metavar="SERVICE=N", help=quota)
    otlp = "address that gets traces and metrics by OTLP over HTTP, such as http://127.0.0.1:4318 (default: none)"
    parser.add_argument("--otlp", default="", metavar="URL", help=otlp)
    drain = "seconds to keep answering after SIGTERM, with /readyz at 503, for load balancers (default 0)"
    parser.add_argument("--drain-seconds", type=float, default=0.0, help=drain)


def keys(parser: argparse.ArgumentParser) -> None:
    """Create, list and revoke the keys of a collector."""
    parser.add_argument("folder", help="the folder of `tacit serve`, or postgresql://… that collectors share")
    parser.add_argument("action", choices=["create", "list", "revoke"])
    parser.add_argument("name", nargs="?", default="", help="name of the key to create, or digest of the key to revoke")
    parser.add_argument(
        "--scope",
        action="append",
        default=[],
        help="ingest, query, admin, audit or watch (may be repeated); or sign, for tokens",
    )
    parser.add_argument(
        "--origin", default="", help="origin that a browser key is bound to, such as https://shop.example"
    )
    parser.add_argument(
        "--service", action="append", default=[], help="a service the key may report to (may be repeated)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def doctor(parser: argparse.ArgumentParser) -> None:
    """Check what a collector needs: disk, clock, files, contracts, keys, address, Java; with a fix for each problem."""
    parser.add_argument("folder", help="the folder of `tacit serve`, or postgresql://…; nothing in it is changed")
    parser.add_argument("files", nargs="*", help="collection files or contracts to check before publishing")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--certificate", help="PEM file with the certificate")
    parser.add_argument("--private-key", help="PEM file with its key")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy in front terminates TLS")
    parser.add_argument("--verify", action="store_true", help="read all reports and check their digests")
    parser.add_argument("--reports", action="store_true", help="look for reports that honest devices would hardly send")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def export(parser: argparse.ArgumentParser) -> None:
    """Write a whole store to one file: of a folder, a database file, or a running collector."""
    parser.add_argument(
        "store", help="a folder of `tacit serve`, a database file, or the address of a running collector"
    )
    parser.add_argument("file", type=Path, help="the archive to write; it must not exist")
    parser.add_argument(
        "--key", help="an admin key of the running collector; better in TACIT_KEY, since everybody can list processes"
    )
    parser.add_argument("--key-file", help="a file that holds the key (default: TACIT_KEY or TACIT_KEY_FILE)")
    parser.add_argument("--lake", default="", help="the lake of a folder whose reports are in one; it is not copied")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def restore(parser: argparse.ArgumentParser) -> None:
    """Restore a store from an archive that `tacit export` wrote; existing files are not changed."""
    parser.add_argument("file", type=Path, help="the archive")
    parser.add_argument("store", type=Path, help="the folder or database file to create")
    parser.add_argument(
        "--deletions",
        type=Path,
        metavar="LOG",
        help="a later log (from GET /v1/log): repeat its deletions of people and of keys",
    )
    parser.add_argument("--lake", default="", help="the lake of the archived store, restored before, for --deletions")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def lake(parser: argparse.ArgumentParser) -> None:
    """List, verify, back up or restore the versions of a lake of Parquet files."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    listed = actions.add_parser("versions", help="list the readable versions, with their reports and files")
    verified = actions.add_parser("verify", help="read all files and compare their digests with the manifests")
    copied = actions.add_parser("backup", help="copy files that a backup lacks; remove versions before a deletion")
    restored = actions.add_parser("restore", help="copy one version of a backup to an empty place")
    for action in (listed, verified, copied, restored):
        action.add_argument("lake", help="folder, or s3://…, of a lake or of its backup")
        action.add_argument("--json", action="store_true", help="print the result as JSON")
    for action in (copied, restored):
        action.add_argument("target", help="folder, or s3://…, to copy to")
    which = restored.add_mutually_exclusive_group()
    which.add_argument("--version", type=int, help="number of the version (default: the newest)")
    which.add_argument("--time", help="the last version at this time: ISO 8601, UTC unless it has an offset")
