"""P6: encoding takes the same work whatever the values are, and whether there is a row at all.

Work is counted in executed bytecode instructions, which no load of the machine changes; what Python does within an
instruction (searching a list, say) is seen by a coarse comparison of times. `bench/timing` measures nanoseconds.
"""

from __future__ import annotations

import datetime
import gc
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit.client import Interpreter

DAY = datetime.date(2026, 2, 27)
WORDS = [f"v{number:03d}" for number in range(1000)]

Rows = list[dict[str, Any]]


def collection(
    *attributes: Any, mechanism: str = "auto", oracle: str = "auto", **service: Any
) -> Callable[[], tc.Collection]:
    """Return a function that compiles a collection when it is first called: not while tests are collected."""
    schema = tc.Schema([tc.Service("s", key="uid", attributes=list(attributes), **service)])
    return cache(partial(tc.Collection, schema, 2.0, mechanism=mechanism, oracle=oracle))


def rows(count: int, value: int) -> Rows:
    return [{"x": value, "c": "a"} for _ in range(count)]


SMALL = tc.Ordinal("x", 0, 8)
PLACE = tc.Categorical("c", ["a", "b", "c"])
MANY = {"at_most": 5, "sends": 3}
DATES = tc.Ordinal("x", DAY, DAY + datetime.timedelta(days=400), cells=20)

CASES: dict[str, tuple[Callable[[], tc.Collection], list[Rows]]] = {
    "category": (collection(tc.Categorical("x", WORDS)), [[{"x": word}] for word in WORDS[::37]]),
    "other": (collection(tc.Categorical("x", WORDS, other="v007")), [[{"x": "v900"}], [{"x": "none"}], [{"x": "☃"}]]),
    "missing category": (collection(tc.Categorical("x", WORDS, null=True)), [[{"x": "v900"}], [{"x": None}]]),
    "missing number": (collection(tc.Ordinal("x", 0, 124, null=True)), [[{"x": 0}], [{"x": 124}], [{"x": None}]]),
    "number": (collection(tc.Ordinal("x", 0, 99_999)), [[{"x": value}] for value in (0, 1, 255, 256, 257, 99_999)]),
    "clamped": (
        collection(tc.Ordinal("x", 0, 99, outside="clamp")),
        [[{"x": value}] for value in (-(10**9), 50, 10**9)],
    ),
    "dithered": (collection(tc.Ordinal("x", 0, 9_999, cells=10)), [[{"x": value}] for value in (0, 1, 5_000, 9_999)]),
    "bins": (collection(tc.Ordinal("x", 0, 9_999, cells=10, dither=False)), [[{"x": value}] for value in (0, 9_999)]),
    "steps": (collection(tc.Ordinal("x", "0.0", "49.9")), [[{"x": value}] for value in (0.0, 0.1, 49.9)]),
    "date": (collection(DATES), [[{"x": DAY + datetime.timedelta(days=days)}] for days in (0, 200, 400)]),
    "rows": (collection(SMALL, PLACE, mechanism="hio", **MANY), [rows(n, v) for n in range(6) for v in (0, 8)]),
    "optional": (collection(SMALL, PLACE, optional=True), [[], rows(1, 0), rows(1, 8)]),
    "pairs": (collection(SMALL, PLACE, mechanism="pairs"), [rows(1, value) for value in (0, 4, 8)]),
    "parities": (collection(SMALL, PLACE, mechanism="ft(2)"), [rows(1, value) for value in (0, 4, 8)]),
    "rounded": (collection(SMALL, mechanism="srhio"), [[{"x": value}] for value in (0, 4, 8)]),
    "embedded": (collection(SMALL, mechanism="ehio"), [[{"x": value}] for value in (0, 4, 8)]),
} | {
    oracle: (collection(SMALL, mechanism="sc", oracle=oracle), [[{"x": value}] for value in range(9)])
    for oracle in ("grr", "ss", "lh", "olh", "oue")
}


def instructions(work: Callable[[], object]) -> int:
    """Return how many bytecode instructions something executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    gc.disable()  # hypothesis listens to collections, in instructions of its own
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("name", CASES)
def test_the_same_instructions_for_all_values(name: str, source: np.random.Generator) -> None:
    made, classes = CASES[name]
    interpreter = Interpreter(made().to_json())
    for _ in range(30):
        draws = source.integers(0, 2**53, interpreter.draws("s")).tolist()
        interpreter.encode_rows("s", classes[0], draws)  # what is prepared when a view is drawn first
        counts = {instructions(partial(interpreter.encode_rows, "s", own, draws)) for own in classes}
        assert len(counts) == 1, f"{sorted(counts)} instructions"


def test_truth_and_lie_take_the_same_instructions(source: np.random.Generator) -> None:
    for oracle in ("grr", "olh", "oue"):
        interpreter = Interpreter(CASES[oracle][0]().to_json())
        count, codes, found = interpreter.draws("s"), set(), set()
        seed = source.integers(0, 2**53, 2).tolist()  # view and seed are public
        for _ in range(40):
            draws = [*seed, *source.integers(0, 2**53, count - 2).tolist()]
            codes.add(tuple(interpreter.encode("s", {"x": 4}, draws)))
            found.add(instructions(partial(interpreter.encode, "s", {"x": 4}, draws)))
        assert len(codes) > 1
        assert len(found) == 1


@pytest.mark.parametrize("name", ["category", "missing category", "rows"])
def test_values_at_the_ends_take_about_as_long(name: str, source: np.random.Generator) -> None:
    """n = 3,000 encodings per class, interleaved; searching the list or skipping rows changes more than 10 %."""
    made, classes = CASES[name]
    interpreter, pair = Interpreter(made().to_json()), (classes[0], classes[-1])
    pool = source.integers(0, 2**53, (50, interpreter.draws("s"))).tolist()
    times: tuple[list[int], list[int]] = [], []
    gc.disable()
    for number, own in enumerate(source.permutation(np.repeat([0, 1], 3_000)).tolist()):
        start = time.perf_counter_ns()
        interpreter.encode_rows("s", pair[own], pool[number % 50])
        times[own].append(time.perf_counter_ns() - start)
    gc.enable()
    left, right = (float(np.quantile(found, 0.25)) for found in times)
    assert abs(right - left) < 0.1 * left, f"{left:.0f} and {right:.0f} ns"
