"""What is measured: table 2 and the panels of figures 6 to 9 and 12, as data; figure 11 is one release of figure 12."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bench.chart import Curve, Panel
from bench.joint.census import CITY, GROUPS, ILLINOIS, INDIANA, Households, Persons
from bench.joint.measure import AVG, COUNT, SUM, Campaign, Reader, Workload
from bench.joint.questions import join_questions, random_ranges, volume_questions
from bench.joint.worlds import Kind, Syn1, Syn2

__all__ = ["GROUPED", "QUESTIONS", "TABLE", "Point", "panels"]

HIO = Reader("HIO", "hio", "olh", "cover")
HIO_RDC = Reader("HIO-RDC", "hio", "olh", "rdc")
AHIO = Reader("AHIO", "ahio", "olh", "cover")
AHIO_RDC = Reader("AHIO-RDC", "ahio", "olh", "rdc")
EHIO = Reader("EHIO", "ehio", "olh", "cover")
AMG = Reader("AMG", "amg", "lh", "cover")
SC_JOIN = Reader("SC-JOIN", "sc", "olh", "cover")
HIO_JOIN = replace(AHIO, name="HIO-JOIN")
HIO_JOIN_RDC = replace(AHIO_RDC, name="HIO-JOIN-RDC")
OURS = Reader("tacit", "hio", "auto", "blue")

VOLUMES = (0.04, 0.08, 0.15, 0.22, 0.30)
SIZES = (5, 25, 125, 250)
DIMENSIONS = (2, 3, 4, 5)
AGES = ((1, 20), (21, 45), (46, 70), (71, 95), (96, 120))
RELEASES = 10
MILLION = 1_000_000
MEASURES = {COUNT: "nmse_count", SUM: "nmse_sum", AVG: "mre_avg"}


@dataclass(frozen=True)
class Point:
    """One mark of a panel: reports, how they are read, and what is asked, in how many encodings (0: predicted)."""

    campaign: Campaign
    reader: Reader
    workload: Workload
    encodings: int

    @property
    def name(self) -> str:
        """Key of the point."""
        return f"{self.campaign.name} | {self.reader.decoder} | {self.workload.name}"


def point(
    kind: Kind, reader: Reader, workload: Workload, encodings: int, *, epsilon: float = 2.0, sends: int = 1
) -> Point:
    """Return the point of a reader; its reports are those of its mechanism and oracle."""
    return Point(Campaign(kind, epsilon, reader.mechanism, reader.oracle, sends), reader, workload, encodings)


def _drawn(curves: Iterable[Curve[Point]], measure: str) -> tuple[Curve[Point], ...]:
    """Keep the points that a measure can be drawn of: AVG is not predicted."""
    kept = []
    for curve in curves:
        points = tuple(
            (at, each) for at, each in curve.points if each.encodings or measure in (MEASURES[COUNT], MEASURES[SUM])
        )
        if points and not (curve.name == "HIO-PUB" and measure == MEASURES[COUNT]):
            kept.append(Curve(curve.name, points))
    return tuple(kept)


def _panels(letters: str, curves: list[Curve[Point]], title: str, axis: str) -> Iterator[Panel[Point]]:
    """Yield a panel for each of COUNT, SUM and AVG."""
    for letter, (aggregate, measure) in zip(letters, MEASURES.items(), strict=True):
        yield Panel(letter, f"{aggregate.upper()}, {title}", axis, measure, _drawn(curves, measure))


def _single(name: str, volume: float, size: int, d: int) -> Point:
    """Return figure 6's point."""
    questions, encodings = 3, 5
    kind = Syn1(d, size)
    if name == "HIO-PUB":
        return point(kind, HIO, volume_questions(volume, questions, public=True), encodings)
    reader = {each.name: each for each in (HIO, AHIO, EHIO, AMG, OURS)}[name]
    if reader is AMG:
        kind, encodings = replace(kind, room=5), encodings if d < 4 else 0  # see README, "Marginals by a linear hash"
    return point(kind, reader, volume_questions(volume, questions), encodings)


def _sums() -> Iterator[Panel[Point]]:
    names = ("HIO", "HIO-PUB", "AHIO", "EHIO", "AMG", "tacit")
    by_volume, by_size, by_d = [], [], []
    for name in names:
        volumes = [(f"{volume:g}", _single(name, volume, 125, 2)) for volume in VOLUMES]
        sizes = [(str(size), _single(name, 0.15, size, 2)) for size in SIZES]
        dimensions = [(str(d), _single(name, 0.15, 125, d)) for d in DIMENSIONS]
        for found, row in ((by_volume, volumes), (by_size, sizes), (by_d, dimensions)):
            found.append(Curve(name, tuple(row)))
    yield from _panels(("6a", "6d", "6e"), by_volume, "SYN-1, d = 2, m = 125", "volume")
    yield from _panels(("6b", "6f", "6g"), by_size, "SYN-1, d = 2, volume 0.15", "values of the summed attribute")
    yield from _panels(("6c", "6h", "6i"), by_d, "SYN-1, m = 125, volume 0.15", "attributes")


