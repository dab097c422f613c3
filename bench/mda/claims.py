"""What the paper says about its figures, as conditions on the results, and what tacit gains over HIO.

A mean of 30 absolute errors is itself uncertain by a seventh, so ratios are judged on the **level** of a point: the
mean of the standard errors that the answers state (or, where nothing was measured, the predicted one), as a mean
absolute error. The measured means are shown next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["gains", "judge", "level"]

Check = Callable[["_Figures"], tuple[bool, str]]


def level(point: dict[str, Any], measure: str) -> float:
    """Return the expected value of a point's mean error, as the stated errors (or else the prediction) have it."""
    return float(point.get(f"{measure}_stated", point.get(f"{measure}_predicted", float("nan"))))


@dataclass(frozen=True)
class _Row:
    """A curve: positions with their points."""

    measure: str
    points: dict[str, dict[str, Any]]

    @property
    def levels(self) -> list[float]:
        """Levels in the order of the positions."""
        return [level(point, self.measure) for point in self.points.values()]


class _Figures:
    """Results by figure and curve."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.points = results["points"]
        self._panels = {panel["figure"]: panel for panel in results["panels"]}

    def row(self, figure: str, curve: str) -> _Row:
        """Return one curve."""
        panel = self._panels[figure]
        [found] = [each for each in panel["curves"] if each["name"] == curve]
        return _Row(panel["measure"], {at: self.points[name] for at, name in found["points"]})

    def curves(self, figure: str) -> dict[str, _Row]:
        """Return all curves of a panel."""
        return {curve["name"]: self.row(figure, curve["name"]) for curve in self._panels[figure]["curves"]}

    def ratios(self, figure: str, over: str, under: str) -> dict[str, tuple[float, float | None]]:
        """Return, by position, how many times larger one curve is: by level, and as measured where both are."""
        top, bottom = self.row(figure, over), self.row(figure, under)
        found = {}
        for at in top.points.keys() & bottom.points.keys():
            a, b, name = top.points[at], bottom.points[at], top.measure
            measured = a[name] / b[name] if name in a and name in b else None
            found[at] = (level(a, name) / level(b, name), measured)
        return {at: found[at] for at in top.points if at in found}


def _shown(ratios: dict[str, tuple[float, float | None]]) -> str:
    return ", ".join(f"{at}: {expected:.2f}" + _bracket(seen) for at, (expected, seen) in ratios.items())


def _bracket(measured: float | None) -> str:
    return f" ({measured:.2f})" if measured is not None else " (–)"


def _falls(values: Iterable[float]) -> bool:
    return all(later < earlier for earlier, later in pairwise(values))


def _break_even(figures: _Figures) -> tuple[bool, str]:
    both = [figures.ratios(figure, "MG", "HIO") for figure in ("4a", "4b")]
    agrees = all(ratios["0.01"][0] < 1 and 1 / 1.5 <= ratios["0.1"][0] <= 1.5 for ratios in both)
    return agrees, "; ".join(map(_shown, both))


def _three_times(figures: _Figures) -> tuple[bool, str]:
    both = [figures.ratios(figure, "MG", "HIO")["0.8"] for figure in ("4a", "4b")]
    shown = "Adult {:.2f}, ACS {:.2f}".format(*(ratio for ratio, _ in both))
    return all(2 <= ratio <= 4 for ratio, _ in both), shown


def _larger_data(figures: _Figures) -> tuple[bool, str]:
    names = ("MG", "HI", "HIO")
    pairs = [
        small / large
        for name in names
        for small, large in zip(figures.row("4a", name).levels, figures.row("4b", name).levels, strict=True)
    ]
    return min(pairs) > 1, f"errors on Adult are {min(pairs):.1f} to {max(pairs):.1f} times those on ACS"


def _hio_best(figure: str) -> Check:
    def check(figures: _Figures) -> tuple[bool, str]:
        falling = all(_falls(figures.row(figure, name).levels) for name in ("MG", "HI", "HIO"))
        marginals, split = figures.ratios(figure, "MG", "HIO"), figures.ratios(figure, "HI", "HIO")
        best = all(ratio > 1 for ratios in (marginals, split) for ratio, _ in ratios.values())
        return falling and best, f"MG/HIO {_shown(marginals)}; HI/HIO {_shown(split)}"

    return check


def _small_volumes(figures: _Figures) -> tuple[bool, str]:
    both = [figures.ratios(figure, "MG", "HIO") for figure in ("7a", "7b")]
    agrees = all((ratio < 1) == (at == "0.01") for ratios in both for at, (ratio, _) in ratios.items())
    return agrees, "; ".join(map(_shown, both))


def _much_worse(figures: _Figures) -> tuple[bool, str]:
    found = {figure: figures.ratios(figure, "MG", "HIO") for figure in ("6a", "6b", "6c", "6d")}
    every = [ratio for ratios in found.values() for ratio, _ in ratios.values()]
    return min(every) > 1.5, f"MG/HIO from {min(every):.2f} to {max(every):.2f} at volume 0.25"


def _three_dimensions(figures: _Figures) -> tuple[bool, str]:
    ratios = figures.ratios("8", "MG", "HIO")
    return all(ratio > 1 for ratio, _ in ratios.values()), _shown(ratios)


def _three_times_in_three(figures: _Figures) -> tuple[bool, str]:
    ratios = figures.ratios("8", "MG", "HIO")
    return ratios["0.5"][0] >= 3 and ratios["0.8"][
        0
    ] >= 3, f"{ratios['0.5'][0]:.2f} at 0.5, {ratios['0.8'][0]:.2f} at 0.8"


def _selectivity(figures: _Figures) -> tuple[bool, str]:
    rows = [row for figure in ("10a", "10c") for row in figures.curves(figure).values()]
    falling = [_falls(row.levels) for row in rows]
    return all(falling), f"{sum(falling)} of {len(falling)} curves fall"


def _selectivity_of_means(figures: _Figures) -> tuple[bool, str]:
    """Judge AVG by measured errors: stated ones say nothing where the denominator comes near zero."""
    rows = [row for figure in ("10b", "10d") for row in figures.curves(figure).values()]
    falling = [_falls(point[row.measure] for point in row.points.values()) for row in rows]
    return all(falling), f"{sum(falling)} of {len(falling)} curves fall"


def _domains(figures: _Figures) -> tuple[bool, str]:
    rows = [row for figure in ("11a", "11b") for row in figures.curves(figure).values()]
    rising = [_falls(reversed(row.levels)) for row in rows]
    return all(rising), f"{sum(rising)} of {len(rising)} curves rise"


def _query_types(figures: _Figures) -> tuple[bool, str]:
    few, many = [], []
    for figure in ("11a", "11b"):
        curves = figures.curves(figure)
        for place in range(3):
            few.append(max(curves[kind].levels[place] for kind in ("1+0", "1+1")))
            many.append(min(curves[kind].levels[place] for kind in ("2+0", "2+2")))
    holds = [a < b for a, b in zip(few, many, strict=True)]
    return all(holds), f"true in {sum(holds)} of {len(holds)} pairs of epsilon and domain"


def _split_four(figures: _Figures) -> tuple[bool, str]:
    ratios = figures.ratios("14", "SC", "HIO")
    comparable = all(0.5 <= ratios[kind][0] <= 2 for kind in ("1+0", "1+1"))
    return comparable and all(ratios[kind][0] > 2 for kind in ("2+0", "2+2")), _shown(ratios)


def _split_eight(figures: _Figures) -> tuple[bool, str]:
    ratios = figures.ratios("12", "SC", "HIO")
    return all((ratio < 1) == (kind != "2+1") for kind, (ratio, _) in ratios.items()), _shown(ratios)


def _under_five(figures: _Figures) -> tuple[bool, str]:
    points = {name: point for name, point in figures.points.items() if "| HIO |" in name and "mnae" in point}
    below = sum(point["mnae"] < 0.05 for point in points.values())
    return below > len(points) / 2, f"{below} of {len(points)} points of HIO have an MNAE below 0.05"


STATEMENTS: tuple[tuple[str, str, Check], ...] = (
    ("4ab", "MG is better than HIO only at volume 0.01; 0.1 is the break-even point.", _break_even),
    ("4ab", "At volume 0.8 MG's error is about 3 times HIO's.", _three_times),
    ("4ab", "All do better on the larger data.", _larger_data),
    ("4c", "More data, better estimates; HIO always performs best.", _hio_best("4c")),
    ("5", "All benefit from larger epsilon; HIO performs best.", _hio_best("5")),
    ("6", "At volume 0.25 MG is much worse than HIO for all epsilon and sizes.", _much_worse),
    ("7", "MG is better up to volume 0.01, and much worse above.", _small_volumes),
    ("8", "HIO's estimates are consistently better than MG's.", _three_dimensions),
    ("8", "From volume 0.5 on HIO is at least 3 times more accurate.", _three_times_in_three),
    ("10", "Relative errors of SUM fall as selectivity rises.", _selectivity),
    ("10", "Those of AVG have a similar trend.", _selectivity_of_means),
    ("11", "Errors are larger when domains are larger.", _domains),
    ("11", "1+0 and 1+1 are more accurate than 2+0 and 2+2.", _query_types),
    ("14", "SC and HIO are comparable on 1+0 and 1+1; otherwise HIO is much better.", _split_four),
    ("12", "SC is better than HIO for almost all types, except 2+1.", _split_eight),
    ("4-8", "HIO's normalised error is below 5 % in most questions.", _under_five),
)


def judge(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every statement with what was found; numbers in brackets are ratios of measured means."""
    figures = _Figures(results)
    judged = []
    for figure, paper, check in STATEMENTS:
        agrees, found = check(figures)
        judged.append({"figure": figure, "paper": paper, "agrees": agrees, "found": found})
    return judged


def gains(points: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many times smaller tacit's errors are than HIO's, point by point."""
    found = []
    for name, theirs in points.items():
        setting, rows, epsilon, method, workload = name.split(" | ")
        if method != "HIO":
            continue
        for ours in ("tacit", "tacit pairs"):
            other = points.get(" | ".join((setting, rows, epsilon, ours, workload)))
            if other is None:
                continue
            measure = "mre_sum" if "mre_sum" in theirs else "mnae"
            seen = round(theirs[measure] / other[measure], 2) if measure in other else None
            expected = round(level(theirs, measure) / level(other, measure), 2)
            found.append({"point": name, "method": ours, "expected": expected, "measured": seen})
    return found
