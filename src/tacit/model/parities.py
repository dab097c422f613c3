"""Tables from parities (FT): the mean of each parity, and the inverse transform."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.contract.layouts import bits_of
from tacit.engines.code_counts import Counts
from tacit.errors import UnanswerableError
from tacit.estimate.fourier import signs
from tacit.estimate.functional import Vector
from tacit.model.evidence import along
from tacit.model.marginals import Table

__all__ = ["ParityTables"]


class ParityTables:
    """The parities of a service with their means; tables are unbiased, and may be negative."""

    def __init__(self, service: ServiceContract, counts: Counts) -> None:
        self.service, self.sizes = service, [levels.size for levels in service.levels]
        [channel] = service.channels
        codes, times = counts[0]
        sent = np.zeros(channel.alphabet)
        sent[codes] = times
        even, odd = sent.reshape(-1, 2).T  # a view has two codes
        oracle = channel.views[0].oracle
        contrast = float(oracle.keep - oracle.lie)
        reports = even + odd
        self._means = np.divide(even - odd, reports * contrast, out=np.zeros_like(even), where=reports > 0)
        self._variances = np.divide(1.0, reports * contrast**2, out=np.full_like(even, np.inf), where=reports > 0)
        self._places = {view.levels: number for number, view in enumerate(channel.views)}
        self.people = int(reports.sum())

    def table(self, attributes: Sequence[int]) -> tuple[Table, int]:
        """Return the table of some attributes, and the number of people."""
        masks = [range(1 << bits_of(self.sizes[i])) for i in attributes]
        means, variances = np.ones([len(mask) for mask in masks]), np.zeros([len(mask) for mask in masks])
        for chosen in itertools.product(*masks):
            if any(chosen):
                place = self._place(dict(zip(attributes, chosen, strict=True)))
                means[chosen], variances[chosen] = self._means[place], self._variances[place]
        back = [signs(self.sizes[i]).T / len(mask) for i, mask in zip(attributes, masks, strict=True)]
        table, squares = along(means, back), along(variances, [matrix**2 for matrix in back])
        notes = ("unbiased, from parities; counts may be negative, and their sum may differ from the number of people",)
        return Table(tuple(attributes), table, np.sqrt(squares), notes), self.people

    def frequencies(self, attributes: Sequence[int]) -> Vector:
        """Return a table without its errors."""
        return self.table(attributes)[0].frequencies

    def _place(self, masks: dict[int, int]) -> int:
        view = tuple(masks.get(i, 0) for i in range(len(self.sizes)))
        if view not in self._places:
            message = f"{self.service.layout} reports parities of fewer attributes than these. Ask for fewer."
            raise UnanswerableError(message)
        return self._places[view]
