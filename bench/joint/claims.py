"""What the paper says about its table and figures, as conditions on the results.

A mean of a few squared errors is itself very uncertain, so NMSE is judged on the **level** of a point: the mean square
of the standard errors that the answers state, or, where nothing was measured, the predicted one. AVG has no such thing
where its denominator comes near zero: it is judged on the median of the measured relative errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

__all__ = ["Figures", "judge", "level"]

MUCH = 3.0
"""Factor of squared errors up to which they are called comparable, or not much affected."""

Row = dict[str, float]
Found = tuple[bool, str]
Check = Callable[["Figures"], Found]


def level(point: dict[str, Any], measure: str) -> float | None:
    """Return what a point's error is judged on, if it has one."""
    if measure == "mre_avg":
        return point.get("mre_avg_median")
    return point.get(f"{measure}_stated", point.get(f"{measure}_predicted"))


class Figures:
    """Results by figure and curve."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.points = {name: p for part in results["populations"].values() for name, p in part["points"].items()}
        self.table = [row for part in results["populations"].values() for row in part["table"].values()]
        self.groups = [row for part in results["populations"].values() for row in part["groups"].values()]
        self.panels = {panel["figure"]: panel for panel in results["panels"]}

    def curves(self, figure: str) -> dict[str, Row]:
        """Return the levels of all curves of a panel, by position; points without one are left out."""
        panel = self.panels[figure]
        found = {
            curve["name"]: {
                at: value
                for at, name in curve["points"]
                if name in self.points and (value := level(self.points[name], panel["measure"])) is not None
            }
            for curve in panel["curves"]
        }
        return {name: row for name, row in found.items() if row}

    def ratios(self, figure: str, over: str, under: str) -> Row:
        """Return, by position, how many times larger one curve is than another."""
        curves = self.curves(figure)
        return {at: value / curves[under][at] for at, value in curves[over].items() if at in curves[under]}

    def deviations(self, method: str, question: int, kind: str = "predicted") -> Row:
        """Return, by epsilon, the predicted error of a mean in table 2, or the measured deviation over releases."""
        rows = [row for row in self.table if row["method"] == method]
        if not rows:
            raise KeyError(method)
        return {f"{row['epsilon']:g}": row[kind][question] for row in rows}


def _shown(row: Row) -> str:
    return ", ".join(f"{at}: {value:.3g}" for at, value in row.items())


def _rises(values: Iterable[float]) -> bool:
    return all(later > earlier for earlier, later in pairwise(values))


def _spread(row: Row) -> float:
    return max(row.values()) / min(row.values())


def _above(figures: Iterable[str], over: Iterable[str], under: str) -> Check:
    """Return a check that some curves lie above another, at every position of some panels."""

    def check(found: Figures) -> Found:
        rows = {(figure, name): found.ratios(figure, name, under) for figure in figures for name in over}
        every = [value for row in rows.values() for value in row.values()]
        shown = "; ".join(f"{figure} {name}/{under} {_shown(row)}" for (figure, name), row in rows.items())
        return min(every) > 1, shown

    return check


def _even(figures: Iterable[str], names: Iterable[str]) -> Check:
    """Return a check that curves do not change by more than the factor along their axis."""

    def check(found: Figures) -> Found:
        spreads = {f"{figure} {name}": _spread(found.curves(figure)[name]) for figure in figures for name in names}
        return max(spreads.values()) <= MUCH, f"largest over smallest {_shown(spreads)}"

    return check


def _moves(figures: Iterable[str], *, up: bool, but: Iterable[str] = ()) -> Check:
    """Return a check that all curves rise, or fall, along their axis."""

    def check(found: Figures) -> Found:
        marks = {
            f"{figure} {name}": _rises(row.values() if up else list(row.values())[::-1])
            for figure in figures
            for name, row in found.curves(figure).items()
            if name not in (*but, "tacit")
        }
        if not marks:
            raise KeyError(figures)
        wrong = [name for name, right in marks.items() if not right]
        shown = f"{len(marks) - len(wrong)} of {len(marks)} curves"
        return not wrong, f"{shown}; not {', '.join(wrong)}" if wrong else shown

    return check


def _enumeration_grows(found: Figures) -> Found:
    rows = {name: found.curves("6f")[name] for name in ("HIO", "AHIO", "EHIO")}
    grows = {name: row["250"] / row["5"] for name, row in rows.items()}
    agrees = grows["HIO"] > 10 and max(grows["AHIO"], grows["EHIO"]) < grows["HIO"] / MUCH
    return agrees, f"m = 250 over 5: {_shown(grows)}"


def _marginals_grow(found: Figures) -> Found:
    rows = {name: found.curves("6d")[name] for name in ("AMG", "AHIO", "EHIO")}
    grows = {name: row["0.3"] / row["0.04"] for name, row in rows.items()}
    return grows["AMG"] > 2 * max(grows["AHIO"], grows["EHIO"]), f"volume 0.3 over 0.04: {_shown(grows)}"


def _marginals_comparable(found: Figures) -> Found:
    row = {at: found.ratios("6d", "AMG", "AHIO")[at] for at in ("0.04", "0.08", "0.15")}
    return all(1 / MUCH <= value <= MUCH for value in row.values()), f"AMG/AHIO {_shown(row)}"


def _truth_in_interval(found: Figures) -> Found:
    inside = [
        abs(mean - truth) <= deviation
        for row in found.table
        if row["releases"] >= 10 and row["method"] != "tacit"
        for mean, deviation, truth in zip(row["mean"], row["deviation"], row["truth"], strict=True)
    ]
    if not inside:
        raise KeyError("table")
    return all(inside), f"{sum(inside)} of {len(inside)} means of ten releases"


def _table(over: str, under: str, least: float, most: float) -> Check:
    def check(found: Figures) -> Found:
        rows = {f"Q{q + 1}": found.deviations(over, q) for q in range(3)}
        ratios = {
            question: {at: value / found.deviations(under, q)[at] for at, value in row.items()}
            for q, (question, row) in enumerate(rows.items())
        }
        every = [value for row in ratios.values() for value in row.values()]
        shown = "; ".join(f"{question} {_shown(row)}" for question, row in ratios.items())
        seen = [
            least <= value / found.deviations(under, q, "deviation")[at] <= most
            for q in range(3)
            for at, value in found.deviations(over, q, "deviation").items()
        ]
        measured = f"so do {sum(seen)} of {len(seen)} measured deviations"
        return least <= min(every) and max(every) <= most, f"{over}/{under} predicted {shown}; {measured}"

    return check


def _selective(found: Figures) -> Found:
    methods = ("HIO", "AHIO", "EHIO", "AHIO-RDC")
    rising = [
        found.deviations(method, 0)[at] < found.deviations(method, 1)[at] < found.deviations(method, 2)[at]
        for method in methods
        for at in found.deviations(method, 0)
    ]
    falling = [_rises(list(found.deviations(method, q).values())[::-1]) for method in methods for q in range(3)]
    shown = f"rises from Q1 to Q3 in {sum(rising)} of {len(rising)}, falls with epsilon in {sum(falling)}"
    return all(rising) and all(falling), f"{shown} of {len(falling)}"


def _more_ranges(found: Figures) -> Found:
    rows = {figure: found.ratios(figure, "AHIO", "AHIO-RDC, k = 2^dq") for figure in ("7a", "7c")}
    shown = "; ".join(f"{figure} AHIO/AHIO-RDC {_shown(row)}" for figure, row in rows.items())
    return all(_rises(row.values()) for row in rows.values()), shown


def _more_covers(found: Figures) -> Found:
    two, four = (found.curves("7b")[f"HIO-RDC, k = {k}^dq"] for k in (2, 4))
    gains = {f"dq = {at}, k = {2 ** int(at)} to {4 ** int(at)}": two[at] / value for at, value in four.items()}
    return _rises(gains.values()) and list(gains.values())[-1] > 1, f"gain {_shown(gains)}"


def _predicates(found: Figures) -> Found:
    rows = {figure: found.ratios(figure, "SC-JOIN", "HIO-JOIN") for figure in ("8a", "8c")}
    shown = "; ".join(f"{figure} SC-JOIN/HIO-JOIN {_shown(row)}" for figure, row in rows.items())
    return all(row["CO"] > max(1, row["C"], row["O"]) for row in rows.values()), shown


def _groups_close(found: Figures) -> Found:
    spreads = {figure: _spread(found.curves(figure)["HIO-JOIN-RDC"]) for figure in ("12a", "12b")}
    return max(spreads.values()) <= MUCH, f"largest over smallest {_shown(spreads)}"


def _groups_trend(found: Figures) -> Found:
    shown, right = [], True
    for method in ("HIO-JOIN-RDC", "tacit"):
        for one in ("count", "sum"):
            rows = [row for row in found.groups if row["method"] == method]
            if not rows:
                raise KeyError(method)
            by = [sorted(rows, key=lambda row, k=k: -row[one][k])[:2] for k in ("estimate", "truth")]  # type: ignore[misc]
            top, true = ("".join(row["race"] for row in some) for some in by)
            shown.append(f"{method} {one}: {top}, true {true}")
            right &= method == "tacit" or top == true
    return right, "; ".join(shown)


ONE, MANY = ("8a*", "8c*"), ("8b*", "8d*")
STATEMENTS: tuple[tuple[str, str, Check], ...] = (
    ("6a", "For COUNT, HIO performs better than AHIO and EHIO.", _above(["6a"], ["AHIO", "EHIO"], "HIO")),
    ("6d", "For SUM, AHIO outperforms HIO consistently.", _above(["6d"], ["HIO"], "AHIO")),
    ("6d", "For SUM, EHIO outperforms HIO consistently.", _above(["6d"], ["HIO"], "EHIO")),
    ("6e", "For AVG, AHIO outperforms HIO consistently.", _above(["6e"], ["HIO"], "AHIO")),
    ("6ad", "The volume has not much effect on COUNT or SUM.", _even(["6a", "6d"], ["HIO", "AHIO", "EHIO"])),
    ("6e", "The relative error of AVG falls as the volume rises.", _moves(["6e"], up=False, but=["AMG"])),
    ("6b", "The domain has slight effects on COUNT.", _even(["6b"], ["HIO", "AHIO", "EHIO"])),
    ("6f", "It does not affect SUM by AHIO or EHIO much; HIO's error rises fast.", _enumeration_grows),
    ("6ch", "As d increases, all errors increase.", _moves(["6c", "6h"], up=True)),
    ("6d", "AHIO and EHIO are consistently worse than HIO-PUB.", _above(["6d", "6h"], ["AHIO", "EHIO"], "HIO-PUB")),
    ("6d", "AMG's error grows much faster with the volume than AHIO's and EHIO's.", _marginals_grow),
    ("6d", "Up to volume 0.15, AMG is comparable to AHIO.", _marginals_comparable),
    ("T2", "All true results lie in the intervals of one standard deviation.", _truth_in_interval),
    ("T2", "AHIO consistently outperforms HIO.", _table("HIO", "AHIO", 1, 1e9)),
    ("T2", "EHIO consistently outperforms HIO.", _table("HIO", "EHIO", 1, 1e9)),
    ("T2", "AHIO and EHIO are comparable.", _table("AHIO", "EHIO", 1 / MUCH, MUCH)),
    ("T2", "AHIO-RDC performs better than AHIO.", _table("AHIO", "AHIO-RDC", 1, 1e9)),
    ("T2", "Deviations rise when the predicate is more selective, and fall as epsilon rises.", _selective),
    ("7ac", "RDC's gain on COUNT and SUM rises with the number of ranges.", _more_ranges),
    ("7b", "Larger k performs better when there are more ranges.", _more_covers),
    ("7bd", "HIO-RDC consistently outperforms HIO.", _above(["7b", "7d"], ["HIO"], "HIO-RDC, k = 2^dq")),
    ("8ac", "Larger epsilon or n, better estimates (one-to-one).", _moves(ONE, up=False)),
    ("8ac", "As the predicate gets complicated, HIO-JOIN outperforms SC-JOIN.", _predicates),
    ("8ac", "HIO-JOIN-RDC consistently improves on HIO-JOIN.", _above(["8a", "8c"], ["HIO-JOIN"], "HIO-JOIN-RDC")),
    ("8bd", "Larger epsilon or n, better estimates (one-to-many).", _moves(MANY, up=False)),
    ("8bd", "As tau increases, COUNT and SUM get worse.", _moves(["8b", "8d"], up=True)),
    ("8f", "The effect of tau on AVG is not substantial.", _even(["8f"], ["HIO-JOIN", "HIO-JOIN-RDC"])),
    ("8bd", "RDC improves one-to-many joins, too.", _above(["8b", "8d"], ["HIO-JOIN"], "HIO-JOIN-RDC")),
    ("12", "NMSE is very close for all groups.", _groups_close),
    ("11", "One release shows the two largest groups.", _groups_trend),
)


def judge(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every statement with what was found; statements about parts that were not run are left out."""
    figures, judged = Figures(results), []
    for figure, paper, check in STATEMENTS:
        try:
            agrees, found = check(figures)
        except (KeyError, ValueError, IndexError):  # not all of its points are there
            continue
        judged.append({"figure": figure, "paper": paper, "agrees": agrees, "found": found})
    return judged
