"""Notebooks for JupyterLab and marimo, made from the pages in docs/notebooks: text and Python blocks become cells."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

__all__ = ["files"]

HERE = Path(__file__).parent / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)


def files() -> dict[Path, str]:
    """Return the notebooks of all pages, by path."""
    made: dict[Path, str] = {}
    for page in sorted(HERE.glob("*.md")):
        cells = _cells(page.read_text(encoding="utf-8"))
        made[page.with_suffix(".ipynb")] = _jupyter(cells)
        name = f"{page.stem.replace('-', '_')}_notebook.py"  # `operator` alone would hide Python's own module
        made[HERE / "marimo" / name] = _marimo(cells)
    return made


def _cells(text: str) -> list[tuple[str, str]]:
    """Return a page as cells of kind and text; links to other pages become text, as notebooks lie elsewhere."""
    parts = BLOCK.split(text)
    kinds = ["markdown" if number % 2 == 0 else "code" for number in range(len(parts))]
    plain = [re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", part.strip()) for part in parts]
    return [(kind, part) for kind, part in zip(kinds, plain, strict=True) if part]


def _jupyter(cells: list[tuple[str, str]]) -> str:
    made = []
    for number, (kind, text) in enumerate(cells):
        cell = {
            "cell_type": kind,
            "id": hashlib.sha256(f"{number}{text}".encode()).hexdigest()[:8],
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _marimo(cells: list[tuple[str, str]]) -> str:
    lines = ["import marimo", "", "app = marimo.App()", "", "", "@app.cell", "def _():", "    import marimo as mo"]
    for kind, text in cells:
        body = text if kind == "code" else f"mo.md({json.dumps(text, ensure_ascii=False)})"
        lines += ["", "", "@app.cell", "def _():", *[f"    {line}" if line else "" for line in body.splitlines()]]
    return "\n".join([*lines, "", "", 'if __name__ == "__main__":', "    app.run()"]) + "\n"
