"""Write the generated pages of the documentation; a test requires them to be current."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

from tacit import cli
from tacit.layouts import LAYOUTS
from tacit.oracles import ORACLES

HERE = Path(__file__).parent / "reference"
MADE = "<!-- Made by docs/generate.py; run `make docs`. -->\n\n"


def mechanisms() -> str:
    """Return the cards of all oracles and layouts, as their modules state them."""
    parts = ["# Mechanisms\n", "## Oracles\n"]
    for name, kind in ORACLES.items():
        parts.append(f"### {name}\n\n```text\n{inspect.getdoc(inspect.getmodule(kind))}\n```\n")
    parts.append("## Layouts\n")
    modules = {inspect.getmodule(layout): None for layout in LAYOUTS.values()}
    for module in modules:
        names = [name for name, layout in LAYOUTS.items() if inspect.getmodule(layout) is module]
        parts.append(f"### {', '.join(names)}\n\n```text\n{inspect.getdoc(module)}\n```\n")
    return MADE + "\n".join(parts)


def command_line() -> str:
    """Return the help texts of the command and its verbs."""
    os.environ["COLUMNS"] = "100"
    parser = cli._parser()  # noqa: SLF001
    [verbs] = [action for action in parser._actions if action.dest == "verb"]  # noqa: SLF001
    parts = [f"# Command line\n\n```text\n{parser.format_help()}```\n"]
    for name, verb in verbs.choices.items():  # type: ignore[union-attr]
        parts.append(f"## tacit {name}\n\n```text\n{verb.format_help()}```\n")
    return MADE + "\n".join(parts)


PAGES = {"mechanisms.md": mechanisms, "cli.md": command_line}

if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (HERE / name).write_text(page())
