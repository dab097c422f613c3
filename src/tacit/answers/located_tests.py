"""Where the sums of a quantile's tests are: groups share the places, so that a test of a group costs no object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.answers.group_sums import GroupSums
from tacit.estimate.functional import Vector
from tacit.sql.shifts import Shifts

__all__ = ["LocatedTest", "LocatedTests"]


@dataclass(frozen=True, eq=False)
class LocatedTest:
    """The location of a test's sums."""

    sums: GroupSums
    place: int
    shifts: Sequence[Shifts]


@dataclass(frozen=True, eq=False)
class LocatedTests:
    """The tests of one group: ``parts`` are the sums of each request, ``located`` each test's part and place in it."""

    parts: Sequence[tuple[GroupSums, Sequence[Shifts]]]
    located: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.located)

    def __getitem__(self, test: int) -> LocatedTest:
        part, place = self.located[test].tolist()
        sums, shifts = self.parts[part]
        return LocatedTest(sums, place, shifts)

    def read(self, column: Callable[[GroupSums], npt.ArrayLike]) -> Vector:
        """Return a number for each test, given those of all totals of a request."""
        numbers = np.empty(len(self))
        for part, (sums, _) in enumerate(self.parts):
            of_part = self.located[:, 0] == part
            if of_part.any():
                numbers[of_part] = np.asarray(column(sums))[self.located[of_part, 1]]
        return numbers
