"""What is shipped: types for checkers, pages for the collector, and a build before npm packs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import tacit

ROOT = Path(__file__).parents[2]


def test_the_wheel_says_that_it_has_types_and_holds_the_pages() -> None:
    package = Path(tacit.__file__).parent
    assert (package / "py.typed").read_text() == ""
    assert len(list((package / "server" / "pages").glob("*.html"))) >= 4
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/tacit"]}, "all of src/tacit is shipped, and nothing else"


def test_npm_builds_before_it_packs() -> None:
    package = json.loads((ROOT / "sdk" / "typescript" / "package.json").read_text())
    assert package["scripts"]["prepack"].endswith("npm run build")
    assert "ignore-scripts" not in (ROOT / "sdk" / "typescript" / ".npmrc").read_text(), "it would skip prepack"
    shipped = [entry[kind] for entry in package["exports"].values() for kind in ("types", "default")]
    assert all(path.startswith("./dist/") for path in shipped)
    assert "dist" in package["files"]


def test_npm_ships_the_licence() -> None:
    folder = ROOT / "sdk" / "typescript"
    assert "LICENSE" in json.loads((folder / "package.json").read_text())["files"]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