def _consistency() -> Iterator[Panel[Point]]:
    questions, encodings, asked = 3, 5, (1, 2, 3, 4)  # four ranges are predicted: minutes a question
    for letters, readers, public in (
        (("7a", "7c", "7e"), (AHIO, AHIO_RDC), False),
        (("7b", "7d", "7f"), (HIO, HIO_RDC), True),
    ):
        plain, rdc = readers
        more = [replace(rdc, name=f"{rdc.name}, k = {k}", decoder=f"rdc({k})") for k in (4, 16)]
        curves = []
        for reader in (plain, rdc, *more, OURS):
            most = {"rdc(16)": 1, "rdc(4)": 2}.get(reader.decoder, 4)
            row = [(d, random_ranges(4, d, questions, public=public)) for d in asked if d <= most]
            name = f"{reader.name}, k = 2^dq" if reader is rdc else reader.name
            name = f"{rdc.name}, k = 4^dq" if reader.decoder == "rdc(4)" else name
            points = tuple((str(d), point(Syn1(4), reader, work, encodings if d < 4 else 0)) for d, work in row)
            curves.append(Curve(name, points))
        title = f"{'public' if public else 'sensitive'} measure, d = 4"
        yield from _panels(letters, curves, title, "ranges in the predicate")


def _one_to_one() -> Iterator[Panel[Point]]:
    readers, questions, encodings = (SC_JOIN, HIO_JOIN, HIO_JOIN_RDC, OURS), 3, 5
    kinds, epsilons = ("C", "O", "CO"), (1.0, 2.0, 5.0)
    work = {kind: join_questions(kind, questions) for kind in kinds}
    small, large = Syn2(many=False), Syn2(many=False, rows=2 * MILLION)
    by_kind, by_epsilon = [], []
    for reader in readers:
        points = tuple((kind, point(small, reader, work[kind], encodings)) for kind in kinds)
        by_kind.append(Curve(reader.name, points))
        row = [(f"{e:g}", point(small, reader, work["CO"], encodings, epsilon=e)) for e in epsilons]
        row.insert(2, ("2, 2M", point(large, reader, work["CO"], encodings)))
        by_epsilon.append(Curve(reader.name, tuple(row)))
    yield from _panels(("8a", "8c", "8e"), by_kind, "one-to-one, 1M, epsilon 2", "predicate")
    yield from _panels(("8a*", "8c*", "8e*"), by_epsilon, "one-to-one, CO, 1M", "epsilon (and rows)")


def _one_to_many() -> Iterator[Panel[Point]]:
    readers, encodings, sends = (HIO_JOIN, HIO_JOIN_RDC, OURS), 5, (1, 2, 4)
    work = join_questions("CO", 4)
    small, large = Syn2(many=True), Syn2(many=True, rows=2 * MILLION)
    by_tau, by_epsilon = [], []
    for reader in readers:
        taus = tuple((str(tau), point(small, reader, work, encodings, sends=tau)) for tau in sends)
        by_tau.append(Curve(reader.name, taus))
        row = [(f"{e:g}", point(small, reader, work, encodings, epsilon=e)) for e in (1.0, 2.0, 5.0)]
        row.insert(2, ("2, 2M", point(large, reader, work, encodings)))
        by_epsilon.append(Curve(reader.name, tuple(row)))
    yield from _panels(("8b", "8d", "8f"), by_tau, "one-to-many, 1M, epsilon 2", "tau")
    yield from _panels(("8b*", "8d*", "8f*"), by_epsilon, "one-to-many, CO, tau 1", "epsilon (and rows)")


def _households() -> Iterator[Panel[Point]]:
    for letters, kind in ((("9a", "9c", "9e"), INDIANA), (("9b", "9d", "9f"), ILLINOIS)):
        curves = []
        for reader in (HIO_JOIN, HIO_JOIN_RDC, OURS):
            for epsilon in (2.0, 5.0):
                points = tuple(
                    (f"{low}-{high}", point(kind, reader, _age(kind, low, high), 5, epsilon=epsilon))
                    for low, high in AGES
                )
                curves.append(Curve(f"{reader.name}, {epsilon:g}", points))
        yield from _panels(letters, curves, kind.label, "age")
    curves = [Curve(each[0].reader.name, tuple(zip(GROUPS, each, strict=True))) for each in GROUPED]
    for letter, aggregate in (("12a", COUNT), ("12b", SUM)):
        title = f"{aggregate.upper()}, Illinois, largest area, epsilon 5"
        yield Panel(letter, title, "race", MEASURES[aggregate], tuple(curves))


def _age(kind: Households, low: int, high: int) -> Workload:
    return Workload(f"{low}-{high}", "age", (f"city = {CITY[kind.state]} AND age BETWEEN {low} AND {high}",))


GROUPED = tuple(
    tuple(
        point(
            ILLINOIS,
            reader,
            Workload(race, "income", (f"city = {CITY[17]} AND race = '{race}'",), (COUNT, SUM)),
            15,
            epsilon=5.0,
        )
        for race in GROUPS
    )
    for reader in (HIO_JOIN_RDC, OURS)
)
"""Figures 11 and 12: people of the largest area of Illinois by race; the first release is figure 11."""

QUESTIONS = {
    "Q1": "marst = 1",
    "Q2": "marst = 1 AND age BETWEEN 31 AND 70",
    "Q3": "marst = 5 AND age BETWEEN 31 AND 50",
}
TABLE = tuple(
    point(Persons(), reader, Workload("Q1 to Q3", "uhrswork", tuple(QUESTIONS.values())), RELEASES, epsilon=epsilon)
    for reader in (HIO, AHIO, EHIO, AHIO_RDC, OURS)
    for epsilon in (0.5, 1.0, 2.0, 5.0)
)
"""Table 2: ten releases of each; tacit at epsilon 5 has three (see `run`)."""


def panels() -> list[Panel[Point]]:
    """Return all panels in the order of the paper."""
    return [*_sums(), *_consistency(), *_one_to_one(), *_one_to_many(), *_households()]
