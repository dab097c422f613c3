"""The number of codes of each view of a contract: answers count the codes that occur, and rollups store the counts."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tacit.contract.contract import Contract

__all__ = ["ViewCodes", "codes_text", "view_codes"]


@dataclass(frozen=True)
class ViewCodes:
    """A view: the attributes it reports, with their cells, the oracle, and the number of its codes."""

    service: str
    channel: str
    shows: str
    cells: int
    oracle: str
    codes: int

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)


def view_codes(contract: Contract) -> list[ViewCodes]:
    """Return all views of a contract, those with the most codes first."""
    views = []
    for compiled in contract.services:
        names = [attribute.name for attribute in compiled.service.sensitive]
        names += [f"derived {number}" for number in range(1, 1 + len(compiled.derived))]
        for channel in compiled.channels:
            for view in channel.views:
                sizes = zip(view.active, view.oracle.sizes, strict=False)
                shown = " × ".join(f"{names[i]} ({size:,})" for i, size in sizes)
                if view.parity:
                    shown = f"a parity of {', '.join(names[i] for i in view.active)}"
                cells, codes = math.prod(view.oracle.sizes), view.oracle.alphabet
                views.append(ViewCodes(compiled.service.name, channel.name, shown, cells, view.oracle.name, codes))
    return sorted(views, key=lambda view: -view.codes)


def codes_text(contract: Contract) -> str:
    """Return how many codes there are, and which view has the most, as a sentence.

    Examples
    --------
    >>> import tacit as tc
    >>> schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list("xyz"))])])
    >>> print(codes_text(tc.Collection(schema, 2.0, mechanism="fc").contract))
    3 codes in 1 view; the most, 3, for a (3) of t by grr.
    """
    views = view_codes(contract)
    total, [most, *_] = sum(view.codes for view in views), views
    many = f"{total:,} codes in {len(views):,} view{'s' if len(views) > 1 else ''}"
    return f"{many}; the most, {most.codes:,}, for {most.shows} of {most.service} by {most.oracle}."
