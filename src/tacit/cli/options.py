"""Arguments and help of each verb: standard library only, so that help is printed before anything is loaded.

A function per module of `tacit.cli` that does the work; its docstring is the verb's summary.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.remote.address import KEY, KEY_FILE
from tacit.server.http.settings import EVERYBODY, Settings

__all__ = [
    "advise",
    "audit",
    "demo",
    "doctor",
    "encode",
    "export",
    "init",
    "keys",
    "lake",
    "load",
    "marginal",
    "mcp",
    "plan",
    "query",
    "release",
    "restore",
    "serve",
    "shell",
    "synthesize",
]


def demo(parser: argparse.ArgumentParser) -> None:
    """Encode a synthetic town, show what devices send, ask five questions, and serve the screens."""
    parser.add_argument("--people", type=int, default=500_000, help="people in the synthetic town (default 500000)")
    parser.add_argument("--epsilon", default="4", help="budget per person over all three services (default 4)")
    parser.add_argument(
        "--serve",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="then serve the screens on this machine (default: on a terminal)",
    )
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="open the screens in a browser (default: on a terminal, if there is a browser)",
    )
    parser.add_argument("--port", type=int, default=8765, help="port of the screens (default 8765); 0 for any")
    parser.add_argument(
        "--attack", action="store_true", help="instead: show what one report per row reveals, and that tacit does not"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and serve only with --serve")


def init(parser: argparse.ArgumentParser) -> None:
    """Write a collection file to start from, proposed from tables, with the accuracy to expect at their size."""
    parser.add_argument(
        "file", help="a table (.parquet, .csv, .jsonl) to propose a collection from; or the file to write (.toml)"
    )
    parser.add_argument(
        "tables", nargs="*", metavar="table", help="more tables, or service=table to choose a service's name"
    )
    parser.add_argument("--out", metavar="FILE", help="the collection file to write (default: TABLE.toml here)")
    parser.add_argument("--key", metavar="COLUMN", help="the column that identifies the person (default: detected)")
    parser.add_argument("--epsilon", default="2", help="budget per person over all services (default 2)")
    parser.add_argument("--plot", metavar="FILE", help="also write a chart of the expected accuracy (SVG)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def plan(parser: argparse.ArgumentParser) -> None:
    """Predict how accurate the answer to a question would be, before anything is collected."""
    parser.add_argument("file", help="a collection file (.toml, .json) or a contract (.json)")
    parser.add_argument(
        "question", nargs="?", help="SELECT … FROM service …; without one, ten likely questions, each with a verdict"
    )
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--users", type=int, help="people expected to report (default 100000)")
    asked.add_argument("--error", type=float, help="instead: predict how many people give this standard error")
    asked.add_argument("--relative", type=float, help="the same, for an error relative to the value")
    parser.add_argument("--like", help="a sample table of the service, to estimate frequencies from")
    parser.add_argument("--plot", metavar="FILE", help="without a question: also chart the expected accuracy (SVG)")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument(
        "--budgets",
        action="store_true",
        help="instead: list several budgets with both privacy losses and the predicted margin",
    )
    parser.add_argument("--alike", type=int, metavar="N", help="people of the smallest class by public columns")
    parser.add_argument(
        "--sql", action="store_true", help="instead: print SQL that encodes the tables and estimates the answer"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def audit(parser: argparse.ArgumentParser) -> None:
    """Compute exactly the most that anyone can learn about a person from everything the person sends."""
    parser.add_argument("files", nargs="*", metavar="file", help="contracts (.json) or collection files (.toml)")
    parser.add_argument(
        "--trials", type=float, metavar="N", help="also encode N people of each kind, and test the output"
    )
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write an evidence folder: a page, JSON, the contracts and the log"
    )
    parser.add_argument(
        "--people", type=int, metavar="N", help="people who report; also bound what readers of answers learn"
    )
    parser.add_argument("--delta", type=float, default=1e-8, help="probability that this bound fails (default 1e-8)")
    parser.add_argument("--alike", type=int, metavar="N", help="people of the smallest class by public columns")
    parser.add_argument("--known", type=int, default=0, metavar="N", help="people whose reports a reader may know")
    parser.add_argument("--store", metavar="FOLDER", help="folder of `tacit serve`, or postgresql://…, for its log")
    parser.add_argument("--verify", type=Path, metavar="DIR", help="verify every claim of an evidence folder")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def encode(parser: argparse.ArgumentParser) -> None:
    """Perturb tables according to a collection, and write a contract and one Parquet file per service."""
    parser.add_argument("file", help="a collection file (.toml, .json) or a contract (.json)")
    parser.add_argument(
        "tables", nargs="+", metavar="service=table", help="a Parquet, CSV or .jsonl file for each service"
    )
    parser.add_argument("--out", required=True, help="new or empty folder for contract.json and the reports")
    parser.add_argument(
        "--prepare",
        action="store_true",
        help="first leave out undeclared columns and rows without a key, and number rows; prints each change",
    )
    _coin_key(parser, "created if it does not exist")
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


def load(parser: argparse.ArgumentParser) -> None:
    """Store encoded reports in a database file; a person's second report is refused and counted."""
    parser.add_argument("database", help="a database file; created if it does not exist")
    parser.add_argument("folders", nargs="+", help="folders that `tacit encode` wrote")
    _coin_key(parser, "the file that `tacit encode` used")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _coin_key(parser: argparse.ArgumentParser, which: str) -> None:
    parser.add_argument(
        "--coin-key", type=Path, metavar="FILE", help=f"the key that assigns views, where the contract says so: {which}"
    )


