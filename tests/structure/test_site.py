"""The documentation site: a strict build of all pages, versions beside each other, and an error index without gaps."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from docs.error_index import index, written_codes

ROOT = Path(__file__).parents[2]


def test_the_site_builds_without_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "0.0.9").mkdir()
    (tmp_path / "0.0.9" / "searchindex.js").touch()  # an earlier version's site
    words = [sys.executable, str(ROOT / "docs" / "site" / "build.py"), str(tmp_path)]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    version = json.loads((tmp_path / "versions.json").read_text())
    assert version[1:] == ["0.0.9"]
    built = tmp_path / version[0]
    assert f"url={version[0]}/" in (tmp_path / "index.html").read_text()
    assert "tacit.Collection.predict" in (built / "reference.html").read_text(), "docstrings are in the reference"
    assert "tutorial" in (built / "searchindex.js").read_text()
    assert 'id="cap-exceeded"' in (built / "docs" / "reference" / "errors.html").read_text()


def test_a_link_to_nothing_fails_the_build(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs" / "site")!r})
import build
from pathlib import Path
try:
    build.ROOT = Path({str(tmp_path)!r})
    build._with_links(Path("page.md"), set(), Path("."))
except SystemExit as refused:
    print(refused)
"""
    (tmp_path / "page.md").write_text("[nowhere](nowhere.md)")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "nowhere.md does not exist" in result.stdout


def test_every_code_is_in_the_error_index_with_a_text() -> None:
    others = set(tomllib.loads((ROOT / "docs" / "errors.toml").read_text())["other"]["names"])
    codes = index()
    assert written_codes() - others == set(codes) & written_codes(), (
        f"explain {sorted(written_codes() - others - set(codes))} in docs/errors.toml"
    )
    assert not [code for code, texts in codes.items() if not texts]
    assert not others - written_codes(), "texts that no source has any more"
    assert len(codes) > 300
