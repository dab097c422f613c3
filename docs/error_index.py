"""The error index: every code of the product, where it is raised, and what it says there.

Codes and messages are read from the sources, and rules from the wire format, so that none can be missing; `errors.toml`
adds what the sources do not say where an error is made.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

__all__ = ["index", "page", "written_codes"]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tacit"
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)+")
MOST = 5
"""Messages of a code that are shown."""
FEW = 20
"""Letters of a text that says less than its code."""


def _text(node: ast.expr | None, line: int, known: list[tuple[int, str, ast.expr]]) -> str:
    """Return a message as it is written, with … for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, line, known) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, line, known) + _text(node.right, line, known)
    if isinstance(node, ast.Name):  # the last assignment before the error
        values = [value for where, name, value in known if name == node.id and where <= line]
        return _text(values[-1], line, []) if values else ""
    return ""


def _errors(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield code and message of each error that a module makes."""
    nodes = list(ast.walk(tree))
    known = sorted(
        (
            (node.lineno, target.id, node.value)
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ),
        key=lambda assigned: assigned[0],
    )
    for node in nodes:
        if isinstance(node, ast.Call):
            named = {word.arg: word.value for word in node.keywords}
            first = node.args[0] if node.args else None
            for code in _constants(named.get("code")):
                yield code, _text(first, node.lineno, known)
            for code in (part.value for part in node.args if _is_code(part)):
                yield code, max((_text(part, node.lineno, known) for part in node.args), key=_letters)
        if isinstance(node, ast.ClassDef):
            yield from ((code, ast.get_docstring(node) or "") for code in _default_codes(node))


def _constants(node: ast.expr | None) -> Iterator[str]:
    """Yield the texts that an expression can be, as far as they are written there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.IfExp):
        yield from (*_constants(node.body), *_constants(node.orelse))


def _is_code(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and bool(CODE.fullmatch(str(node.value)))


def _letters(text: str) -> int:
    return len(re.findall(r"[a-z ]", text))


def _default_codes(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        if (
            isinstance(line, ast.Assign)
            and isinstance(line.targets[0], ast.Name)
            and line.targets[0].id == "default_code"
        ):
            yield from _constants(line.value)


@cache
def messages() -> dict[str, list[str]]:
    """Return what the package says with each code, as far as it is written where the error is made."""
    made: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for code, message in _errors(ast.parse(path.read_text(encoding="utf-8"))):
            made.setdefault(code, set()).add(" ".join(message.split()))
    return {code: sorted(text for text in texts if _letters(text) > FEW) for code, texts in made.items()}


def rules() -> dict[str, str]:
    """Return the rules that contracts satisfy, as the wire format lists them."""
    text = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", text, re.MULTILINE))


def written_codes() -> set[str]:
    """Return every text in the sources that looks like a code, and every code of one word."""
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "sdk" / "typescript" / "src").rglob("*.ts")]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    return {match[1] for text in texts for match in re.finditer(rf'"({CODE.pattern})"', text)} | set(messages())


def index() -> dict[str, list[str]]:
    """Return what is said of each code: by the sources, then by the table and the rules."""
    table = tomllib.loads((ROOT / "docs" / "errors.toml").read_text(encoding="utf-8"))
    said = {code: texts for code, texts in messages().items() if code not in table["other"]["names"]}
    for code, text in table["codes"].items():
        said[code] = [text, *said.get(code, [])]
    for code, text in rules().items():
        said[code] = [*said.get(code, []), f"Rule of contracts ([wire format](../wire.md)): {text}."]
    return dict(sorted(said.items()))


def _linked(text: str) -> str:
    """Return a message as Markdown: its own signs escaped, the glossary's terms as links."""
    escaped = re.sub(r"([|<*_])", r"\\\1", text)
    return re.sub(r"\(docs/glossary\.md#([a-z-]+)\)", r"([\1](../glossary.md#\1))", escaped)


def page() -> str:
    """Return the page of all codes."""
    lines = [
        "# Errors",
        "",
        "Every error of the package, the collector, the command line and the clients has a stable code: `error.code`",
        "in Python and TypeScript, `code` in problem+json, in brackets on the command line, in the detail of",
        "PostgreSQL's errors. The wording may change, the code does not. Each line says what is wrong, what is allowed",
        "and what to do; … stands for a name or number. No message ever shows a record's value.",
        "",
        "| code | cause and fix |",
        "|---|---|",
    ]
    for code, texts in index().items():
        shown = [text if "](" in text else _linked(text) for text in texts[:MOST]]
        more = f"<br>… and {len(texts) - MOST} more, which name the option" if len(texts) > MOST else ""
        lines.append(f'| <a id="{code}"></a>`{code}` | {"<br>".join(shown)}{more} |')
    return "\n".join(lines) + "\n"
