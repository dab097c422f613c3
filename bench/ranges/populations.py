"""People of the peer comparison, and census people to see that nothing was made for them.

normal    six correlated normal attributes (0.8), cut at 4 standard deviations into 64 bins
laplace   the same times the root of an exponential number, cut at 5
spiky     eight latent classes; an attribute is its class's value with probability 0.7, else anything
census    age, usual weekly hours, income and schooling of ACS persons; what does not apply is 0

The first three are drawn from the comparison's own seeds, so that its figures are about the same people.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

__all__ = ["SIZES", "VALUES", "population", "ranges", "truth"]

VALUES, MOST = 64, 6
SEEDS = {"normal": 101, "laplace": 202, "spiky": 303}
SIZES = {**dict.fromkeys(SEEDS, (VALUES,) * MOST), "census": (100, 100, 125, 25)}
CENSUS = """SELECT agep, coalesce(wkhp, 0), least(greatest(coalesce(pincp, 0), 0) // 2000, 124), coalesce(schl, 0)
            FROM '{}' WHERE agep >= 0 ORDER BY hash(hid * 100 + sporder) LIMIT {}"""

People = npt.NDArray[np.int64]
Range = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""Attributes, and for each the first and the last value."""


def population(name: str, people: int, folder: Path) -> People:
    """Return one row of value indices for each person."""
    if name == "census":
        query = CENSUS.format(folder / "acs2024_person.parquet", people)
        columns = duckdb.sql(query).fetchnumpy().values()
        return np.stack([np.asarray(column).astype(np.int64) for column in columns], axis=1)
    source = np.random.default_rng(SEEDS[name])
    if name == "spiky":
        weights = 1 / np.arange(1, 9)
        spikes = source.integers(0, VALUES, (MOST, 8))
        own = spikes[:, source.choice(8, people, p=weights / weights.sum())].T
        other = source.integers(0, VALUES, (people, MOST))
        return np.where(source.random((people, MOST)) < 0.7, own, other).astype(np.int64)
    covariance = np.full((MOST, MOST), 0.8) + 0.2 * np.eye(MOST)
    values = source.standard_normal((people, MOST)) @ np.linalg.cholesky(covariance).T
    limit = 4.0
    if name == "laplace":
        values *= np.sqrt(source.exponential(1.0, people))[:, None]
        limit = 5.0
    cells = np.floor((values + limit) / (2 * limit) * VALUES)
    return np.clip(cells, 0, VALUES - 1).astype(np.int64)


def ranges(sizes: tuple[int, ...], asked: int, volume: float, count: int = 200) -> list[Range]:
    """Return random ranges of some attributes, each with a share of its values."""
    source = np.random.default_rng([len(sizes), asked, round(volume * 1000), 7])
    found = []
    for _ in range(count):
        attributes = tuple(sorted(source.choice(len(sizes), asked, replace=False).tolist()))
        lengths = [max(1, round(sizes[i] * volume)) for i in attributes]
        starts = [int(source.integers(0, sizes[i] - n + 1)) for i, n in zip(attributes, lengths, strict=True)]
        found.append((attributes, tuple((low, low + n - 1) for low, n in zip(starts, lengths, strict=True))))
    return found


def truth(people: People, asked: list[Range]) -> npt.NDArray[np.float64]:
    """Return the share of people in each range."""
    shares = []
    for attributes, bounds in asked:
        inside = np.ones(len(people), dtype=bool)
        for i, (low, high) in zip(attributes, bounds, strict=True):
            inside &= (people[:, i] >= low) & (people[:, i] <= high)
        shares.append(inside.mean())
    return np.array(shares)