def query(parser: argparse.ArgumentParser) -> None:
    """Ask a question in SQL of a database or a running collector; every aggregate comes with its error."""
    parser.add_argument(
        "database", help="a database file that `tacit load` wrote, a release (.parquet), or a collector (https://…)"
    )
    parser.add_argument("question", help="SELECT … FROM service …")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--decoder", default="blue", help="blue (default), cover or rdc")
    parser.add_argument(
        "--simultaneous", action="store_true", help="make all intervals hold simultaneously (Bonferroni)"
    )
    parser.add_argument(
        "--consistent",
        action="store_true",
        help="post-process: counts add up and are never negative, any attributes; biased",
    )
    parser.add_argument("--plot", metavar="FILE", help="also write a chart of the first estimates (SVG)")
    parser.add_argument("--explain", action="store_true", help="also print the SQL that the engine ran")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    _key_file(parser)


def marginal(parser: argparse.ArgumentParser) -> None:
    """Print the table of some attributes of a service: how many people have each combination of values."""
    parser.add_argument("database", help="a database file that `tacit load` wrote, or a collector (https://…)")
    parser.add_argument("attributes", nargs="+", help="sensitive attributes of one service")
    parser.add_argument("--service", help="needed if several services have these attributes")
    parser.add_argument("--method", help="fit (default), calm, linear, em or uniform")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--plot", metavar="FILE", help="also write a chart (SVG); two attributes give a heat map")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    _key_file(parser)


def synthesize(parser: argparse.ArgumentParser) -> None:
    """Write synthetic rows that follow the marginals of a service, as Parquet or CSV."""
    parser.add_argument("database", help="a database file that `tacit load` wrote, or a collector (https://…)")
    parser.add_argument("out", help="a new file, .parquet or .csv")
    parser.add_argument("--rows", type=int, default=10_000, help="number of rows (default 10,000)")
    parser.add_argument("--seed", type=int, help="seed, to get the same rows again")
    parser.add_argument("--service", help="needed if several services have reports")
    parser.add_argument("--method", help="fit (default), calm, em or uniform")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    _key_file(parser)


