"""An app with the real Python client: hands rows over for ever, notes each person whose rows were taken, and delivers.

Run as a process that is killed at any moment: python -m bench.faults.delivery ADDRESS FOLDER COLLECTION FIRST COUNT
"""

from __future__ import annotations

import sys
from pathlib import Path

from tacit.client import connect

BETWEEN = 5
"""People between two deliveries."""


def main(address: str, folder: Path, collection: str, first: int, count: int) -> int:
    client = connect(address, collection=collection, store=folder / "wallet.db", cap=1_000, every=0)
    with (folder / "taken").open("a", encoding="utf-8") as taken:
        for person in range(first, first + count):
            mine = client.person(f"p-{person}")
            mine.record("users", {"age": person % 10})
            mine.rows("orders", [{"pay": person % 5}] * (person % 3))
            taken.write(f"{person}\n")
            taken.flush()
            if person % BETWEEN == 0:
                client.flush(0.1)
    while client.flush(20.0).pending:
        pass
    client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
