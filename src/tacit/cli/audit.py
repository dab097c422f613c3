"""Compute what anyone can learn at most about a person from everything the person sends, exactly."""

from __future__ import annotations

import argparse
import json

from tacit.collection import Collection

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="a contract (.json) or a collection file (.toml)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the audit; exit code 1 if it fails."""
    collection = Collection.from_file(options.file)
    result = collection.audit()
    if options.json:
        print(json.dumps({"collection": collection.id} | result.to_data(), indent=1))
    else:
        print(f"collection {collection.id}")
        print(result)
    return 0 if result.ok else 1
