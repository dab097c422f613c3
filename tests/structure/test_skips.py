"""Where everything must be present, a skip is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = {
    "test_one.py": "import pytest\n\ndef test_it():\n    pytest.skip('no engine')\n",
    "test_module.py": "import pytest\n\npytest.importorskip('no_such_engine')\n\ndef test_it():\n    pass\n",
}


@pytest.mark.parametrize("name", SKIPPED)
@pytest.mark.parametrize(("required", "code"), [("1", "failed"), ("0", "skipped")])
def test_skips_fail_only_where_all_is_required(tmp_path: Path, name: str, required: str, code: str) -> None:
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / name).write_text(SKIPPED[name])
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env=os.environ | {"TACIT_REQUIRE_ALL": required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode == 0 or result.returncode == 5) == (code == "skipped"), result.stdout
    assert "skipped: " in result.stdout
