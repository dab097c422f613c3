"""A search for questions on which a simpler mechanism beats ``auto``: random schemas, budgets, questions and people.

Run ``python -m bench.limit.search [--cases N] [--first K] [--minutes M]``: measures the cases that search.json lacks
and writes the table of the page. Each case is one service of one to five attributes (ordinal, categorical, boolean,
date, some with NULL), a budget, and a few questions. `auto`, designed for the questions and without them, is compared
with nested levels (`hio`) and the mechanisms of the papers by predicted variance, over even and over skewed people. The
score of a mechanism is the mean over questions of its variance relative to that of the best mechanism for each; those
that refuse a question have no score. Without questions nothing is known of them, so that `auto` is compared with nested
levels alone, class by class.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.limit.run import Matrix
from tacit.contract.contract import ServiceContract
from tacit.errors import TacitError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.population import Population
from tacit.estimate.variance import expected_variance

HERE = Path(__file__).parent
RESULTS, README = HERE / "search.json", HERE / "README.md"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
RIVALS = ("hio", "pairs", "am(1)", "am(2)", "am(3)", "fc", "mg")
MOST_VIEWS = 700
"""Views of a rival up to which it is compared."""

LOST = 1.05
"""Score over that of the best rival above which a case is lost."""

Vectors = dict[int, Matrix]


def attribute_of(number: int, rng: np.random.Generator) -> tc.Ordinal | tc.Categorical | tc.Date:
    """Return a random attribute."""
    kind, name = rng.choice(["ordinal", "ordinal", "categorical", "boolean", "date"]), f"x{number}"
    null = bool(rng.random() < 0.15)
    if kind == "ordinal":
        return tc.Ordinal(name, 0, int(rng.choice([3, 6, 11, 15, 31, 63, 99])), null=null)
    if kind == "date":
        first = datetime.date(2026, 1, 10)
        return tc.Date(name, first, first + datetime.timedelta(days=int(rng.choice([27, 89, 364]))), null=null)
    count = 2 if kind == "boolean" else int(rng.integers(3, 13))
    return tc.Categorical(name, values=list(range(count)), null=null)


def is_ordered(attribute: Any) -> bool:
    """Tell whether an attribute has ranges."""
    return isinstance(attribute, tc.Ordinal)


def question(kind: str, attributes: Sequence[Any], sizes: Sequence[int], rng: np.random.Generator) -> Vectors:
    """Return a random question of a class, as vectors; categories have single values for ranges."""
    parts = kind.split(" x ")
    chosen = rng.choice(len(sizes), min(len(parts), len(sizes)), replace=False).tolist()
    vectors: Vectors = {}
    for i, part in zip(chosen, parts, strict=False):
        values, place = sizes[i] - attributes[i].null, np.arange(sizes[i])
        if part == "point" or not is_ordered(attributes[i]):
            vectors[i] = (place == rng.integers(values)).astype(float)
        elif part == "range":
            low, high = sorted(rng.choice(values + 1, 2, replace=False).tolist())
            vectors[i] = ((place >= low) & (place < high)).astype(float)
        else:
            middle = 0.5 if part == "average" else 0.0
            vectors[i] = np.where(place < values, (place + 0.5) / values - middle, 0.0)
    return {i: vector for i, vector in vectors.items() if np.ptp(vector)}


CLASSES = ("range", "point", "sum", "average", "range x range", "point x point", "sum x range", "average x range")


def shares_of(sizes: Sequence[int], rng: np.random.Generator) -> list[Matrix]:
    """Return skewed shares of values: one in two attributes is Zipf, the others have one mode."""
    made = []
    for size in sizes:
        place = np.arange(size)
        weights = 1 / (1 + place) ** 1.2 if rng.random() < 0.5 else np.exp(-(((place / size - 0.3) / 0.15) ** 2)) + 1e-4
        made.append(weights / weights.sum())
    return made


def variances(service: ServiceContract, asked: Sequence[Vectors], shares: list[Matrix] | None) -> list[float]:
    """Return the predicted variance of each question, per report."""
    decoder, population = Decoder(service), Population.of(service, shares)
    sizes = tuple(levels.size for levels in service.levels)
    made = []
    for vectors in asked:
        functional = Functional.constant(sizes)
        for i, vector in vectors.items():
            functional = functional * Functional.of(sizes, i, vector)
        made.append(expected_variance(decoder, functional, population))
    return made


def case_of(number: int) -> tuple[tc.Schema, float, list[Vectors], list[str], list[Matrix]]:
    """Return a random case: schema, budget, questions with their classes, and skewed shares."""
    rng = np.random.default_rng(seed_of("limit search", number))
    attributes = [attribute_of(i, rng) for i in range(int(rng.integers(1, 6)))]
    schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes)])
    sizes = [one.size for one in attributes]
    kinds = [str(kind) for kind in rng.choice(CLASSES, int(rng.integers(1, 4)), replace=False)]
    asked, told = [], []
    for kind in kinds:
        for _ in range(int(rng.integers(1, 5))):
            if vectors := question(kind, attributes, sizes, rng):
                asked.append(vectors)
                told.append(kind)
    if not asked:
        asked, told = [{0: (np.arange(sizes[0]) == 0).astype(float)}], ["point"]
    return schema, float(rng.choice(EPSILONS)), asked, told, shares_of(sizes, rng)


def compile_all(schema: tc.Schema, epsilon: float, asked: Sequence[Vectors]) -> dict[str, ServiceContract]:
    """Return the service as `auto` designs it, with and without questions, and in the rivals' layouts."""
    from fractions import Fraction

    from tacit.answers.auto import choose_layout
    from tacit.contract.contract import compile_service
    from tacit.contract.layouts import Asked, Expected

    service, budget = schema.services[0], Fraction(str(epsilon))
    wanted = tuple(Asked(1.0, vectors) for vectors in asked)
    start = time.process_time()
    made = {"designed": choose_layout(service, Expected(budget, None, wanted), "auto")}
    made["auto"] = choose_layout(service, Expected(budget), "auto")
    compile_all.seconds = time.process_time() - start  # type: ignore[attr-defined]
    for name in RIVALS:
        try:
            compiled = compile_service(service, Expected(budget), name, "auto", hint=False)
        except TacitError:
            continue
        if len(compiled.channels[0].views) <= MOST_VIEWS:
            made[name] = compiled
    return made


