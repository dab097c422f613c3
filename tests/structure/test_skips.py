"""Where everything must be present, a skip is a failure; elsewhere the last line says what was not run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SKIPPED = {
    "test_one.py": "import pytest\n\ndef test_it():\n    pytest.skip('no engine')\n",
    "test_module.py": "import pytest\n\npytest.importorskip('no_such_engine')\n\ndef test_it():\n    pass\n",
    "test_long.py": "import pytest\n\n@pytest.mark.long('all of it')\ndef test_it():\n    pass\n",
}


@pytest.mark.parametrize(("required", "long"), [("1", "0"), ("0", "1")])
def test_skips_fail_only_where_all_is_required(tmp_path: Path, required: str, long: str) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path / "conftest.py")
    for name, text in SKIPPED.items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--result", str(tmp_path / "result.json")]
    result = subprocess.run(
        [*words, "--continue-on-collection-errors", str(tmp_path)],
        env=os.environ | {"TACIT_REQUIRE_ALL": required, "TACIT_LONG": long, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    *_, counts, last = result.stdout.splitlines()
    assert (result.returncode == 0) == (required == "0"), result.stdout
    if required == "0":
        assert counts.startswith("1 passed, 2 skipped")
        assert last == "not run: 1 × could not import 'no_such_engine': No module named 'no_such_engine'; 1 × no engine"
    else:
        assert "1 failed, 1 deselected" in counts
        assert "1 error" in counts
        assert last == "not run: nothing was skipped"
    assert '"failed": ' + required in (tmp_path / "result.json").read_text()
