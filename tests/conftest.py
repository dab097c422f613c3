"""Seeds by test name, and skips that fail where everything must be present."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Return a seed made of the test's own name, so that adding a test moves no other's draws."""
    return int.from_bytes(hashlib.sha256(request.node.nodeid.encode()).digest()[:8], "big")


@pytest.fixture
def source(seed: int) -> np.random.Generator:
    """Return a generator of test data."""
    return np.random.default_rng(seed)


def _failed_if_required(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn skips for missing software into failures under TACIT_REQUIRE_ALL=1."""
    if report.skipped and os.environ.get("TACIT_REQUIRE_ALL") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under TACIT_REQUIRE_ALL=1: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Judge skipped tests."""
    report = yield
    _failed_if_required(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Judge skipped modules."""
    report = yield
    _failed_if_required(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with the list of skips, or say that there are none."""
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.write_line(f"skipped: {len(skipped) or 'none'}")
    for report in skipped:
        terminalreporter.write_line(f"  {report.nodeid}: {report.longrepr[-1]}")
