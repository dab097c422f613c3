"""Put defects of the first release back, one at a time, and see that a test fails for each.

python tests/old_defects.py              # everything, about a quarter of an hour of the processor
python tests/old_defects.py 7 12 20      # the defects of these lines

Each defect of `old_defects.toml` is a small change to a copy of the repository: a check is removed, or a rule is what
it was. A change that no longer fits the source is an error, so the table stays true; `docs/reference/old-defects.md` is
the result.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "docs" / "reference" / "old-defects.md"
NODE = ("sdk/typescript/node_modules", "web/node_modules")
SECONDS = 900
"""Of one defect's tests."""

MISSING = "skipped under TACIT_REQUIRE_ALL"
"""What a test says that failed because a program is not there."""

HEAD = """# Old defects, put back

`python tests/old_defects.py` puts each of these defects back into a copy of the repository, and runs the tests named
beside it: `red` means that one failed. Lines are those of the list of defects that independent tests found in the first
release.

| line | defect | put back in | test | seen |
|--:|---|---|---|---|
"""


@dataclass(frozen=True)
class Defect:
    """One change, and the tests of which at least one must fail."""

    line: int
    what: str
    path: str
    before: str
    after: str
    tests: str


def copy_repository(folder: Path) -> None:
    """Copy what git knows or would add, as it is now; packages of Node are shared."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    for name in NODE:
        if (ROOT / name).is_dir():
            (folder / name).symlink_to(ROOT / name)


def put_back(defect: Defect, folder: Path) -> bytes:
    """Change a file, or remove it, and return what it was."""
    path = folder / defect.path
    was = path.read_bytes()
    if not defect.before:
        path.unlink()
        return was
    text = was.decode()
    if text.count(defect.before) != 1:
        message = f"{defect.path} has no single {defect.before!r}: renew the table"
        raise SystemExit(message)
    path.write_text(text.replace(defect.before, defect.after))
    return was


def commit(folder: Path) -> None:
    """Commit the copy as it is: packages are built of what is committed."""
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    for words in (["add", "-A"], [*who, "commit", "-qm", "defect"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def build(folder: Path) -> None:
    """Build the screens."""
    subprocess.run(["node", "build.mjs"], cwd=folder / "web", check=True, capture_output=True)


def is_red(defect: Defect, folder: Path) -> bool:
    """Return whether a test fails; a file that cannot be collected does not count."""
    environment = os.environ | {"PYTHONPATH": f"{folder / 'src'}:{folder}", "TACIT_REQUIRE_ALL": "1"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / ".pycache")
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *defect.tests.split()]
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    failed = [text for text in ended.stdout.splitlines() if text.startswith(("FAILED", "ERROR"))]
    red = bool(failed) and MISSING not in ended.stdout  # Python may crash at its end, after a collector was left open
    print(*(f"   {text}" for text in failed or [ended.stdout[-2000:], ended.stderr[-2000:]]), sep="\n")
    return red


def row(defect: Defect, seen: str) -> str:
    """Return the line of the page about a defect."""
    return f"| {defect.line} | {defect.what} | `{defect.path}` | `{defect.tests}` | {seen} |"


def write_page(defects: list[Defect], seen: dict[Defect, str]) -> None:
    """Renew the page: what was not tried now is as it was before, if the defect is still the same."""
    before = PAGE.read_text().splitlines() if PAGE.exists() else []
    known = {defect: word for defect in defects for word in ("red", "**green**") if row(defect, word) in before}
    PAGE.write_text(HEAD + "".join(f"{row(one, (known | seen).get(one, 'not run'))}\n" for one in defects))


def main() -> int:
    """Put the defects back that are asked for, and renew the page."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell, Ctrl-C would be ignored
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and under nohup, hanging up
    lines = {int(word) for word in sys.argv[1:]}
    defects = [Defect(**one) for one in tomllib.loads(TABLE.read_text())["defect"]]
    seen: dict[Defect, str] = {}
    with tempfile.TemporaryDirectory(prefix="old-defects-") as name:
        folder = Path(name)
        copy_repository(folder)
        for defect in defects:
            if lines and defect.line not in lines:
                continue
            began, was = time.monotonic(), put_back(defect, folder)
            in_screens = defect.path.startswith(("web/", "sdk/"))
            try:
                if in_screens:
                    build(folder)
                commit(folder)
                seen[defect] = "red" if is_red(defect, folder) else "**green**"
            finally:
                (folder / defect.path).write_bytes(was)
                if in_screens:
                    build(folder)
            print(f"{defect.line:>2} {seen[defect]:9} {time.monotonic() - began:5.0f} s  {defect.what}", flush=True)
            write_page(defects, seen)
    return 1 if "**green**" in seen.values() else 0


if __name__ == "__main__":
    sys.exit(main())
