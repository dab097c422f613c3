"""Write the generated pages of the documentation; a test requires them to be current."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from docs import error_index, long_tests, notebooks, rooms
from tacit.central import METHODS
from tacit.cli.command import parser as command_parser
from tacit.contract.layouts import LAYOUTS
from tacit.contract.oracles import ORACLES

HERE = Path(__file__).parent / "reference"
MADE = "<!-- Made by docs/generate.py; run `make docs`. -->\n\n"


def mechanisms() -> str:
    """Return the cards of all oracles, layouts and methods of release, as their modules state them."""
    parts = ["# Mechanisms\n", "## Oracles\n"]
    for name, kind in ORACLES.items():
        parts.append(f"### {name}\n\n```text\n{inspect.getdoc(inspect.getmodule(kind))}\n```\n")
    parts.append("## Layouts\n")
    homes = {name: inspect.getmodule(getattr(layout, "func", layout)) for name, layout in LAYOUTS.items()}
    for module in dict.fromkeys(homes.values()):
        names = [name for name, home in homes.items() if home is module]
        parts.append(f"### {', '.join(names)}\n\n```text\n{inspect.getdoc(module)}\n```\n")
    parts.append("## Releases by a trusted curator\n")
    for name, method in METHODS.items():
        parts.append(f"### {name}\n\n```text\n{inspect.getdoc(inspect.getmodule(method))}\n```\n")
    return MADE + "\n".join(parts)


def _help(parser: argparse.ArgumentParser) -> str:
    """Return a help text of one width, whatever the terminal's."""
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)  # type: ignore[assignment]
    return parser.format_help()


def command_line() -> str:
    """Return the help texts of the command and its verbs."""
    parser = command_parser()
    [verbs] = [action for action in parser._actions if action.dest == "verb"]  # noqa: SLF001
    parts = [f"# Command line\n\n```text\n{_help(parser)}```\n"]
    for name, verb in verbs.choices.items():  # type: ignore[union-attr]
        parts.append(f"## tacit {name}\n\n```text\n{_help(verb)}```\n")
    return MADE + "\n".join(parts)


def architecture() -> str:
    """Return the page about the rooms of the package, from the list of layers that a test enforces."""
    text = [
        "# Architecture\n",
        "The package has thirteen rooms and a few files that users name. A room imports from itself and from rooms",
        "that are listed before it; `tests/structure` enforces the list, `docs/layers.toml`. `contract` is what a",
        "privacy review must read; `client` reads a JSON contract alone, with the standard library.\n",
        "![Rooms, and what imports what](../rooms.svg)\n",
    ]
    for number, layer in enumerate(rooms.layers(), 1):
        text += [f"{number}. {'; '.join(f'**{room}**: {purpose}' for room, purpose in layer.items())}."]
    counts = ", ".join(f"{value} {name}" for name, value in rooms.numbers().items())
    text += [f"\nIn numbers: {counts}. Edges are implied by longer paths unless they are in the drawing.\n"]
    return MADE + "\n".join(text)


def list_of_long_tests() -> str:
    """Return what `make test` leaves to `make test-all`."""
    return MADE + long_tests.page()


def errors() -> str:
    """Return every code of the product, with causes and fixes."""
    return MADE + error_index.page()


PAGES = {
    "errors.md": errors,
    "mechanisms.md": mechanisms,
    "cli.md": command_line,
    "architecture.md": architecture,
    "long-tests.md": list_of_long_tests,
}


def main() -> None:
    """Write the named pages of docs/reference, or everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", choices=[*PAGES, []], help="default: these, the drawing and the notebooks")
    named = parser.parse_args().pages
    HERE.mkdir(exist_ok=True)
    for name in named or PAGES:
        (HERE / name).write_text(PAGES[name](), encoding="utf-8")
    if not named:
        (HERE.parent / "rooms.svg").write_text(rooms.graph(), encoding="utf-8")
        for path, text in notebooks.files().items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
