"""Arguments and help of each verb: standard library only, so that help is printed before anything is loaded.

A function per module of `tacit.cli` that does the work; its docstring is the verb's summary. Those for operators are in
`tacit.cli.operator_options`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.adapters.remote.address import KEY, KEY_FILE
from tacit.cli.operator_options import doctor, export, keys, lake, restore, serve

__all__ = [
    "advise",
    "audit",
    "bench",
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
    exclusive = parser.add_mutually_exclusive_group()
    exclusive.add_argument("--users", type=int, help="people expected to report (default 100000)")
    exclusive.add_argument("--error", type=float, help="instead: predict how many people give this standard error")
    exclusive.add_argument("--relative", type=float, help="the same, for an error relative to the value")
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


def bench(parser: argparse.ArgumentParser) -> None:
    """Measure on this machine how fast reports are encoded and questions answered, and whether intervals hold."""
    parser.add_argument("--people", type=int, default=50_000, help="people in the synthetic town (default 50000)")
    parser.add_argument("--epsilon", default="4", help="budget per person over all three services (default 4)")
    parser.add_argument("--encodings", type=int, default=20, help="times that they are encoded (default 20)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def release(parser: argparse.ArgumentParser) -> None:
    """Publish a private histogram of a table once: charge its ledger, draw the noise, write the release."""
    parser.add_argument("table", help="a Parquet or CSV file with one row for each person")
    parser.add_argument("--epsilon", required=True, help="budget of this release")
    parser.add_argument(
        "--method",
        default="auto",
        help="auto, blue, adaptive, kdtree, hierarchical, cells, marginals, multiscale (default auto)",
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
