"""Make, list and revoke the keys of a collector."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tacit.server.keys import Keys
from tacit.server.log import Log

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("folder", help="the folder of `tacit serve`")
    parser.add_argument("action", choices=["create", "list", "revoke"])
    parser.add_argument("name", nargs="?", default="", help="whose key to create, or the digest of the one to revoke")
    parser.add_argument(
        "--scope",
        action="append",
        default=[],
        help="ingest, query, admin or audit, may be repeated; or sign, for tokens of people",
    )
    parser.add_argument("--origin", default="", help="the page a browser's key is bound to, as https://shop.example")
    parser.add_argument("--service", action="append", default=[], help="a service it may report to; may be repeated")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Do it; a running collector sees it at its next request."""
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys, log = Keys(folder / "keys.json"), Log(folder / "log.db")
    if options.action == "create":
        made = keys.create(options.name, options.scope or ["ingest"], options.origin, options.service)
        log.add("key-created", **keys.listed(made)[0])
        print(json.dumps({"key": made}) if options.json else f"{made}\nThis is shown once. Keep it where it is used.")
        if options.origin and not options.json:
            print(
                "Reports with it need a token of the person, signed on your server with the secret of "
                f"`tacit keys {options.folder} create {options.name} --scope sign`.\nWithout tokens anybody who reads "
                f"the page can report under any id: `tacit serve --allow-without-token {options.name}` allows that."
            )
    elif options.action == "revoke":
        log.add("key-revoked", digest=options.name[:12])
        revoked = keys.revoke(options.name)
        print(json.dumps({"revoked": revoked}) if options.json else f"{revoked} revoked")
    elif options.json:
        print(json.dumps(keys.listed()))
    else:
        for key in keys.listed():
            print(f"{key['digest']}  {key['name']}  {', '.join(key['scopes'])}  {key['origin']}")  # type: ignore[arg-type]
    log.close()
    return 0
