"""A fleet on this machine without containers: PostgreSQL, some collectors and nginx, on loopback.

`make fleet` runs it until Ctrl-C. PostgreSQL is the one of the development packages, nginx the one of the system.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

__all__ = ["Collector", "Database", "Proxy", "free_port"]

START_SECONDS = 180.0
"""Far more than is needed, so that a busy machine is not taken for a fault."""

NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream collectors {{
{servers}
        keepalive 32;
    }}
    server {{
        listen 127.0.0.1:{port};
        client_max_body_size 1m;
        location / {{
            proxy_pass http://collectors;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_connect_timeout 2s;
            proxy_read_timeout 40s;
            # The same report is stored once whoever gets it: so a request may go to the next collector.
            proxy_next_upstream error timeout http_502 http_503 non_idempotent;
            proxy_next_upstream_tries 3;
        }}
    }}
}}
"""


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Database:
    """A PostgreSQL server of its own, in a folder."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pgserver
            from pgserver.utils import ensure_prefix_permissions, ensure_user_exists
        self._folder, self._user = folder, None
        self._programs = Path(pgserver.postgres_server.POSTGRES_BIN_PATH)
        folder.mkdir(parents=True)
        if os.geteuid() == 0:  # the server refuses to run as root
            self._user = "pgserver"
            ensure_user_exists(self._user)
            ensure_prefix_permissions(self._programs)
            shutil.chown(folder, self._user)
        self._run("initdb", "--auth=trust", "--username=tacit", "--encoding=utf8")
        self.address = f"postgresql://tacit@/postgres?host={folder}"
        options = f"-h '' -k {folder} -c fsync=on -c max_connections=200"
        self._run("pg_ctl", "-w", "-t", "300", "-l", str(folder / "log"), "-o", options, "start")
        self.pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])

    def _run(self, program: str, *arguments: str) -> None:
        words = [str(self._programs / program), "-D", str(self._folder / "data"), *arguments]
        subprocess.run(words, user=self._user, cwd=self._folder, stdout=subprocess.DEVNULL, check=True)

    def end(self) -> None:
        """Stop the server."""
        self._run("pg_ctl", "-m", "fast", "-t", "300", "stop")


class Collector:
    """A collector of a store that several share, always on the same port."""

    def __init__(self, store: str, contract: Path, log: Path, *options: str) -> None:
        self._words = [sys.executable, "-m", "tacit.cli", "serve", store, str(contract), *options]
        self.port, self._log = free_port(), log
        self._starting = threading.Lock()
        self.process = self._run()

    def _run(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen([*self._words, "--port", str(self.port)], stdout=log, stderr=log)

    def start(self) -> None:
        """Start the process unless it runs; `wait` waits until it is ready.

        Two threads may find that it ended: a second process would take the port, and nobody would end it.
        """
        with self._starting:
            if self.process.poll() is not None:
                self.process = self._run()

    def is_ready(self) -> bool:
        """Tell whether it can store and answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def wait(self) -> None:
        """Wait until it is ready; start it again if it has ended, as a supervisor does."""
        end = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None:
                self.start()
            if time.monotonic() > end:
                raise TimeoutError(self._log.read_text(errors="replace")[-2000:])
            time.sleep(0.1)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process by its id."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(60)


class Proxy:
    """nginx in front of collectors."""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if program is None:
            message = "There is no nginx on this machine. Install it (Debian: apt-get install nginx-light)."
            raise SystemExit(message)
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        self.port, self._words = free_port(), [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        servers = "\n".join(f"        server 127.0.0.1:{port} max_fails=1 fail_timeout=1s;" for port in ports)
        text = NGINX.format(folder=folder, servers=servers, port=self.port)
        if os.geteuid() == 0:
            text = f"user root;{text}"
        (folder / "nginx.conf").write_text(text, encoding="utf-8")
        self.start()

    @property
    def address(self) -> str:
        """Where clients go."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it."""
        self.process = subprocess.Popen(self._words, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """Kill master and workers, and start it again."""
        for pid in [self.process.pid, *children_of(self.process.pid)]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.start()

    def end(self) -> None:
        """Stop it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main() -> int:
    """Run a fleet until somebody ends it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("collection", nargs="?", help="a collection file or contract; without one, an example")
    parser.add_argument("--collectors", type=int, default=3)
    options = parser.parse_args()
    example = Path(__file__).parents[1] / "docs" / "examples" / "telemetry" / "telemetry.toml"
    contract = Path(options.collection or example)
    with ExitStack() as opened:
        work = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="tacit-fleet-")))
        work.chmod(0o755)  # PostgreSQL runs as another user
        database = Database(work / "database")
        opened.callback(database.end)
        collectors = []
        for number in range(options.collectors):
            one = Collector(database.address, contract, work / f"collector-{number}.log", "--drain-seconds", "2")
            opened.callback(one.end)
            collectors.append(one)
            one.wait()
        proxy = Proxy(work / "proxy", [one.port for one in collectors])
        opened.callback(proxy.end)
        print(f"proxy       {proxy.address}")
        for one in collectors:
            print(f"collector   http://127.0.0.1:{one.port}   process {one.process.pid}")
        print(f"PostgreSQL  {database.address}\nCtrl-C ends all of it.", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("ending", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
