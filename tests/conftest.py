"""Seeds by test name, what is left to `make test-all`, and skips that fail where everything must be present."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from support.tiers import LONG, processor_seconds, write_result

SLOW_TO_START = ("tests/clients/test_typescript.py", "tests/engines/test_spark.py", "tests/web/")

SHORT_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java that ends soon: optimising its code took two fifths of what Spark's tests use."""

NOT_RUN = pytest.StashKey[str]()
STARTED = pytest.StashKey[float]()
USED_BEFORE = pytest.StashKey[float]()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Return a seed made of the test's own name, so that adding a test moves no other's draws."""
    return int.from_bytes(hashlib.sha256(request.node.nodeid.encode()).digest()[:8], "big")


@pytest.fixture
def source(seed: int) -> np.random.Generator:
    """Return a generator of test data."""
    return np.random.default_rng(seed)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make test-all` keep its result."""
    parser.addoption("--result", type=Path, metavar="FILE", help="write commit, seconds and counts to a file")


def pytest_configure(config: pytest.Config) -> None:
    """Leave long tests out unless they are asked for; give workers and the processes that they start one thread each.

    Threads of OpenBLAS wait for each other in a loop: with more threads than cores, a design of 1 s took 20 s.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_JAVA)
    config.stash[STARTED] = time.monotonic()
    if not LONG and not config.option.markexpr:
        config.option.markexpr = "not long"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests first that need Node, Java or a browser: one worker runs them, and starts each once.

    Work is stolen from the ends of other workers' lists, so no thief starts them again, and they do not end the run.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW_TO_START) and "spark" not in item.nodeid)


def _failed_if_required(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn skips for missing software into failures under TACIT_REQUIRE_ALL=1."""
    if report.skipped and os.environ.get("TACIT_REQUIRE_ALL") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under TACIT_REQUIRE_ALL=1: {report.longrepr}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note what the worker has used so far."""
    item.stash[USED_BEFORE] = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Judge skipped tests, and report the processor seconds of each, of the processes that it waited for too."""
    report = yield
    _failed_if_required(report)
    if report.when == "teardown":
        report.user_properties.append(("processor_seconds", processor_seconds() - item.stash[USED_BEFORE]))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Judge skipped modules."""
    report = yield
    _failed_if_required(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List what was skipped, and keep the result where that is asked for."""
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        terminalreporter.write_line(f"skipped {report.nodeid}: {report.longrepr[-1]}")
    reasons = Counter(str(report.longrepr[-1]).removeprefix("Skipped: ") for report in skipped)
    told = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
    config.stash[NOT_RUN] = f"not run: {told or 'nothing was skipped'}"
    if config.option.result:
        stats = terminalreporter.stats
        counts = {name: len(stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
        reports = [
            report for of_outcome in stats.values() for report in of_outcome if hasattr(report, "user_properties")
        ]
        used: Counter[str] = Counter()
        for report in reports:
            used[report.nodeid.split("::")[0]] += dict(report.user_properties).get("processor_seconds", 0.0)
        write_result(config.option.result, time.monotonic() - config.stash[STARTED], counts, used)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line what was not run."""
    if NOT_RUN in config.stash:
        print(config.stash[NOT_RUN])
