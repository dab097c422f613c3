"""Compute what anyone can learn at most about a person from everything the person sends, exactly."""

from __future__ import annotations

import argparse
import json

from tacit.collection import Collection
from tacit.privacy import decimal_text

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
        channels = [
            {
                "service": item.service,
                "channel": item.channel,
                "reports": item.reports,
                "epsilon": decimal_text(item.epsilon),
                "realised": item.loss,
                "ratio": str(item.ratio),
                "oracle": item.oracle,
                "view": item.view,
                "code": item.code,
                "cells": item.cells,
                "ok": item.ok,
            }
            for item in result.channels
        ]
        total = {"collection": collection.id, "ok": result.ok, "epsilon": decimal_text(result.epsilon)}
        print(json.dumps(total | {"worst_loss": result.worst_loss, "channels": channels}, indent=1))
    else:
        print(f"collection {collection.id}")
        print(result)
    return 0 if result.ok else 1
