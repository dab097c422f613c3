"""The rooms of the package, counted and drawn: which one imports from which.

```text
python -m docs.rooms                # names at the root, layers, edges
python -m docs.rooms --svg FILE     # the graph of rooms
```

How many functions of how many rooms a question or a report visits: `python tests/structure/visits.py`.
"""

from __future__ import annotations

import argparse
import ast
import html
import tomllib
from pathlib import Path

import tacit

HERE = Path(__file__).parent
PACKAGE = Path(tacit.__file__).parent

Edges = dict[str, set[str]]


def layers() -> list[dict[str, str]]:
    """Return the rooms of each layer, lowest first, with what they are for."""
    return list(tomllib.loads((HERE / "layers.toml").read_text())["layers"])


def room_names() -> list[str]:
    """Return the names at the root of the package."""
    return sorted(
        path.stem
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").is_file()
    )


def imports() -> Edges:
    """Return the rooms that each room imports from."""
    edges: Edges = {name: set() for name in room_names()}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            edges[room] |= {name.split(".")[1] for name in modules if name.startswith("tacit.")}
        edges[room].discard(room)
    return edges


def reduce_transitively(edges: Edges) -> Edges:
    """Return the edges that no longer path implies."""

    def reachable(room: str) -> set[str]:
        return set().union(*({other} | reachable(other) for other in edges[room]))

    return {
        room: {other for other in others if not any(other in reachable(third) for third in others - {other})}
        for room, others in edges.items()
    }


def draw(rows: list[list[str]], edges: Edges) -> str:
    """Return the graph as SVG: one row for each layer, the highest on top."""
    width, height, gap_x, gap_y = 112, 30, 14, 46
    most = max(map(len, rows))
    total = most * (width + gap_x) + gap_x
    places: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(reversed(rows)):
        left = (total - len(row) * (width + gap_x) + gap_x) / 2
        for column, room in enumerate(row):
            places[room] = (left + column * (width + gap_x), gap_x + number * (height + gap_y))
    bottom = gap_x + len(rows) * (height + gap_y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {bottom:.0f}" font-family="sans-serif" '
        'font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for room, others in sorted(edges.items()):
        for other in sorted(others):
            (x1, y1), (x2, y2) = places[room], places[other]
            down = y2 > y1
            start, end = (y1 + height, y2) if down else (y1 + height / 2, y2 + height / 2)
            parts.append(
                f'<line x1="{x1 + width / 2:.0f}" y1="{start:.0f}" x2="{x2 + width / 2:.0f}" y2="{end:.0f}" '
                'stroke="#7a8aa0" stroke-width="1.2"/>'
            )
    for room, (x, y) in sorted(places.items()):
        middle, line = x + width / 2, y + height / 2 + 4
        parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width}" height="{height}" rx="5" fill="#eef3fa" stroke="#33517a"/>'
            f'<text x="{middle:.0f}" y="{line:.0f}" text-anchor="middle">{html.escape(room)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def graph() -> str:
    """Return the graph of rooms as SVG."""
    return draw([list(layer) for layer in layers()], reduce_transitively(imports()))


def numbers() -> dict[str, int]:
    """Return names at the root, layers, and edges between rooms after transitive reduction."""
    reduced = reduce_transitively(imports())
    return {
        "names at the root": len(room_names()),
        "layers": len(layers()),
        "edges": sum(map(len, imports().values())),
        "edges after transitive reduction": sum(map(len, reduced.values())),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path, help="write the graph of rooms")
    options = parser.parse_args()
    if options.svg:
        options.svg.write_text(graph())
    else:
        for name, value in numbers().items():
            print(f"{name}: {value}")
