"""Levels and covers against brute force, on domains that do not divide evenly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tacit as tc
from tacit.contract.layouts import Level, Levels

VALUES = [1, 2, 7, 25, 26, 124, 1000]
FANOUTS = range(2, 17)


def padded_cells(values: int, fanout: int) -> list[list[tuple[int, ...]]]:
    """Build every level over a padded domain, then delete what is not there: the definition, done slowly."""
    height = 0
    while fanout**height < values:
        height += 1
    levels: list[list[tuple[int, ...]]] = []
    for depth in range(height + 1):
        width = fanout ** (height - depth)
        cells = [tuple(range(start, min(start + width, values))) for start in range(0, fanout**height, width)]
        cells = [cell for cell in cells if cell]
        if not levels or cells != levels[-1]:
            levels.append(cells)
    return levels


@pytest.mark.parametrize("fanout", FANOUTS)
@pytest.mark.parametrize("values", VALUES)
def test_levels_are_the_padded_tree_without_its_padding(values: int, fanout: int) -> None:
    levels = Levels.build(values, fanout=fanout, null=False)
    expected = padded_cells(values, fanout)
    assert [level.cells for level in levels.levels] == [len(cells) for cells in expected]
    for level, cells in zip(levels.levels, expected, strict=True):
        table = level.table()
        assert [tuple(np.flatnonzero(table == cell)) for cell in range(level.cells)] == cells
        assert [level.cell_of(value) for value in range(values)] == table.tolist()
        if values <= 124:
            brute = [[float(value in cell) for value in range(values)] for cell in cells]
            assert level.matrix().tolist() == brute


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("fanout", [2, 5, 16])
@pytest.mark.parametrize("values", [1, 2, 7, 26, 124])
def test_matrices_refine_each_other_and_null_stands_alone(values: int, fanout: int, null: bool) -> None:
    levels = Levels.build(values, fanout=fanout, null=null)
    assert levels.size == values + null
    assert levels[0].cells == 1
    assert levels[levels.finest].cells == levels.size
    for coarse, fine in itertools.pairwise(levels.levels):
        assert fine.cells > coarse.cells
        upper, lower = coarse.matrix(), fine.matrix()
        assert upper.shape == (coarse.cells, levels.size)
        assert (lower.sum(axis=0) == 1).all()
        inside = (upper @ lower.T) > 0  # every fine cell meets exactly one coarse cell
        assert (inside.sum(axis=0) == 1).all()
        if null:
            assert lower[-1].tolist() == [0.0] * values + [1.0]


def fewest_cells(levels: Levels, low: int, high: int) -> int:
    """Return the least number of disjoint cells that tile a range, by dynamic programming over its end."""
    ends: dict[int, list[int]] = {}
    for level in levels.levels:
        if level.null or level is not levels.levels[0] or not levels.has_null:
            for cell in range(-(-level.values // level.width)):
                first, last = cell * level.width, min((cell + 1) * level.width, level.values) - 1
                ends.setdefault(last, []).append(first)
    best = {low - 1: 0}
    for end in range(low, high + 1):
        options = [best[first - 1] + 1 for first in ends.get(end, []) if first >= low]
        best[end] = min(options)
    return best[high]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("fanout", FANOUTS)
@pytest.mark.parametrize("values", [1, 2, 7, 25, 26])
def test_covers_tile_every_range_with_the_fewest_cells(values: int, fanout: int, null: bool) -> None:
    levels = Levels.build(values, fanout=fanout, null=null)
    for low in range(values):
        for high in range(low, values):
            tiles = levels.cover(low, high)
            covered = [value for depth, cell in tiles for value in np.flatnonzero(levels[depth].table() == cell)]
            assert sorted(covered) == list(range(low, high + 1))
            assert len(tiles) == fewest_cells(levels, low, high)


@pytest.mark.parametrize("fanout", FANOUTS)
@pytest.mark.parametrize("values", [124, 1000])
def test_covers_of_large_domains(values: int, fanout: int, source: np.random.Generator) -> None:
    levels = Levels.build(values, fanout=fanout, null=False)
    for _ in range(40):
        low, high = sorted(source.integers(0, values, 2).tolist())
        tiles = levels.cover(low, high)
        covered = [value for depth, cell in tiles for value in np.flatnonzero(levels[depth].table() == cell)]
        assert sorted(covered) == list(range(low, high + 1))
        assert len(tiles) == fewest_cells(levels, low, high)


def test_categories_have_two_levels_with_null_or_without() -> None:
    for null in (False, True):
        levels = Levels.of(tc.Categorical("c", ["x", "y", "z"], null=null))
        assert [level.cells for level in levels.levels] == [1, 3 + null]


def test_a_single_value_has_one_level_and_with_null_two() -> None:
    assert [level.cells for level in Levels.build(1, fanout=5, null=False).levels] == [1]
    assert [level.cells for level in Levels.build(1, fanout=5, null=True).levels] == [1, 2]
    assert Level(width=1, values=1, null=True).cell_of(1) == 1
