"""Isotonic regressions of many rows at once are those of each row."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.estimate.isotonic import isotonic, isotonic_rows


@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_rows_are_those_of_each_row(count: int, source: np.random.Generator) -> None:
    """Smooth, noisy, equal and falling rows; the oracle pools one number after the other."""
    noise = source.normal(size=(40, count))
    rows = np.concatenate(
        [
            np.linspace(-1, 1, count) + 0.1 * noise,
            np.cumsum(noise, axis=1),
            source.integers(0, 3, (20, count)).astype(np.float64),
            -np.arange(count, dtype=np.float64)[None, :],
        ]
    )
    assert np.allclose(isotonic_rows(rows), np.stack([isotonic(row) for row in rows]), rtol=1e-12, atol=1e-12)
