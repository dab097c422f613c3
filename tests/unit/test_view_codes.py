"""Codes per view are those of the channels, whatever the layout."""

from __future__ import annotations

import pytest

import tacit as tc
from tacit.contract.view_codes import view_codes

SCHEMA = tc.Schema(
    [
        tc.Service("u", key="uid", attributes=[tc.Ordinal("age", 0, 99), tc.Categorical("state", list("abcdefgh"))]),
        tc.Service("o", key="uid", at_most=3, sends=1, attributes=[tc.Ordinal("amount", 0, 15)]),
    ]
)


@pytest.mark.parametrize("mechanism", ["auto", "hio", "sc", "pairs", "am(1)"])
def test_codes_of_views_add_up(mechanism: str) -> None:
    contract = tc.Collection(SCHEMA, 2.0, mechanism=mechanism).contract
    views = view_codes(contract)
    alphabets = [channel.alphabet for one in contract.services for channel in one.channels]
    assert sum(view.codes for view in views) == sum(alphabets)
    assert [view.codes for view in views] == sorted((view.codes for view in views), reverse=True)
    assert {view.service for view in views} == {"u", "o"}
    assert any("age (" in view.shows for view in views)
