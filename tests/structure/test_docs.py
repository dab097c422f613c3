"""Documentation that fails the build: code blocks run, generated pages are current, links and targets exist."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit as tc
from support.forking import Forking
from support.tiers import keeping
from tacit.server.app import TABLE

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "site"),  # test_site builds those
    *sorted((ROOT / "bench").rglob("*.md")),
    ROOT / "deploy" / "README.md",
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text()) if kind == language]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    parent = Forking()
    yield parent
    parent.close()


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "python")], ids=ids)
def test_python_blocks_run(path: Path, tmp_path: Path, forking: Forking) -> None:
    """The blocks of a page run in order, as one program, in a process and folder of their own."""
    code, printed = forking.run("\n".join(blocks(path, "python")), tmp_path)
    assert code == 0, printed


def test_a_page_that_fails_is_noticed(tmp_path: Path, forking: Forking) -> None:
    code, printed = forking.run("import warnings\nprint('before')\nwarnings.warn('old')", tmp_path)
    assert code == 1
    assert "before" in printed
    assert "UserWarning: old" in printed


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "toml")], ids=ids)
def test_collection_files_compile(path: Path) -> None:
    for text in blocks(path, "toml"):
        tomllib.loads(text)
        assert tc.Collection.from_toml(text).audit().ok


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "sh")], ids=ids)
def test_shell_blocks_name_targets_that_exist(path: Path) -> None:
    """Shell blocks hold `make` targets only; CI runs the test target, and the demo has a test of its own."""
    makefile = (ROOT / "Makefile").read_text()
    for line in "".join(blocks(path, "sh")).splitlines():
        command = line.partition("#")[0].split()
        assert command[0] == "make", f"{line!r} is not run by any test"
        assert re.search(rf"^{command[1]}:", makefile, re.MULTILINE), f"make has no target {command[1]}"


def commands(path: Path) -> list[str]:
    """Return the commands of a page: lines of console blocks that begin with a dollar sign."""
    lines = "".join(blocks(path, "console")).splitlines()
    assert all(line.startswith("$ ") for line in lines), "output of commands belongs in text blocks"
    return [line.removeprefix("$ ") for line in lines]


SHIM = """#!/bin/sh
if [ "$1" = serve ]; then exec "{python}" -m tacit.cli "$@" --port {port}; fi
"{python}" -m tacit.cli "$@"
code=$?
[ "$1" = doctor ] && [ $code = 1 ] && exit 0  # what it finds depends on the machine
exit $code
"""


WITH_COMMANDS = [path for path in PAGES if blocks(path, "console")]


@pytest.mark.parametrize(
    "path", keeping(WITH_COMMANDS[-1:], WITH_COMMANDS, "pages whose commands are run; one stays"), ids=ids
)
def test_console_blocks_run(path: Path, tmp_path: Path) -> None:
    """The commands of a page run in order, after its Python blocks, in a new folder, and all of them succeed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tacit").write_text(SHIM.format(python=sys.executable, port=port))
    (tmp_path / "bin" / "tacit").chmod(0o755)
    place = tmp_path / "place"
    place.mkdir()
    if program := "\n".join(blocks(path, "python")):
        subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, check=True)
    script = "\n".join(commands(path)).replace("127.0.0.1:8765", f"127.0.0.1:{port}")
    result = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", f"trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n{script}"],
        cwd=place,
        env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "Error" not in result.stderr


def test_the_proxy_of_the_documentation_hides_what_is_not_for_everybody() -> None:
    [text] = blocks(ROOT / "docs" / "deployment.md", "nginx")
    places = re.findall(r"location ([^{]+)\{([^}]*)\}", text)
    open_to_all = [re.compile(place.removeprefix("~").strip()) for place, body in places if "deny all;" not in body]
    paths = {endpoint.path for endpoint in TABLE}
    shown = {path for path in paths if any(pattern.search(path) for pattern in open_to_all)}
    assert shown == {
        "/v1/collections",
        "/v1/collections/{id}",
        "/v1/collections/{id}/audit",
        "/v1/collections/{id}/coin",
        "/v1/collections/{id}/reports",
        "/v1/dictionaries/{sha256}",
        "/v1/forget",
        "/v1/receipts",
    }


def asked_by(*folders: str) -> set[str]:
    """Return the paths that sources ask a collector for."""
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".ts")]
    return {path for one in sources for path in re.findall(r"[\"'`}](/(?:v1/\w+|demo))\b", one.read_text())}


