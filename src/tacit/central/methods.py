"""The catalogue of methods: name -> a frozen class whose fields are its options."""

from __future__ import annotations

import difflib
from dataclasses import fields
from fractions import Fraction
from typing import Any, Protocol

from tacit.central.adaptive import Adaptive
from tacit.central.auto import Auto
from tacit.central.blue import Blue
from tacit.central.body import Body
from tacit.central.cells import Cells
from tacit.central.charges import Charge
from tacit.central.hierarchical import HierarchicalKdTree
from tacit.central.kdtree import KdTree
from tacit.central.marginals import Marginals
from tacit.central.multiscale import Multiscale
from tacit.central.noise import NoiseSource
from tacit.central.records import Records
from tacit.contract.schema import Service
from tacit.errors import UnknownNameError, UsageError

__all__ = ["METHODS", "Method", "method_of"]


class Method(Protocol):
    """A way to make a release."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends, epsilon in total; refuse services it cannot release. Sees no data."""
        ...

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy numbers; everything it learns about the rows passes through the source."""
        ...


METHODS: dict[str, type[Any]] = {
    "auto": Auto,
    "blue": Blue,
    "adaptive": Adaptive,
    "kdtree": KdTree,
    "hierarchical": HierarchicalKdTree,
    "cells": Cells,
    "marginals": Marginals,
    "multiscale": Multiscale,
}


def method_of(name: str, options: dict[str, Any]) -> Method:
    """Return a method with its options."""
    if name not in METHODS:
        raise UnknownNameError("method", str(name), METHODS)
    known = [field.name for field in fields(METHODS[name])]
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            message = f"{name} has no option {option!r}.{hint} Options: {', '.join(known) or 'none'}."
            raise UsageError(message, code="bad-option")
    method: Method = METHODS[name](**options)
    return method