def measure(number: int) -> dict[str, Any]:
    """Return the scores of all mechanisms in one case."""
    schema, epsilon, asked, told, skewed = case_of(number)
    compiled = compile_all(schema, epsilon, asked)
    found: dict[str, Any] = {
        "case": number,
        "epsilon": epsilon,
        "attributes": [f"{type(one).__name__} {one.size}" for one in schema.services[0].attributes],
        "asked": sorted(set(told)),
        "questions": len(asked),
        "views": {name: len(one.channels[0].views) for name, one in compiled.items()},
        "layouts": [compiled[name].layout for name in ("designed", "auto")],
        "seconds": figure(compile_all.seconds),  # type: ignore[attr-defined]
    }
    for people, shares in (("even", None), ("skewed", skewed)):
        known: dict[str, list[float]] = {}
        for name, one in compiled.items():
            try:
                known[name] = variances(one, asked, shares)
            except TacitError:
                continue
        least = np.min(list(known.values()), axis=0)
        found[people] = {name: figure(np.mean(np.array(own) / least)) for name, own in known.items()}
        if "hio" in compiled:
            found[people]["classes"] = against_nested(number, schema, compiled, shares)
    return found


def against_nested(
    number: int, schema: tc.Schema, compiled: dict[str, ServiceContract], shares: list[Matrix] | None
) -> dict[str, float]:
    """Return the variance of `auto` without questions over that of nested levels, for each class of questions."""
    rng = np.random.default_rng(seed_of("limit search classes", number))
    attributes = schema.services[0].attributes
    sizes = [one.size for one in attributes]
    made = {}
    for kind in CLASSES:
        if len(sizes) < 2 and " x " in kind:
            continue
        asked = [vectors for _ in range(6) if (vectors := question(kind, attributes, sizes, rng))]
        if asked:
            ours, nested = (np.mean(variances(compiled[name], asked, shares)) for name in ("auto", "hio"))
            made[kind] = figure(ours / nested)
    return made


def lost(case: dict[str, Any], people: str, ours: str) -> float:
    """Return the score of the design over the best rival's; of `auto` the worst class over nested levels."""
    if ours == "auto":
        return max(case[people].get("classes", {"none": float("nan")}).values())
    rivals = [score for name, score in case[people].items() if name in RIVALS]
    return case[people].get(ours, float("inf")) / min(rivals, default=float("inf"))


def table_of(cases: Sequence[dict[str, Any]]) -> str:
    """Return how often each of ours loses, and by how much at most."""
    lines = [
        "| people | of ours | over | cases | lost by more than 5 % | worst | geometric mean |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for people in ("even", "skewed"):
        for ours, over in (("designed", "best rival"), ("auto", "nested levels, worst class")):
            ratios = [lost(case, people, ours) for case in cases]
            ratios = [ratio for ratio in ratios if 0 < ratio < float("inf")]
            count = sum(ratio > LOST for ratio in ratios)
            mean = float(np.exp(np.mean(np.log(ratios))))
            lines.append(f"| {people} | {ours} | {over} | {len(ratios)} | {count} | {max(ratios):.2f} | {mean:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure the cases that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    cases = json.loads(options.output.read_text())["cases"] if options.output.exists() else []
    known = {one["case"]: one for one in cases}
    begin = time.monotonic()
    for number in range(options.first, options.first + options.cases):
        if number in known or time.monotonic() - begin > 60 * options.minutes:
            continue
        known[number] = measure(number)
        worst = [lost(known[number], "even", ours) for ours in ("designed", "auto")]
        if max(worst) > LOST:
            say(f"{number}: designed {worst[0]:.2f}, auto {worst[1]:.2f} {json.dumps(known[number])}")
        found = [known[case] for case in sorted(known)]
        options.output.write_text(json.dumps({"about": provenance(["numpy"]), "cases": found}, indent=1) + "\n")
    table = table_of([known[case] for case in sorted(known)])
    say(table)
    if options.output == RESULTS:
        write_part(README, "<!-- search -->", table)


if __name__ == "__main__":
    main()
