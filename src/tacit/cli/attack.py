"""The counting attack: one report per row reveals how many rows a person has; a fixed number of reports does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.collection import Collection
from tacit.contract.schema import Categorical, Schema, Service

__all__ = ["attack", "print_attack"]

ITEMS = ["clothes", "books", "tests", "food"]
PEOPLE, AT_MOST = 20_000, 5
"""People of the demonstration, and the most orders of a person."""


def attack() -> dict[str, Any]:
    """Encode synthetic orders both ways, and guess everybody's number of orders from the reports."""
    source = np.random.default_rng(20)
    orders = np.minimum(source.poisson(1.3, PEOPLE), AT_MOST)
    owner = np.repeat(np.arange(PEOPLE), orders)
    item = source.choice(ITEMS, len(owner), p=[0.4, 0.3, 0.1, 0.2])
    attributes = [Categorical("item", ITEMS)]

    per_row = Collection(Schema([Service("orders", key="row", attributes=attributes)]), epsilon=1)
    sent = per_row.encode(orders={"row": np.arange(len(owner)), "item": item})["orders"]
    seen = np.bincount(owner[np.asarray(sent["row"])], minlength=PEOPLE)  # the collector knows who sent each report

    ours = Collection(Schema([Service("orders", key="uid", at_most=AT_MOST, attributes=attributes)]), epsilon=1)
    reports = ours.encode(orders={"uid": owner, "item": item}, people=range(PEOPLE))["orders"]
    ours_seen = np.bincount(np.asarray(reports["uid"]), minlength=PEOPLE)
    [service] = ours.contract.services
    likely = _best_guess(service, np.asarray(reports["code"]), np.bincount(orders, minlength=AT_MOST + 1) / PEOPLE)
    return {
        "people": PEOPLE,
        "guessed_from_reports_per_row": float(np.mean(seen == orders)),
        "reports_of_each_person_ours": sorted({int(count) for count in ours_seen}),
        "guessed_from_ours": float(np.mean(likely == orders)),
        "guessed_without_any_report": float(np.mean(orders == np.bincount(orders).argmax())),
        "worst_loss": ours.audit().worst_loss,
    }


def _best_guess(service: Any, codes: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the most likely number of orders given a code, for a collector who knows the distribution."""
    channel = service.channels[0]
    likelihood = np.zeros((channel.alphabet, AT_MOST + 1))
    for index, view in enumerate(channel.views):
        oracle, share = view.oracle, channel.probability(index)
        cells = oracle.sizes[0] - service.service.extras
        weights = np.array(
            [[oracle.weight(cell, code) for cell in range(oracle.domain)] for code in range(oracle.alphabet)]
        )
        chances = weights.astype(np.float64) / oracle.denominator * share
        supported, none, skip = chances[:, :cells].mean(axis=1), chances[:, cells], chances[:, cells + 1]
        for number in range(AT_MOST + 1):
            mixed = none if number == 0 else number / AT_MOST * supported + (1 - number / AT_MOST) * skip
            likelihood[view.offset : view.offset + oracle.alphabet, number] = mixed
    guess: np.ndarray = (likelihood * prior).argmax(axis=1)[codes]
    return guess


def print_attack(result: dict[str, Any]) -> None:
    """Print the result."""
    shares = {name: f"{result[name]:.0%}" for name in result if name.startswith("guessed")}
    [count] = result["reports_of_each_person_ours"]
    print(f"{result['people']:,} synthetic people with 0 to {AT_MOST} orders each; every report is 1-LDP.\n")
    print("One report per order, as if each order were a separate person:")
    print(f"  the collector counts reports and knows {shares['guessed_from_reports_per_row']} of the numbers exactly;")
    print("  people who ordered nothing send nothing, so the collector knows that too.\n")
    print(f"tacit: everybody sends {count} report, of an order, of none, or of a skipped slot:")
    print(f"  the best guess is right for {shares['guessed_from_ours']} of the people;")
    print(f"  without any report, for {shares['guessed_without_any_report']}.")
    print(f"  A person's total loss is at most {result['worst_loss']:.6g} nats, whatever they ordered.")
