"""The recipes of CONTRIBUTING work as they stand: followed to the letter in a copy, an example of each is usable.

A block after "In a new file" is written to that file; the lines of one after "a line in" go into the registry, its
imports among the others; a block of shell commands is run. What changed is compared with what the recipe names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.npm import install
from support.tiers import keeping

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "docs", "bench", "deploy", "sdk/typescript", "pyproject.toml")
IGNORED = ("node_modules", "__pycache__", "dist", "build", ".hypothesis", ".pytest_cache")


@dataclass(frozen=True)
class Block:
    """A fenced block of a recipe and the sentence before it."""

    sentence: str
    language: str
    text: str

    @property
    def path(self) -> str:
        """The file that the sentence names first."""
        return re.findall(r"`([\w./]+\.py)`", self.sentence)[0]


def recipe(title: str) -> str:
    """Return the text of a recipe."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"### {title}\n")[1].split("\n### ")[0]


def blocks(text: str) -> Iterator[Block]:
    """Yield a recipe's blocks."""
    for before, language, body in re.findall(r"([^`\n][^\n]*(?:\n[^\n]+)*)\n\n```(\w+)\n(.*?)```\n", text, re.DOTALL):
        yield Block(before, language, body)


class Copy:
    """A copy of the repository without what is installed or built, which can be made as it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns(*IGNORED))
            else:
                shutil.copy2(source, target)
        self._before = {path: path.read_bytes() for path in self._files()}

    def _files(self) -> Iterator[Path]:
        for path in self.folder.rglob("*"):
            parts = set(path.relative_to(self.folder).parts)
            if path.is_file() and not parts & {*IGNORED, ".ruff_cache", ".mypy_cache"}:
                yield path

    def changed(self) -> set[str]:
        """Return the files that are new, or have other bytes."""
        other = [path for path in self._files() if self._before.get(path) != path.read_bytes()]
        return {path.relative_to(self.folder).as_posix() for path in other}

    def restore(self) -> None:
        """Undo all changes, so that the next recipe finds compiled Python at the same place."""
        for name in self.changed():
            path = self.folder / name
            if path in self._before:
                path.write_bytes(self._before[path])
            else:
                path.unlink()
        assert not self.changed()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Copy the repository once for all recipes."""
    return Copy(tmp_path_factory.mktemp("recipes") / "copy")


@pytest.fixture
def copy(copied: Copy) -> Iterator[Copy]:
    """Lend the copy as it was."""
    yield copied
    copied.restore()


