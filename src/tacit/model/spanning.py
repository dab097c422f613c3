"""The tree of the most dependent pairs of attributes, and paths in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["path_between", "spanning_tree"]


def spanning_tree(weights: Mapping[tuple[int, int], float]) -> dict[int, list[int]]:
    """Return the neighbours of each attribute in the tree of the largest weights, or forest (Kruskal).

    Examples
    --------
    >>> spanning_tree({(0, 1): 3.0, (1, 2): 2.0, (0, 2): 1.0})
    {0: [1], 1: [0, 2], 2: [1]}
    """
    neighbours: dict[int, list[int]] = {i: [] for pair in weights for i in pair}
    group = {i: i for i in neighbours}
    for a, b in sorted(weights, key=lambda pair: -weights[pair]):
        if group[a] != group[b]:
            neighbours[a].append(b)
            neighbours[b].append(a)
            joined = group[b]
            group = {i: group[a] if tree == joined else tree for i, tree in group.items()}
    return neighbours


def path_between(neighbours: Mapping[int, Sequence[int]], start: int, stop: int) -> list[int]:
    """Return the attributes from one to another in a tree; empty if they are not connected."""
    before = {start: start}
    ahead = [start]
    while ahead and stop not in before:
        node = ahead.pop()
        for other in neighbours.get(node, ()):
            if other not in before:
                before[other] = node
                ahead.append(other)
    if stop not in before:
        return []
    path = [stop]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]