def test_the_proxy_of_the_documentation_lets_clients_and_owners_in() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    apps, owners = (re.compile(place) for place in re.findall(r"location ~ (\S+) \{", page))
    clients = asked_by("src/tacit/client", "sdk/typescript/src")
    assert clients == {"/v1/collections", "/v1/dictionaries", "/v1/forget", "/v1/receipts"}
    assert all(apps.search(path) for path in clients)
    screen = (
        clients | asked_by("web/src/owner", "web/src/shared") | {"/me", "/pages/owner.js", f"/collections/{'0' * 64}"}
    )
    assert "/demo" in screen
    assert all(owners.search(path) for path in screen)
    assert not any(
        owners.search(path) for path in ("/metrics", "/query", "/demo2", "/v1/query", "/v1/log", "/v1/export")
    )


def test_the_unit_writes_the_log_that_is_rotated() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    [written] = re.findall(r"^ExecStart=.* --log (\S+)$", page, re.MULTILINE)
    [rotated] = re.findall(r"^(/\S+) \{$", page, re.MULTILINE)
    [folder] = re.findall(r"^LogsDirectory=(\S+)$", page, re.MULTILINE)
    assert written == rotated == f"/var/log/{folder}/requests.log", "all else is read-only to the service"


def test_the_collectors_page_lists_every_route() -> None:
    page = (ROOT / "docs" / "collector.md").read_text()
    told = {path for line in page.splitlines() if line.startswith("| `") for path in re.findall(r"/[\w./{}]+", line)}
    assert {endpoint.path for endpoint in TABLE} <= told


def test_no_block_escapes_the_tests() -> None:
    known = {"python", "toml", "sh", "console", "nginx", "text"}
    elsewhere = {  # test_recipes follows the first; tests/release opens the second's page and compiles its types
        "CONTRIBUTING.md": {"py", "bash"},
        "app-developer.md": {"html", "ts"},
    }
    for path in PAGES:
        kinds = {kind for kind, _ in BLOCK.findall(path.read_text())} - elsewhere.get(path.name, set())
        assert kinds <= known, f"{path.name} has blocks of {kinds - known}"


OTHER_PAGES = ["SECURITY.md", "CHANGELOG.md", "sdk/typescript/README.md", "sdk/typescript/PROTOCOL.md"]
"""Pages without blocks that run here."""


@pytest.mark.parametrize("path", [*PAGES, *(ROOT / name for name in OTHER_PAGES)], ids=ids)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{target} does not exist"


def test_generated_pages_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, page in generate.PAGES.items():
        assert (generate.HERE / name).read_text() == page(), f"{name} is stale: run make docs"
    assert (generate.HERE.parent / "rooms.svg").read_text() == generate.rooms.graph(), (
        "rooms.svg is stale: run make docs"
    )


def test_docstring_examples_run() -> None:
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--doctest-modules",
            "-q",
            "-p",
            "no:cacheprovider",
            str(ROOT / "src" / "tacit"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stdout
    assert "passed" in result.stdout


def test_the_readme_never_installs_by_a_bare_name() -> None:
    for path in (path for path in PAGES if path.name != "errors.md"):  # what errors say is tested where they are raised
        for command in re.findall(r"pip install ([^\n`]+)", path.read_text()):
            assert command.split()[-1].strip("'\"").startswith("."), f"{path.name}: pip install {command}"


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def test_every_decision_is_listed_once_and_in_order() -> None:
    listing = (ROOT / "docs" / "decisions" / "README.md").read_text()
    listed = re.findall(r"^- \[(\d{4})\]\((\1-[\w-]+\.md)\): ", listing, re.MULTILINE)
    assert [name for _, name in listed] == [path.name for path in DECISIONS]
    assert len({number for number, _ in listed}) == len(listed), "a number is used once"
    for path in DECISIONS:
        text = path.read_text()
        assert all(f"**{heading}.**" in text for heading in ("Context", "Choice", "Consequences"))


def test_superseded_decisions_say_so_themselves() -> None:
    heads = {path.name: path.read_text().partition("**Context.**")[0] for path in DECISIONS}
    for name, head in heads.items():
        sentences = re.findall(r"^Supersedes .*?\.\s", head, re.MULTILINE | re.DOTALL)
        for older in re.findall(r"\((0[\w-]+\.md)\)", " ".join(sentences)):
            assert "uperseded" in heads[older], older
            assert name in heads[older], f"{older} does not name {name}"
