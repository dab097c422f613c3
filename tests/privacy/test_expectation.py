"""Estimates have the truth as their exact mean: sums over all codes, in fractions, for every record."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.channels import all_records, cell_in_view, channel_row, enumerable, oracle_matrix
from support.tiers import keeping
from tacit.contract.budget import exp_below
from tacit.contract.oracles import ORACLES

CASES = [(name, sizes) for name in enumerable() for sizes in [(2,), (3,), (6,), (2, 3)]]


@pytest.mark.parametrize(("name", "sizes"), [*CASES, ("ss", (3, 4)), ("lh", (3, 4)), ("lh", (2, 2, 2))])
def test_the_mean_estimate_of_a_cell_is_its_indicator(name: str, sizes: tuple[int, ...]) -> None:
    oracle = ORACLES[name](sizes, exp_below(Fraction(2)))
    marks = oracle.support(np.arange(oracle.alphabet))
    variances: list[Fraction] = []
    for true_cell, row in enumerate(oracle_matrix(oracle)):
        for cell in range(oracle.domain):
            z = [(int(mark) - oracle.lie) / (oracle.keep - oracle.lie) for mark in marks[:, cell]]
            mean = sum((p * value for p, value in zip(row, z, strict=True)), Fraction(0))
            assert mean == (1 if cell == true_cell else 0)
            square = sum((p * value**2 for p, value in zip(row, z, strict=True)), Fraction(0))
            variances.append(square - mean**2)
            assert variances[-1] == (oracle.true_variance if cell == true_cell else oracle.false_variance)
    assert len(variances) == oracle.domain**2


SCHEMA = tc.Schema(
    [
        tc.Service(
            "s", key="uid", attributes=[tc.Ordinal("a", 0, 4, fanout=2), tc.Categorical("c", ["x", "y"], null=True)]
        )
    ]
)


@pytest.mark.parametrize("mechanism", ["hio", "hi", "sc", "fc", "am(1)", "am(2)", "pairs", "partitions"])
@pytest.mark.parametrize("oracle", keeping(["lh"], ["auto", "lh"], "oracles of views that are read"))
def test_every_view_of_every_layout_is_read_without_bias(mechanism: str, oracle: str) -> None:
    collection = tc.Collection(SCHEMA, 2.0, mechanism=mechanism, oracle=oracle)
    service = collection.contract.services[0]
    checked = 0
    for channel in service.channels:
        span = channel.views[0].oracle.span
        rows = {record: channel_row(service, channel, record) for record in all_records(service)}
        assert all(sum(row) == 1 for row in rows.values())
        for index, view in enumerate(channel.views):
            kernel = view.oracle
            marks = kernel.support(np.arange(kernel.alphabet))
            chosen = Fraction(channel.view_weight(index), span)
            if kernel.domain == 1:
                continue
            for record, row in rows.items():
                part = row[view.offset : view.offset + kernel.alphabet]
                truth = cell_in_view(service, channel, index, record)
                for cell in range(kernel.domain):
                    supported = sum((p for p, mark in zip(part, marks[:, cell], strict=True) if mark), Fraction(0))
                    # z is (support - lie)/(keep - lie)/chosen on this view's codes and 0 on all others.
                    mean = (supported - kernel.lie * sum(part)) / (kernel.keep - kernel.lie) / chosen
                    assert mean == (1 if cell == truth else 0)
                    checked += 1
    assert checked >= len(all_records(service))
