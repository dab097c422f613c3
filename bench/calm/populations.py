"""The data of the CALM paper, or what stands for it: items bought or not, and census records of few categories.

The paper's POS and Kosarak are not available: `fimi_retail` stands for both, its d most frequent items as binary
attributes. Adult is the paper's; ACS stands for its US census extract. As in the paper, attributes of the census data
have at most three categories: numbers by terciles, texts by their two most frequent values and the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

__all__ = ["ADULT", "NAMES", "SVM", "Population", "population"]

ADULT = (
    "age", "workclass", "education", "education_num", "marital_status", "occupation", "relationship", "income",
)  # fmt: skip
ACS = (
    "agep", "sex", "mar", "schl", "esr", "pincp", "wkhp", "hicov",
    "rac1p", "hisp", "cit", "cow", "wkwn", "wagp", "dis", "state",
)  # fmt: skip
SVM = {
    "adult": (("age", "workclass", "education", "education_num", "occupation"), "income"),
    "acs": (("agep", "schl", "esr", "wkhp", "mar"), "pincp"),
}
"""Features and label of the classification: income above 50,000."""

NAMES = {"retail": "FIMI retail, most frequent items", "adult": "Adult", "acs": "ACS 2024"}
RICH = 50_000


@dataclass(frozen=True, eq=False)
class Population:
    """Rows of small whole numbers, the values of each column, and whether rows were drawn with replacement."""

    rows: np.ndarray
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    repeated: bool


def population(data: Path, name: str, attributes: int, people: int, *, most: int = 3) -> Population:
    """Return ``people`` rows: a sample of the set, or, where that is smaller, rows drawn with replacement."""
    rows, sizes, names = _retail(data, attributes) if name == "retail" else _census(data, name, attributes, most)
    rng = np.random.default_rng(2018)
    repeated = people > len(rows)
    chosen = rng.integers(0, len(rows), people) if repeated else rng.permutation(len(rows))[:people]
    return Population(rows[chosen], sizes, names, repeated)


def _retail(data: Path, attributes: int) -> tuple[np.ndarray, tuple[int, ...], tuple[str, ...]]:
    path = data / "fimi_retail.parquet"
    top = f"SELECT item FROM '{path}' GROUP BY item ORDER BY count(*) DESC, item LIMIT {attributes}"
    items = duckdb.sql(top).fetchnumpy()["item"]
    bought = duckdb.sql(f"SELECT tid, item FROM '{path}' SEMI JOIN ({top}) USING (item)").fetchnumpy()
    count = duckdb.sql(f"SELECT max(tid) AS n FROM '{path}'").fetchall()[0][0]
    rows = np.zeros((count, attributes), dtype=np.int8)
    order = np.argsort(items)
    rows[bought["tid"] - 1, order[np.searchsorted(items, bought["item"], sorter=order)]] = 1
    return rows, (2,) * attributes, tuple(f"item{i}" for i in items)


def _census(data: Path, name: str, attributes: int, most: int) -> tuple[np.ndarray, tuple[int, ...], tuple[str, ...]]:
    wanted = (ADULT if name == "adult" else ACS)[:attributes]
    path = data / ("adult.parquet" if name == "adult" else "acs2024_person.parquet")
    if len(wanted) < attributes:
        message = f"{name} has {len(wanted)} attributes prepared."
        raise ValueError(message)
    adults = "" if name == "adult" else " WHERE agep >= 18 USING SAMPLE reservoir(400000 ROWS) REPEATABLE (2018)"
    columns = duckdb.sql(f"SELECT {', '.join(wanted)} FROM '{path}'{adults}").df()
    coded = [_coded(columns[column], most, label=column in ("income", "pincp")) for column in wanted]
    return np.stack([own for own, _ in coded], axis=1).astype(np.int8), tuple(n for _, n in coded), wanted


def _coded(column: Any, most: int, *, label: bool) -> tuple[np.ndarray, int]:
    """Return a column as small numbers, and how many there are."""
    if column.dtype.kind in "iuf":
        numbers = column.fillna(-1).to_numpy(dtype=np.float64)
        if label:
            return (numbers > RICH).astype(np.int64), 2
        edges = np.unique(np.quantile(numbers, [i / most for i in range(1, most)]))
        codes = np.searchsorted(edges, numbers, side="left")
        if not codes.any():  # most people have the largest value
            codes = np.searchsorted(edges, numbers, side="right")
    else:
        texts = column.fillna("missing").astype(str)
        top = texts.value_counts(sort=True).index[: most - 1]
        codes = np.full(len(texts), most - 1)
        for place, value in enumerate(top):
            codes[(texts == value).to_numpy()] = place
    _, codes = np.unique(codes, return_inverse=True)
    return codes, int(codes.max()) + 1
