"""What is published: packages built twice with the same bytes, complete, and installed into empty environments."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from deploy.release import build, main, sboms
from support.guide_page import check_guide_page
from support.installed import Installed, installed_in

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lend a folder with the wheel and the sdist of what is committed."""
    return build(tmp_path_factory.mktemp("built"), npm=False)


def test_the_wheel_holds_types_screens_and_metadata(packages: Path) -> None:
    [path] = packages.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(wheel.read(metadata).decode())
    assert "tacit/py.typed" in names
    assert {f"tacit/server/pages/{name}.html" for name in ("start", "owner", "analyst", "collection")} <= set(names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if not name.startswith("tacit")], "tests or tools are not shipped"
    assert told["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    assert told["Description-Content-Type"] == "text/markdown"
    assert told["Author"] == "The tacit maintainers"


def test_the_sdist_holds_what_builds_the_wheel(packages: Path) -> None:
    """`build` has made the wheel from it, too, and compared."""
    [path] = packages.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/tacit/py.typed"} <= names


def test_one_version_everywhere() -> None:
    import tacit

    packages = [json.loads((ROOT / name / "package.json").read_text())["version"] for name in ("sdk/typescript", "web")]
    assert {tacit.__version__, *packages} == {tacit.__version__}
    assert f"version: {tacit.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.long("a release: two builds that are equal, lists of parts, checksums, vulnerabilities")
def test_a_release_has_all_of_it(tmp_path: Path) -> None:
    subprocess.run(["make", ".venv/release.done"], cwd=ROOT, check=True, capture_output=True)
    assert main(tmp_path / "dist") == 0
    names = {path.name for path in (tmp_path / "dist").iterdir()}
    assert {"sbom-python.cdx.json", "sbom-sdk-typescript.cdx.json", "sbom-web.cdx.json", "SHA256SUMS"} < names
    assert len(names) == 7  # and the wheel, the sdist, the npm package
    for line in (tmp_path / "dist" / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((tmp_path / "dist" / name).read_bytes()).hexdigest() == digest
    parts = sboms(ROOT)["sbom-python.cdx.json"]["components"]
    assert {part["name"] for part in parts} >= {"duckdb", "numpy", "pyarrow", "sqlglot", "starlette", "psycopg"}
    assert all(part["version"] for part in parts)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Lend both packages, installed into an empty environment and an empty folder."""
    return installed_in(tmp_path_factory.mktemp("installed"))


@pytest.mark.long("packages installed into empty environments")
def test_the_readme_runs_with_the_installed_wheel(installed: Installed, tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    program = "\n".join(block.partition("```")[0] for block in text.split("```python\n")[1:])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [str(installed.python), "-W", "error", "-c", program]
    result = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "CA" in result.stdout
    place = subprocess.run([*words[:1], "-c", "import tacit; print(tacit.__file__)"], capture_output=True, text=True)
    assert str(ROOT) not in place.stdout


@pytest.mark.long("packages installed into empty environments")
def test_the_guides_page_and_types_work_with_the_installed_client(installed: Installed, tmp_path: Path) -> None:
    check_guide_page(installed, tmp_path)
