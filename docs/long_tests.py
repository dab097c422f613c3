"""What `make test` leaves to `make test-all`: found in the sources of the tests, so that nothing moves unsaid."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

Row = tuple[str, str, str, str]
"""A file, what is tried, how much of it in `make test`, and in `make test-all`."""

IN_TYPESCRIPT = re.compile(r'howMany\(([\d_]+), ([\d_]+), "([^"]+)"\)')


def _of_python(path: Path) -> Iterator[Row]:
    name = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called, given = ast.unparse(node.func), [ast.unparse(one) for one in node.args]
        what = str(getattr(node.args[-1], "value", "")) if node.args else ""
        if called == "how_many":
            yield name, what, f"{int(given[0]):,}", f"{int(given[1]):,}"
        elif called == "keeping":
            kept = f"{len(node.args[0].elts)}" if isinstance(node.args[0], ast.List) else "some"
            yield name, what, kept, "all"
        elif called == "pytest.mark.long" and what:
            yield name, what, "none", "all"


def rows() -> list[Row]:
    """Return what is tried less often, or not at all, in `make test`."""
    python = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "tiers.py"]
    found = [row for path in sorted(python) for row in _of_python(path)]
    for path in sorted((ROOT / "sdk" / "typescript" / "test").glob("*.test.ts")):
        for short, long, what in IN_TYPESCRIPT.findall(path.read_text(encoding="utf-8")):
            found.append((path.relative_to(ROOT).as_posix(), what, f"{int(short):,}", f"{int(long):,}"))
    return found


def page() -> str:
    """Return the list as a page."""
    text = [
        "# Long tests\n",
        "`make test` has one of every kind and few repetitions; `make test-all` asserts the same of more. What",
        "`make test` has fewer of, or leaves out, as the sources of the tests say (`tests/support/tiers.py`);",
        "the last result of `make test-all` is in `docs/reference/test-all.json`, which the target writes itself.\n",
        "| test file | what is tried | `make test` | `make test-all` |",
        "|---|---|--:|--:|",
    ]
    text += [f"| `{file}` | {what} | {short} | {long} |" for file, what, short, long in rows()]
    return "\n".join(text) + "\n"