def run(folder: Path, *words: str, cwd: str = ".") -> str:
    """Run a command in a copy; fail with what it said."""
    paths = os.pathsep.join(str(folder / name) for name in ("src", "tests", "."))
    environment = os.environ | {"PYTHONPATH": paths, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        words, cwd=folder / cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def add_lines(path: Path, registry: str, block: str) -> None:
    """Put imports among the imports of a file, in their order, and the other lines first into a registry."""
    lines = path.read_text().splitlines()
    new = block.splitlines()
    for line in (line for line in new if line.startswith("from ")):
        place = next(i for i, known in enumerate(lines) if known.startswith("from tacit") and known > line)
        lines.insert(place, line)
    [opened] = [i for i, line in enumerate(lines) if re.match(rf"{registry}\b.*{{$", line)]
    lines[opened + 1 : opened + 1] = [line for line in new if not line.startswith("from ")]
    path.write_text("\n".join(lines) + "\n")


def follow(title: str, folder: Path, *, without: str = "nothing") -> None:
    """Do in a copy what a recipe says, and nothing else; tests leave out a block."""
    for block in blocks(recipe(title)):
        if without in block.sentence:
            continue
        if block.language == "bash":
            for command in block.text.splitlines():
                run(folder, "bash", "-c", command)
        elif "In a new file" in block.sentence:
            assert not (folder / block.path).exists()
            (folder / block.path).write_text(block.text)
        else:
            [registry] = re.findall(r"line in `(\w+)`", block.sentence)
            add_lines(folder / block.path, registry, block.text)


def use_oracle(folder: Path) -> None:
    run(folder, sys.executable, "-c", ASK.format(options='mechanism="fc", oracle="sue"', collection="oracle"))
    install(ROOT / "sdk/typescript")
    modules = folder / "sdk/typescript/node_modules"
    modules.symlink_to(ROOT / "sdk/typescript/node_modules")
    said = run(folder, "node", "scripts/test.mjs", "vectors", cwd="sdk/typescript")
    modules.unlink()
    assert "vector oracle_sue" in said


def use_layout(folder: Path) -> None:
    run(folder, sys.executable, "-c", ASK.format(options='mechanism="twice"', collection="mechanism"))


def use_engine(folder: Path) -> None:
    said = run(folder, sys.executable, "-c", "import tacit; print(tacit.connect(engine='duck')._engine)")
    assert "Duck object" in said


def use_aggregate(folder: Path) -> None:
    run(folder, sys.executable, "-c", COUNT)


PEOPLE = """
import json
import numpy as np
import tacit as tc
from tacit.client import Interpreter
from tacit.client.audit import refuse_unsafe

state = tc.Categorical("state", ["CA", "NY", "WA"])
schema = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 4), state])])
n = 20_000
table = {{"uid": np.arange(n), "age": np.arange(n) % 5, "state": np.array(["CA", "NY", "WA"])[np.arange(n) % 3]}}
"""

ASK = PEOPLE + (
    """
collection = tc.Collection(schema, 1.0, {options})
assert collection.audit().ok and collection.audit().worst_loss > 0.99999
interpreter = Interpreter(collection.to_json())
refuse_unsafe(interpreter)
record = dict(age=3, state="NY")
assert interpreter.encode("users", record, [0] * interpreter.draws("users"))
assert json.loads(collection.to_json())["{collection}"] in ("sue", "twice")
assert tc.Collection.from_json(collection.to_json()).contract == collection.contract
db = tc.connect()
db.create(collection)
db.load(collection.encode(users=table, rng=tc.insecure_rng(1)))
count = db.sql("SELECT COUNT(*) AS n FROM users WHERE age < 2 AND state = 'CA'")["n"]
truth = sum((table["age"] < 2) & (table["state"] == "CA"))
assert abs(count.value - truth) <= 6.11 * count.error < n, (count, truth)  # n = 20,000, false alarms 1e-9
"""
)

COUNT = PEOPLE.replace("{{", "{").replace("}}", "}") + (
    """
collection = tc.Collection(schema, 1.0)
db = tc.connect()
db.create(collection)
db.load(collection.encode(users=table, rng=tc.insecure_rng(1)))
both = db.sql("SELECT REGR_COUNT(age, age) AS a, COUNT(*) AS b FROM users WHERE age < 2")
assert (both["a"].value, both["a"].error) == (both["b"].value, both["b"].error)
"""
)

USES: dict[str, Callable[[Path], None]] = {
    "Add an oracle": use_oracle,
    "Add a layout": use_layout,
    "Add an engine": use_engine,
    "Add an aggregate": use_aggregate,
}
KEPT = ["Add an aggregate"]


@pytest.mark.parametrize("title", keeping(KEPT, USES, "recipes; that of an aggregate stays"))
def test_a_recipe_followed_to_the_letter_works_and_changes_what_it_names(title: str, copy: Copy) -> None:
    folder = copy.folder
    follow(title, folder)
    named = set(re.findall(r"`([\w./]+\.\w+)`", recipe(title)))
    assert copy.changed() <= named
    assert {block.path for block in blocks(recipe(title)) if block.language == "py"} <= copy.changed()
    run(folder, "ruff", "check", "-q", "src", "tests")
    run(folder, "ruff", "format", "--check", "-q", "src", "tests")
    USES[title](folder)


def test_a_recipe_that_lacks_a_line_is_noticed(copy: Copy) -> None:
    follow("Add an aggregate", copy.folder, without="`AGGREGATES`")
    with pytest.raises(AssertionError, match="unsupported-aggregate"):
        use_aggregate(copy.folder)


def test_every_recipe_is_followed() -> None:
    titles = re.findall(r"^### (Add .*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert titles == list(USES)
