"""What is measured: the panels of the paper's figures 4 to 8, 10 to 12 and 14, as data.

The paper's text gives the settings and the default values; the positions on the axes are those that its sentences and
tables name (volumes 0.01, 0.1, 0.25, 0.5, 0.8; epsilon 0.5, 1, 2, 5; 0.1 to 3 million rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bench.chart import Curve, Panel
from bench.mda.populations import ACS, ADULT

__all__ = ["QUERIES", "Campaign", "DecoderName", "Method", "Point", "Setting", "Workload", "panels"]

QUERIES = 30
"""Random questions at each point, as in the paper."""

FEW_QUERIES, FEW_ENCODINGS = 8, 4
"""Where a question takes seconds: the linear hash has 149 values at epsilon 5."""

ADULT_ROWS, MILLION, ALL_ROWS = 45_222, 1_000_000, 2_736_891
VOLUMES = (0.01, 0.1, 0.25, 0.5, 0.8)
EPSILONS = (0.5, 1.0, 2.0, 5.0)
ROWS = (100_000, 200_000, 500_000, MILLION, 2_000_000, ALL_ROWS)
SELECTIVITIES = (0.02, 0.1, 0.3)
SIDES = (25, 125, 625)
FOUR_TYPES = ((1, 0), (1, 1), (2, 0), (2, 2))
EIGHT_TYPES = ((1, 0), (0, 1), (1, 1), (0, 2), (2, 0), (2, 1))


DecoderName = Literal["blue", "cover", "rdc"]


@dataclass(frozen=True)
class Setting:
    """The sensitive columns of a table: ordinals with their numbers of buckets, and categories."""

    population: str
    ordinals: tuple[tuple[str, int], ...]
    categories: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Short text for keys and titles."""
        sizes = "x".join(str(size) for _, size in self.ordinals)
        return f"{self.population} {sizes}" + (f"+{len(self.categories)}" if self.categories else "")


@dataclass(frozen=True)
class Method:
    """A curve: how reports are made and read, and how many of the questions it is asked.

    ``encodings`` independent encodings share the questions, so that errors at a point are not all from the same noise.
    ``room`` multiplies the declared domain of the last ordinal (see README, "Local hashing by a linear hash").
    """

    name: str
    mechanism: str
    oracle: str
    decoder: DecoderName
    queries: int = QUERIES
    encodings: int = 5
    room: int = 1


@dataclass(frozen=True)
class Workload:
    """Random questions: ranges on all ordinals with a joint volume, or a type a+b with a selectivity."""

    share: float
    kind: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """Short text for keys."""
        return f"volume {self.share}" if self.kind is None else f"{self.kind[0]}+{self.kind[1]} at {self.share}"


@dataclass(frozen=True)
class Campaign:
    """Reports that several points share."""

    setting: Setting
    rows: int
    epsilon: float
    method: Method

    @property
    def name(self) -> str:
        """Key of the campaign."""
        return f"{self.setting.name} | {self.rows} rows | eps {self.epsilon:g} | {self.method.name}"

    @property
    def is_measured(self) -> bool:
        """Whether reports are made: HI sends one for every combination of levels, 25 a person with two attributes."""
        most = 200_000 if len(self.setting.ordinals) > 1 else MILLION
        return self.method.mechanism != "hi" or self.rows <= most


@dataclass(frozen=True)
class Point:
    """One mark of a panel."""

    campaign: Campaign
    workload: Workload

    @property
    def name(self) -> str:
        """Key of the point."""
        return f"{self.campaign.name} | {self.workload.name}"


MG_OLH = Method("MG, OLH", "mg", "olh", "cover")
MG = Method("MG", "mg", "lh", "cover", room=5)
HI = Method("HI", "hi", "olh", "cover", queries=6, encodings=2)
HIO = Method("HIO", "hio", "olh", "cover")
SC = Method("SC", "sc", "olh", "cover", queries=8, encodings=2)
OURS = Method("tacit", "hio", "auto", "blue")
OURS_PAIRS = Method("tacit pairs", "pairs", "auto", "blue")

ADULT_1 = Setting(ADULT, (("weight", 1024),))
ACS_1 = Setting(ACS, (("income", 1024),))
ACS_2 = (
    Setting(ACS, (("income", 256), ("weight", 256))),
    Setting(ACS, (("income", 1024), ("age", 64))),
)
ACS_3 = Setting(ACS, (("income", 256), ("weight", 256), ("age", 64)))
ACS_4 = {side: Setting(ACS, (("income", side), ("age", side)), ("marital", "sex")) for side in SIDES}
ACS_8 = Setting(
    ACS,
    (("income", 25), ("age", 25), ("weight", 25), ("school", 25)),
    ("marital", "sex", "race", "work"),
)


def _campaign(setting: Setting, rows: int, epsilon: float, method: Method) -> Campaign:
    """Return the campaign; slow ones are asked fewer questions."""
    hashed = method.oracle in ("lh", "auto") and len(setting.ordinals) > 1 and epsilon >= 5
    if hashed and not (method.mechanism == "pairs" and setting.ordinals[0][1] <= 25):
        method = replace(method, queries=FEW_QUERIES, encodings=FEW_ENCODINGS)
    return Campaign(setting, rows, epsilon, method)


def _by_volume(setting: Setting, rows: int, method: Method) -> Curve[Point]:
    campaign = _campaign(setting, rows, 2.0, method)
    return Curve(method.name, tuple((str(volume), Point(campaign, Workload(volume))) for volume in VOLUMES))


def _by_rows(setting: Setting, method: Method) -> Curve[Point]:
    campaigns = [(rows, _campaign(setting, rows, 2.0, method)) for rows in ROWS]
    return Curve(method.name, tuple((f"{rows / 1e6:.3g}", Point(each, Workload(0.25))) for rows, each in campaigns))


