"""Differences between two collections, and what the change costs people in privacy and analysts in noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tacit.contract.budget import decimal_text
from tacit.contract.contract import Contract, ServiceContract
from tacit.contract.files import service_data

__all__ = ["Diff", "diff_contracts"]


@dataclass(frozen=True)
class Diff:
    """Changes from one collection to another, as sentences; falsy if there are none."""

    changes: tuple[str, ...]
    costs: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        if not self:
            return "No change."
        return "\n".join([*(f"- {line}" for line in self.changes), *(f"cost: {line}" for line in self.costs)])


def diff_contracts(old: Contract, new: Contract, *, same: bool) -> Diff:
    """Return the changes from ``old`` to ``new`` and their cost; ``same`` says whether the contracts are identical."""
    changes = tuple(_changes(old, new))
    if not changes and not same:
        changes = ("the compiled thresholds or views differ, though all settings are equal",)
    return Diff(changes, tuple(_costs(old, new)) if changes else ())


def _changes(old: Contract, new: Contract) -> Iterator[str]:
    for word in ("round", "tier", "mechanism", "oracle"):
        before, after = getattr(old, word), getattr(new, word)
        if before != after:
            yield f"{word} {before!r} becomes {after!r}"
    if old.panel != new.panel:
        yield f"{_panel_words(old)} becomes {_panel_words(new)}"
    if old.assigned != new.assigned:
        yield f"views and seeds become {'assigned' if new.assigned else 'free'}"
    if old.epsilon != new.epsilon:
        yield f"epsilon {decimal_text(old.epsilon)} becomes {decimal_text(new.epsilon)}"
    before_services = {item.service.name: service_data(item.service) for item in old.services}
    after_services = {item.service.name: service_data(item.service) for item in new.services}
    yield from _name_changes("service", before_services, after_services)
    yield from _order("the services", before_services, after_services)
    for name in (word for word in before_services if word in after_services):
        before, after = before_services[name], after_services[name]
        yield from _settings(f"service {name}", before, after, skip="attributes")
        olds = {item["name"]: item for item in before["attributes"]}
        news = {item["name"]: item for item in after["attributes"]}
        yield from _name_changes(f"attribute of {name}:", olds, news)
        for attribute in (word for word in olds if word in news):
            yield from _settings(f"{name}.{attribute}", olds[attribute], news[attribute])
        yield from _order(f"the attributes of {name}", olds, news)


def _panel_words(contract: Contract) -> str:
    panel = contract.panel
    return f"panel {panel.name} of {panel.reports} in {panel.rounds} rounds" if panel else "a single round"


def _name_changes(kind: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    yield from (f"removes {kind} {name}" for name in before if name not in after)
    yield from (f"adds {kind} {name}" for name in after if name not in before)


def _order(subject: str, before: Iterable[Any], after: Iterable[Any]) -> Iterator[str]:
    first, second = list(before), list(after)
    if [word for word in first if word in second] != [word for word in second if word in first]:
        yield f"{subject} change order"


def _settings(owner: str, before: dict[str, Any], after: dict[str, Any], skip: str = "") -> Iterator[str]:
    for word in dict.fromkeys([*before, *after]):
        if word != skip and before.get(word) != after.get(word):
            if word == "values" and word in before and word in after:
                gone, added = set(before[word]) - set(after[word]), set(after[word]) - set(before[word])
                if gone or added:
                    yield f"{owner}: {len(added)} values added, {len(gone)} removed"
                yield from _order(f"{owner}: the values", before[word], after[word])
            elif word == "values":
                yield f"{owner}: values {'removed' if word in before else 'added'}"
            else:
                yield f"{owner}: {word} {before.get(word)!r} becomes {after.get(word)!r}"


def _costs(old: Contract, new: Contract) -> Iterator[str]:
    before, after = decimal_text(old.epsilon), decimal_text(new.epsilon)
    unit = "in all" if old.panel or new.panel else "per round"
    yield f"a person's budget {unit}: {before} before, {after} after"
    yield f"reports per person: {old.times * old.reports} before, {new.times * new.reports} after"
    both = {item.service.name: item for item in old.services}
    for item in new.services:
        if item.service.name in both:
            factor = _reading_noise(item) / _reading_noise(both[item.service.name])
            if abs(factor - 1) > 1e-9:
                yield f"{item.service.name}: the variance of reading one view changes by a factor of {factor:.3g}"


def _reading_noise(compiled: ServiceContract) -> float:
    """Return the mean noise of estimating from one view: its oracle's, times the number of views."""
    noises = [
        float(view.oracle.noise) * len(channel.views)
        for channel in compiled.channels
        for view in channel.views
        if view.oracle.domain > 1
    ]
    return sum(noises) / len(noises) if noises else 1.0
