"""How often intervals of quantiles hold, over independent encodings of one population.

python -m bench.quantiles.run [encodings]
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

import tacit as tc
from tacit.contract.randomness import insecure_rng

PEOPLE, VALUES, EPSILON = 1_000, 200, 3.0
SHARES = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
CONDITIONS = {"all": "", "half": "WHERE kind = 'x'", "join": "JOIN t USING (uid) WHERE other = 'x'"}


def main() -> None:
    """Print a line for each kind of data, condition and share."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    draw = np.random.default_rng(17)
    data = {
        "smooth": draw.normal(100, 30, PEOPLE).round().clip(0, VALUES - 1).astype(int),
        "heavy": draw.lognormal(3, 1, PEOPLE).round().clip(0, VALUES - 1).astype(int),
        "lumpy": draw.choice([0, 20, 40, 100, VALUES - 1], PEOPLE, p=[0.3, 0.3, 0.2, 0.15, 0.05]),
    }
    kind, other = draw.choice(["x", "y"], PEOPLE), draw.choice(["x", "y"], PEOPLE)
    chosen = {"all": np.ones(PEOPLE, dtype=bool), "half": kind == "x", "join": other == "x"}
    rows = np.arange(count * PEOPLE)
    for name, values in data.items():
        attributes = [tc.Ordinal("a", 0, VALUES - 1), tc.Categorical("kind", ["x", "y"]), tc.Public("n", type="int")]
        services = [tc.Service("s", key="uid", attributes=attributes)]
        services.append(tc.Service("t", key="uid", attributes=[tc.Categorical("other", ["x", "y"])]))
        collection = tc.Collection(tc.Schema(services), epsilon=EPSILON)
        people = {"uid": rows, "a": np.tile(values, count), "kind": np.tile(kind, count), "n": rows // PEOPLE}
        others = pa.table({"uid": rows, "other": np.tile(other, count)})
        database = tc.connect()
        database.create(collection)
        database.load(collection.encode(s=pa.table(people), t=others, rng=insecure_rng(23)))
        for condition, where in CONDITIONS.items():
            where = f"{where} AND n < {max(1, count // 4)}" if condition == "join" else where  # a row per person
            held = []
            for share in SHARES:
                answer = database.sql(f"SELECT n, QUANTILE(a, {share}) AS a FROM s {where} GROUP BY n")["a"]
                truth = float(np.quantile(values[chosen[condition]], share, method="inverted_cdf"))
                held.append(np.mean([one.low <= truth <= one.high for one in answer]))
            print(name, condition, " ".join(f"{one:.3f}" for one in held), f"mean {np.mean(held):.4f}", flush=True)


if __name__ == "__main__":
    main()