def _by_epsilon(setting: Setting, method: Method) -> Curve[Point]:
    campaigns = [(epsilon, _campaign(setting, MILLION, epsilon, method)) for epsilon in EPSILONS]
    return Curve(method.name, tuple((f"{epsilon:g}", Point(each, Workload(0.25))) for epsilon, each in campaigns))


def _type_name(kind: tuple[int, int]) -> str:
    return f"{kind[0]}+{kind[1]}"


def _by_type(setting: Setting, epsilon: float, method: Method, kinds: Sequence[tuple[int, int]]) -> Curve[Point]:
    campaign = _campaign(setting, MILLION, epsilon, method)
    return Curve(method.name, tuple((_type_name(kind), Point(campaign, Workload(0.1, kind))) for kind in kinds))


def _one_attribute() -> Iterator[Panel[Point]]:
    volume, size, budget = "vol(q)", "million rows", "epsilon"
    methods = (MG, HI, HIO, OURS)
    adult = [_by_volume(ADULT_1, ADULT_ROWS, method) for method in (MG_OLH, *methods)]
    yield Panel("4a", "Adult, 1024 values, epsilon 2", volume, "mnae", tuple(adult))
    acs = [_by_volume(ACS_1, MILLION, method) for method in methods]
    yield Panel("4b", "ACS 1M, 1024 values, epsilon 2", volume, "mnae", tuple(acs))
    yield Panel("4c", "ACS, volume 0.25, epsilon 2", size, "mnae", tuple(_by_rows(ACS_1, method) for method in methods))
    yield Panel("5", "ACS 1M, volume 0.25", budget, "mnae", tuple(_by_epsilon(ACS_1, method) for method in methods))


def _two_and_three_attributes() -> Iterator[Panel[Point]]:
    methods = (MG, HI, HIO, OURS)
    for letters, setting in zip(("ab", "cd"), ACS_2, strict=True):
        title = setting.name.removeprefix(f"{ACS} ")
        by_epsilon = tuple(_by_epsilon(setting, method) for method in methods)
        yield Panel(f"6{letters[0]}", f"ACS 1M, {title}, volume 0.25", "epsilon", "mnae", by_epsilon)
        by_rows = tuple(_by_rows(setting, method) for method in methods)
        yield Panel(f"6{letters[1]}", f"ACS, {title}, volume 0.25, epsilon 2", "million rows", "mnae", by_rows)
    for letter, setting in zip("ab", ACS_2, strict=True):
        title = setting.name.removeprefix(f"{ACS} ")
        by_volume = tuple(_by_volume(setting, MILLION, method) for method in methods)
        yield Panel(f"7{letter}", f"ACS 1M, {title}, epsilon 2", "vol(q)", "mnae", by_volume)
    three = tuple(_by_volume(ACS_3, MILLION, method) for method in (MG, HIO, OURS))
    yield Panel("8", "ACS 1M, 256x256x64, epsilon 2", "vol(q)", "mnae", three)


def _more_attributes() -> Iterator[Panel[Point]]:
    for letters, epsilon in (("ab", 2.0), ("cd", 5.0)):
        for letter, measure in zip(letters, ("mre_sum", "mre_avg"), strict=True):
            campaign = _campaign(ACS_4[625], MILLION, epsilon, HIO)
            curves = tuple(
                Curve(_type_name(kind), tuple((str(s), Point(campaign, Workload(s, kind))) for s in _reachable(kind)))
                for kind in FOUR_TYPES
            )
            title = f"HIO, 625 values, {'SUM' if measure == 'mre_sum' else 'AVG'}, epsilon {epsilon:g}"
            yield Panel(f"10{letter}", title, "selectivity", measure, curves)
    for letter, epsilon in (("a", 2.0), ("b", 5.0)):
        for number, method in enumerate((HIO, OURS, OURS_PAIRS)):
            kinds = [kind for kind in FOUR_TYPES if method is not OURS_PAIRS or sum(kind) <= 2]
            curves = tuple(Curve(_type_name(kind), tuple(_by_side(epsilon, method, kind))) for kind in kinds)
            name = f"{method.name}, SUM at selectivity 0.1, epsilon {epsilon:g}"
            yield Panel(f"11{letter}{'*' * number}", name, "values of an ordinal", "mre_sum", curves)
    four = tuple(_by_type(ACS_4[25], 5.0, method, FOUR_TYPES) for method in (HIO, SC, OURS))
    yield Panel("14", "2+2 attributes, 25 values, epsilon 5, SUM", "question", "mre_sum", four)
    two_at_most = tuple(kind for kind in EIGHT_TYPES if sum(kind) <= 2)
    eight = [_by_type(ACS_8, 5.0, method, EIGHT_TYPES) for method in (HIO, SC)]
    eight.append(_by_type(ACS_8, 5.0, OURS_PAIRS, two_at_most))
    yield Panel("12", "4+4 attributes, 25 values, epsilon 5, SUM", "question", "mre_sum", tuple(eight))


def _by_side(epsilon: float, method: Method, kind: tuple[int, int]) -> Iterator[tuple[str, Point]]:
    for side in SIDES:
        yield str(side), Point(_campaign(ACS_4[side], MILLION, epsilon, method), Workload(0.1, kind))


def _reachable(kind: tuple[int, int]) -> Iterator[float]:
    """Yield the selectivities of a type: no pair of marital status and sex holds 0.3 of all people."""
    yield from (share for share in SELECTIVITIES if kind != (2, 2) or share < 0.3)


def panels() -> list[Panel[Point]]:
    """Return all panels in the order of the paper."""
    return [*_one_attribute(), *_two_and_three_attributes(), *_more_attributes()]
