"""Nothing that people type or send makes a library print: its words quote questions, or fill a disk."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sqlglot.expressions as exp
import tacit as tc

users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Categorical("state", ["CA", "NY"])])
collection = tc.Collection(tc.Schema([users]), epsilon=1)
names = sorted({name for kind in exp.ALL_FUNCTIONS for name in kind.sql_names()})
assert len(names) > 300
texts = [f"SELECT {name}({', '.join(['age'] * count)}) FROM users" for name in names for count in (0, 1, 2, 3)]
texts += [f"SELECT COUNT(*) FROM users WHERE {name}(state) = 'CA'" for name in names]
texts += ["ALTER TABLE users ALTER", "COPY users TO 'x'", "CALL f()", "SHOW TABLES", "SET x = 1", "PRAGMA x", "VACUUM"]
refused = 0
for text in texts:
    try:
        collection.predict(text, users=10)
    except tc.TacitError:
        refused += 1
assert refused > 1_000, refused
"""


def test_no_function_of_sql_makes_the_parser_print() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=300)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


NONSENSE = (
    b"garbage\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello",
    b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)


def test_no_request_makes_the_server_print(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tacit.cli", "serve", str(tmp_path / "store"), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        for sent in NONSENSE:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(sent)
                assert connection.recv(12).startswith(b"HTTP/1.1 ")
        process.terminate()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""
