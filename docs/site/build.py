"""Build the documentation site: `python docs/site/build.py [folder]`, or `make site`.

The pages are those that people read in the repository. They are copied with what they link to, links to folders and to
files that are no pages become text, and Sphinx builds them; a broken link or an unknown reference fails the build.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
PICTURES = (".svg", ".png")
REDIRECT = (
    '<!doctype html><meta charset="utf-8"><title>tacit</title><meta http-equiv="refresh" content="0; url={0}/">\n'
)


def pages() -> list[Path]:
    """Return the pages, relative to the repository: Markdown that is committed, except what tests and tools keep."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    skipped = (".github/", "docs/site/", "requirements/", "tests/", "web/")
    return [Path(name) for name in listed.stdout.split() if not name.startswith(skipped) and (ROOT / name).exists()]


def prepare(source: Path) -> None:
    """Copy pages and pictures, and write the first page with the list of all."""
    names = set(pages())
    for name in names:
        place = source / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_with_links(name, names, source), encoding="utf-8")
    shutil.copy(HERE / "index.md", source / "index.md")
    shutil.copy(HERE / "reference.md", source / "reference.md")
    for folder in ("static", "templates"):
        shutil.copytree(HERE / folder, source / folder)
    listed = (source / "index.md").read_text()
    for mark in ("decisions", "bench", "more"):
        own = sorted(str(name) for name in names if str(name) not in listed and _section(name) == mark)
        listed = listed.replace(f"<{mark}>", "\n".join(own))
    (source / "index.md").write_text(listed, encoding="utf-8")


def _section(name: Path) -> str:
    """Return the section of a page that the table of contents does not name."""
    if name.parent == Path("docs/decisions"):
        return "decisions"
    return "bench" if name.parts[0] == "bench" else "more"


def _with_links(name: Path, names: set[Path], source: Path) -> str:
    """Return a page whose links lead somewhere on the site; the others become text."""

    def replaced(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        path = target.partition("#")[0]
        if "://" in target or not path:
            return match[0]
        there = (ROOT / name.parent / path).resolve()
        if not there.exists():
            message = f"{name}: {target} does not exist."
            raise SystemExit(message)
        found = there.relative_to(ROOT.resolve())
        if found in names or (picture and there.suffix in PICTURES):
            if picture:
                (source / found).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(there, source / found)
            return match[0]
        return f"{text} (`{found}`)" if str(found) not in text else text

    parts = re.split(r"(^```.*?^```)", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    linked = "".join(part if part.startswith("```") else LINK.sub(replaced, part) for part in parts)
    return re.sub(r'<a id="([\w-]+)"></a>', r"[]{#\1}", linked)  # so that Sphinx knows what links may name


def main(folder: Path) -> int:
    """Build the site of this version beside those that are there."""
    import tacit

    folder.mkdir(parents=True, exist_ok=True)
    out = folder / tacit.__version__
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        prepare(source)
        words = ["-b", "html", "-W", "--keep-going", "-q", "-j", "auto", "-c", str(HERE), str(source), str(out)]
        if code := sphinx(words):
            return code
    shutil.rmtree(out / ".doctrees", ignore_errors=True)
    versions = sorted((path.parent.name for path in folder.glob("*/searchindex.js")), key=_order, reverse=True)
    (folder / "versions.json").write_text(json.dumps(versions) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(REDIRECT.format(versions[0]), encoding="utf-8")
    print(f"{folder}/index.html: versions {', '.join(versions)}")
    return 0


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "site")))