def shell(parser: argparse.ArgumentParser) -> None:
    """Ask questions one after the other, each ending with ; or an empty line; .help says more, Ctrl-D ends."""
    parser.add_argument("database", help="a database file that `tacit load` wrote, or a collector (https://…)")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--json", action="store_true", help="print answers as JSON")
    _key_file(parser)


def mcp(parser: argparse.ArgumentParser) -> None:
    """Let an agent ask questions: a server of the Model Context Protocol on standard input and output."""
    parser.add_argument("database", help="a database file that `tacit load` wrote, or a collector (https://…)")
    _key_file(parser)


def _key_file(parser: argparse.ArgumentParser) -> None:
    """Declare where a collector's key is; on a command line every user of the machine would see it."""
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        help=f"file with the key of a collector (default: ${KEY_FILE}, or the key in ${KEY})",
    )


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
    parser.add_argument("--key", default="", help="an admin key of the running collector")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def restore(parser: argparse.ArgumentParser) -> None:
    """Restore a store from an archive that `tacit export` wrote; existing files are not changed."""
    parser.add_argument("file", type=Path, help="the archive")
    parser.add_argument("store", type=Path, help="the folder or database file to create")
    parser.add_argument(
        "--deletions", type=Path, metavar="LOG", help="a later log (from GET /v1/log) whose deletions to repeat"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def release(parser: argparse.ArgumentParser) -> None:
    """Publish a private histogram of a table once: charge its ledger, draw the noise, write the release."""
    parser.add_argument("table", help="a Parquet or CSV file with one row for each person")
    parser.add_argument("--epsilon", required=True, help="budget of this release")
    parser.add_argument(
        "--method", default="auto", help="auto, blue, adaptive, kdtree, hierarchical, cells, marginals (default auto)"
    )
    parser.add_argument("--collection", help="collection file that declares the columns (default: TABLE.toml)")
    parser.add_argument("--service", help="service of the collection file, if it has several")
    parser.add_argument("--ledger", help="ledger of these people (default: TABLE.ledger); created if missing")
    parser.add_argument("--budget", help="total budget of a new ledger (default: the epsilon of this release)")
    parser.add_argument("--out", help="file to write (default: TABLE.release.parquet); must not exist yet")
    parser.add_argument("--count-threshold", type=float, help="kdtree: split boxes with more people than this")
    parser.add_argument("--uneven-threshold", type=float, help="kdtree: split boxes that are more uneven than this")
    parser.add_argument("--height", type=int, help="hierarchical: levels of the tree (default 13)")
    parser.add_argument("--noise", help="marginals: laplace (default), or gaussian with --delta")
    parser.add_argument("--delta", help="of Gaussian noise: the probability that epsilon fails, such as 1e-9")
    parser.add_argument("--synthetic", metavar="FILE", help="also write synthetic rows (.parquet)")
    parser.add_argument(
        "--compare", metavar="COLUMN", help="also chart COLUMN beside the raw data, for the curator only"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def advise(parser: argparse.ArgumentParser) -> None:
    """Recommend a method, a budget and a number of people for a release; reads no private data."""
    parser.add_argument("collection", help="a collection file (.toml, .json) that declares the columns")
    parser.add_argument("--service", help="service of the collection file, if it has several")
    parser.add_argument("--epsilon", default="1", help="budget of the release (default 1)")
    parser.add_argument(
        "--rows", type=int, default=100_000, help="approximate number of people in the table (default 100000)"
    )
    parser.add_argument("--prior", type=float, default=0.01, help="an attacker's prior belief (default 0.01)")
    parser.add_argument("--queries", type=int, default=1, help="releases or answers about the same people (default 1)")
    parser.add_argument("--error", type=float, default=0.01, help="relative error to reach (default 0.01)")
    parser.add_argument("--delta", type=float, default=0.05, help="probability of a larger error (default 0.05)")
    parser.add_argument("--like", help="a similar table that is not private, to try all methods on")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
