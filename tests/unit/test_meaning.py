"""What a code says in words agrees with what its oracle supports, code by code."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.contract.contract import ServiceContract
from tacit.sql.meaning import meaning_of

KIND = tc.Categorical("kind", values=["a", "b", "c"], null=True)
AGE = tc.Ordinal("age", low=10, high=33, fanout=5)


def compiled(mechanism: str = "auto", **shape: object) -> ServiceContract:
    kind = tc.Categorical("kind", values=["a", "b", "c"]) if mechanism == "ahio" else KIND
    service = tc.Service("users", key="uid", attributes=[AGE, kind], **shape)  # type: ignore[arg-type]
    return tc.Collection(tc.Schema([service]), 3.0, mechanism=mechanism).contract["users"]


def some_codes(service: ServiceContract, index: int, most: int = 60) -> list[int]:
    """Return codes of every view of a channel."""
    views = service.channels[index].views
    return [view.offset + int(i) for view in views for i in np.linspace(0, view.oracle.alphabet - 1, most).astype(int)]


@pytest.mark.parametrize("mechanism", ["hio", "sc", "pairs", "ahio"])
def test_every_code_says_what_its_oracle_supports(mechanism: str) -> None:
    service = compiled(mechanism)
    for index, channel in enumerate(service.channels):
        for code in some_codes(service, index):
            said = meaning_of(service, index, code)
            view, local = channel.locate(code)
            support = view.oracle.support(np.array([local]))[0]
            assert said.fits == pytest.approx(np.mean(support))
            assert len(said.examples) == min(3, int(np.sum(support)))
            assert said.about.count(" cells") == sum(level > 0 for level in view.levels)


def test_cells_are_named_by_their_values() -> None:
    service = compiled("sc")
    said = [meaning_of(service, i, code) for i in range(len(service.channels)) for code in some_codes(service, i)]
    coarse, fine = (next(one for one in said if wanted in one.examples) for wanted in ("age 30–33", "kind missing"))
    assert coarse.about == "age in 5 cells"
    assert fine.about == "kind in 4 cells"


def test_people_without_a_row_have_a_cell_of_their_own() -> None:
    service = compiled("hio", optional=True)
    [channel] = service.channels
    said = {example for code in some_codes(service, 0) for example in meaning_of(service, 0, code).examples}
    assert "no row" in said
    root = next(view for view in channel.views if not any(view.levels))
    assert meaning_of(service, 0, root.offset).about == "whether there are rows"
    assert meaning_of(compiled("hio"), 0, 0).about != "whether there are rows"


def test_another_epsilon_keeps_everything_else() -> None:
    services = [tc.Service(name, key="uid", attributes=[AGE, KIND]) for name in ("a", "b")]
    first = tc.Collection(tc.Schema(services), "1.5", round="r", tier="t", weights={"a": 3}, mechanism="hio")
    assert first.with_epsilon("1.5") == first
    other = first.with_epsilon(3)
    assert other == tc.Collection(tc.Schema(services), 3, round="r", tier="t", weights={"a": 3}, mechanism="hio")
