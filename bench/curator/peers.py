"""Rows drawn by MST and AIM of private-pgm: python bench/curator/peers.py FOLDER MECHANISMS [--only NAME].

Run it in an environment of its own with the package mbi. FOLDER holds the columns that `bench.curator.run --peers`
wrote, MECHANISMS is the folder of that name of a clone of private-pgm. Every release is a file of rows beside them.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

EPSILONS, DELTA, RUNS = (0.1, 1.0), 1e-9, 3


def release(mechanism: str, data: Any, epsilon: float) -> Any:
    """Return synthetic data of a mechanism."""
    if mechanism == "pgm mst":
        return importlib.import_module("mst").MST(data, epsilon, DELTA)
    aim = importlib.import_module("aim").AIM(epsilon, DELTA)
    pairs = [(a, b) for i, a in enumerate(data.domain.attrs) for b in data.domain.attrs[i + 1 :]]
    result = aim.run(data, [(pair, 1.0) for pair in pairs])
    return result[1] if isinstance(result, tuple) else result


def main() -> None:
    """Draw what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("mechanisms", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    sys.path.insert(0, str(options.mechanisms))
    import pandas
    from mbi import Dataset, Domain

    for file in sorted(options.folder.glob("*.npz")):
        stored = np.load(file)
        names = [f"c{i}" for i in range(stored["rows"].shape[1])]
        domain = Domain(names, [int(size) for size in stored["sizes"]])
        for epsilon in EPSILONS:
            for mechanism in ("pgm mst", "pgm aim"):
                for run in range(RUNS):
                    key = f"{file.stem}-{epsilon:g}-{mechanism.replace(' ', '_')}-{run}"
                    out = options.folder / f"{key}.npy"
                    if out.exists() or options.only not in key:
                        continue
                    np.random.seed(run)  # noqa: NPY002  the source that the mechanisms draw from
                    data = Dataset(pandas.DataFrame(stored["rows"], columns=names), domain)
                    start = time.process_time()
                    drawn = release(mechanism, data, epsilon)
                    np.save(out, drawn.df[names].to_numpy())
                    print(f"{key}: {time.process_time() - start:.0f} s of the processor", flush=True)


if __name__ == "__main__":
    main()
