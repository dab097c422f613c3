"""The demo opens a browser where there is one, and says so when its port is taken."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from tacit.cli import main
from tacit.cli.browser import open_browser


def test_a_taken_port_is_named_and_a_browser_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr("tacit.cli.demo.serve_app", lambda _app, listening: listening.close())
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["demo", "--people", "200", "--serve", "--open", "--port", str(port)]) == 0
    printed = capsys.readouterr().out
    assert f"Port {port} is in use by another program" in printed
    address = next(line.split()[-1] for line in printed.splitlines() if line.startswith("listening on "))
    assert not address.endswith(f":{port}")
    for _ in range(200):
        if opened.exists():
            break
        time.sleep(0.05)
    assert opened.read_text().strip() == address


def test_no_browser_takes_over_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert open_browser("http://127.0.0.1:1") is False
