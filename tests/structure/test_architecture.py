"""The shape of the package: direction of imports, public names, file sizes, cards of mechanisms."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tacit
from tacit.central import METHODS
from tacit.contract.oracles import ORACLES, STEPS
from tacit.errors import TacitError

ROOT = Path(tacit.__file__).parent
REPOSITORY = ROOT.parent.parent

LAYERS: list[dict[str, str]] = tomllib.loads((REPOSITORY / "docs" / "layers.toml").read_text())["layers"]
ROOMS = [room for layer in LAYERS for room in layer]
"""A module imports from its own room, and from rooms listed before it."""

MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def place(name: str) -> int:
    return ROOMS.index(name)


def imported(text: str) -> set[str]:
    """Return the tacit modules a program imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found |= {name for name in names if name == "tacit" or name.startswith("tacit.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_down(path: Path) -> None:
    top = path.parts[0].removesuffix(".py")
    if top == "__init__":
        return
    assert not [name for name in imported((ROOT / path).read_text()) if not may_import(top, name)]


def may_import(top: str, name: str) -> bool:
    """Tell whether a module below ``top`` may import a name of the package."""
    parts = name.split(".")
    target = parts[1] if len(parts) > 1 else "cli"  # the package itself: only the top may import it
    if top == "client":
        return target in ("client", "errors")
    return target == top or place(target) < place(top)


@pytest.mark.parametrize(
    ("top", "text"),
    [
        ("contract", "from tacit.collection import Collection"),
        ("client", "import tacit.contract.oracles.grr"),
        ("encode", "import tacit"),
        ("errors", "from tacit.contract.budget import within"),
        ("encode", "from tacit.estimate.answer import Answer"),
    ],
)
def test_imports_against_the_direction_are_seen(top: str, text: str) -> None:
    assert [name for name in imported(text) if not may_import(top, name)]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_files_are_short_and_their_public_names_sorted(path: Path) -> None:
    text = (ROOT / path).read_text()
    assert len(text.splitlines()) <= 400
    if path.name == "__main__.py" or "__all__" not in text:
        assert path.name in ("__main__.py", "__init__.py"), "every module says what is public"
        return
    name = "tacit." + ".".join(path.with_suffix("").parts)
    module = importlib.import_module(name.removesuffix(".__init__"))
    public = module.__all__
    assert all(hasattr(module, item) for item in public)
    assert sorted(public, key=_ruff_order) == public


def _ruff_order(name: str) -> tuple[int, str]:
    """Order constants before classes before functions, as the linter does."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


@pytest.mark.parametrize("name", ORACLES)
def test_mechanisms_carry_their_card(name: str) -> None:
    module = inspect.getmodule(ORACLES[name])
    assert module is not None
    card = module.__doc__ or ""
    headings = ["Code", "Guarantee", "Sampling", "Variance", "Cost", "Range", "Reference"]
    places = [card.find(f"\n{heading} ") for heading in headings]
    assert all(place > 0 for place in places), f"{name} lacks a heading of {headings}"
    assert places == sorted(places)


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_release_carry_their_card(name: str) -> None:
    card = inspect.getdoc(inspect.getmodule(METHODS[name])) or ""
    assert "\nGuarantee   epsilon: " in card, f"{name} does not say what it guarantees, and why"


SCRIPT = REPOSITORY / "sdk" / "typescript" / "src"
NAMING = {
    ROOT / "client" / "steps.py",
    *(SCRIPT / name for name in ("contract.ts", "meaning.ts", "members.ts", "steps.ts")),
}
"""Files of clients that name ways of drawing: the steps, and in TypeScript the types, the members and the meanings."""


@pytest.mark.parametrize("name", STEPS)
def test_clients_ask_for_the_name_of_a_step_in_one_place(name: str) -> None:
    files = [*(ROOT / "client").rglob("*.py"), *SCRIPT.rglob("*.ts")]
    told = re.compile(rf"""["']{name}["']|^  {name}[:(]""", re.MULTILINE)
    assert {path for path in files if told.search(path.read_text())} <= NAMING
    assert f'"{name}": ' in (ROOT / "client" / "steps.py").read_text()
    assert not re.search(r"case \"|oracle === ", (SCRIPT / "steps.ts").read_text())


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("pandas", "polars", "duckdb", "sqlglot", "scipy", "opendp")
    code = f"import sys, tacit; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_clients_run_without_numpy() -> None:
    code = """
import json, pathlib, sys
sys.modules['numpy'] = sys.modules['pyarrow'] = None
from tacit.client import Interpreter
from tacit.client.interpreter import draw_of_words
vector = json.loads(pathlib.Path(sys.argv[1]).read_text())
interpreter, words = Interpreter(vector["contract"]), vector["words"]
draws = [draw_of_words(*pair) for pair in zip(words[::2], words[1::2])]
count = interpreter.draws("s")
assert interpreter.encode("s", vector["records"][0], draws[:count]) == vector["codes"][0]
"""
    vector = REPOSITORY / "tests" / "vectors" / "v1" / "layout_hio.json"
    result = subprocess.run([sys.executable, "-c", code, str(vector)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_no_weak_randomness_reaches_clients_or_encoders() -> None:
    for path in MODULES:
        if path.parts[0] in ("client", "encode", "contract") and path.name != "randomness.py":
            tree = ast.parse((ROOT / path).read_text())
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
            assert "random" not in names
            assert not any(isinstance(node, ast.Attribute) and node.attr == "random" for node in ast.walk(tree))


def test_every_error_has_a_stable_code_of_its_own() -> None:
    errors = [item for _, item in inspect.getmembers(tacit.errors, inspect.isclass) if issubclass(item, TacitError)]
    codes = [item.default_code for item in errors]
    assert len(set(codes)) == len(codes)
    tree = inspect.getdoc(tacit.errors) or ""
    assert all(item.__name__ in tree for item in errors)


def test_all_modules_import() -> None:
    names = [module.name for module in pkgutil.walk_packages([str(ROOT)], "tacit.") if "__main__" not in module.name]
    assert len(names) > 25
    for name in names:
        importlib.import_module(name)
