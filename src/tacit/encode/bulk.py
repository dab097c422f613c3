"""Encode rows in chunks, on all cores.

The draws of record i are the i-th run of ``service.draws`` draws of the source, in this order: one for each dithered
attribute (with double rounding, one for each attribute of a row made up) and each derived one, then for each channel
one for the view, one for the seed, and its answers. How rows are cut into chunks therefore changes nothing, and a
record consumes the same draws whatever its values are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.contract import Channel, ServiceContract
from tacit.contract.layouts import Derived
from tacit.contract.oracles.base import Codes, remainder
from tacit.contract.randomness import Draws, Rng
from tacit.encode.assigned import Assignment
from tacit.encode.slots import FULL, MADE_UP
from tacit.encode.values import reader_of
from tacit.errors import RandomnessError

__all__ = ["Progress", "encode_rows", "validate_rows"]

CHUNK = 1 << 18
"""Rows per chunk: large enough to amortise Python, small enough that chunks in flight take a few MiB."""

DRAWS = 1 << 22
"""Maximum draws per chunk: 32 MiB for each chunk in flight."""

ROWS_PER_VIEW = 32
"""Minimum rows per chunk and view, so that collections of many views spend their time in numpy."""

Progress = Callable[[int, int], None]
"""Called with the number of rows done and the total."""


class _Encoder:
    """Encodes chunks of one service."""

    def __init__(
        self,
        compiled: ServiceContract,
        table: pa.Table,
        extra: Codes | None = None,
        coins: pa.ChunkedArray | None = None,
    ) -> None:
        self.compiled, self.table, self.extra, self.coins = compiled, table, extra, coins
        self.span = compiled.channels[0].views[0].oracle.span
        self.readers = [reader_of(compiled.service.name, attribute) for attribute in compiled.service.sensitive]
        views = max(len(channel.views) for channel in compiled.channels)
        wanted = max(CHUNK, min(1 << 21, views * ROWS_PER_VIEW))
        self.chunk = max(1, min(wanted, DRAWS // compiled.draws))

    def starts(self) -> range:
        return range(0, self.table.num_rows, self.chunk)

    def positions(self, start: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]]:
        """Validate a chunk's columns; raise on the first invalid one."""
        rows = self.table.slice(start, self.chunk)
        read = []
        for reader in self.readers:
            column = rows.column(reader.attribute.name)
            array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
            read.append(reader.positions(array, start))
        return read

    def codes(self, start: int, take_draws: Callable[[], Draws], out: list[Codes]) -> int:
        """Write the codes of a chunk into its place in ``out``, one array for each channel."""
        positions = self.positions(start)
        rows, draws = len(positions[0][0]), take_draws()
        if len(draws) and int(draws.max()) >= self.span:  # above the span, no flip would ever happen
            message = "The random source returned draws larger than declared. Nothing was encoded."
            raise RandomnessError(message)
        columns = np.ascontiguousarray(draws.reshape(rows, -1).T)  # (draws per record, rows)
        dithered = {attribute: columns[i] for i, attribute in enumerate(self.compiled.dithered)}
        values = [
            reader.values(*position, dithered.get(i))
            for i, (reader, position) in enumerate(zip(self.readers, positions, strict=True))
        ]
        taken = len(dithered)
        if self.extra is not None:
            extra = self.extra[start : start + rows]
            taken += self._replace(values, extra, columns[taken:])
        for derived in self.compiled.derived:
            size = self.compiled.levels[derived.source].size
            derived_values = _derive(values[derived.source], size, derived, columns[taken])
            values.append(derived_values + 2 * (extra == FULL) if derived.kind == "pair" else derived_values)
            taken += 1
        for number, (channel, codes) in enumerate(zip(self.compiled.channels, out, strict=True)):
            used = columns[taken : taken + channel.draws]
            if self.coins is not None:
                used[:2] = self._assigned_draws(self.coins, start, rows, number)
            self._channel(channel, values, used, codes[start : start + rows])
            taken += channel.draws
        return rows

    def _assigned_draws(self, coins: pa.ChunkedArray, start: int, rows: int, channel: int) -> tuple[Draws, Draws]:
        """Return the draws of views and seeds that coins assign to rows; a person's slots are adjacent."""
        person, slot = np.divmod(np.arange(start, start + rows), self.compiled.service.sends)
        return Assignment.draws(coins.take(pa.array(person)), self.compiled.service.name, slot, channel)

    def _replace(self, values: list[Codes], extra: Codes, draws: Draws) -> int:
        """Give rows without a record value indices after all others, or random ones; return the draws used."""
        made_up = self.compiled.makes_rows_up
        for i in range(len(values)):
            size = self.compiled.levels[i].size
            if made_up:
                values[i] = np.where(extra == MADE_UP, remainder(draws[i], size).astype(np.int64), values[i])
            else:
                values[i] = np.where(extra >= 0, size + extra, values[i])
        return len(values) if made_up else 0

    def _channel(self, channel: Channel, values: list[Codes], draws: Draws, out: Codes) -> None:
        count = len(channel.views)
        if count == 1:
            out[:] = self._view(channel, 0, values, draws[1], draws[2:])
            return
        view = channel.pick_views(draws[0]).astype(np.uint16 if count <= 1 << 16 else np.uint32)
        order = np.argsort(view, kind="stable")  # group records by view
        bounds = np.concatenate(([0], np.cumsum(np.bincount(view, minlength=count))))
        used = sorted({i for compiled in channel.views for i in compiled.active})
        grouped = {i: values[i][order] for i in used}
        seed, answers = draws[1][order], draws[2:][:, order]
        for index in np.flatnonzero(np.diff(bounds)):
            mine = slice(bounds[index], bounds[index + 1])
            part = {i: column[mine] for i, column in grouped.items()}
            out[order[mine]] = self._view(channel, int(index), part, seed[mine], answers[:, mine])

    def _view(
        self, channel: Channel, index: int, values: list[Codes] | dict[int, Codes], seed: Draws, answers: Draws
    ) -> Codes:
        view = channel.views[index]
        if view.parity:
            masks = {i: view.levels[i] for i in view.active}
            cells = [np.bitwise_xor.reduce([np.bitwise_count(values[i] & mask) for i, mask in masks.items()]) & 1]
        else:
            cells = [self._cells(i, view.levels[i], first=i == view.active[0])[values[i]] for i in view.active]
        answer = answers[0] if view.oracle.answers == 1 else answers.T
        return view.oracle.randomise(cells, seed, answer) + view.offset

    def _cells(self, attribute: int, depth: int, *, first: bool) -> Codes:
        """Return the cell of every value index; extra cells come after those of the first active attribute."""
        level, extras = self.compiled.levels[attribute][depth], self.compiled.extras
        if not extras:
            return level.table()
        behind = level.cells + np.arange(extras) if first else np.zeros(extras, dtype=np.int64)
        return np.concatenate([level.table(), behind])


def _derive(value: Codes, size: int, derived: Derived, draws: Draws) -> Codes:
    """Round each value to an end of its domain, with the value as mean; or map it to a half of a doubled domain."""
    up = remainder(draws, size - 1) < value
    return np.where(up, size + value, size - 1 - value) if derived.kind == "embed" else up.astype(np.int64)


def validate_rows(compiled: ServiceContract, table: pa.Table) -> None:
    """Read every row once and raise on the first invalid column; nothing is drawn."""
    encoder = _Encoder(compiled, table)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(encoder.positions, encoder.starts()):
            pass


def encode_rows(
    compiled: ServiceContract,
    table: pa.Table,
    rng: Rng,
    progress: Progress | None = None,
    *,
    extra: Codes | None = None,
    coins: pa.ChunkedArray | None = None,
) -> list[Codes]:
    """Return the codes of all rows, one array for each channel.

    Where ``extra`` is 0 or more, the row stands for that extra cell and its content is ignored; double rounding uses
    other marks (`tacit.encode.slots`). ``coins``, one for each person, assign views and seeds.
    """
    encoder, rows = _Encoder(compiled, table, extra, coins), table.num_rows
    out = [np.empty(rows, dtype=np.int64) for _ in compiled.channels]
    workers, done = os.cpu_count() or 1, 0
    pending: deque[Future[int]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for start in encoder.starts():
            size = min(encoder.chunk, rows - start)
            take = partial(rng.draws, size * compiled.draws)
            if rng.sequential:  # in record order; the operating system's source allows several threads
                take = partial(np.asarray, take())
            pending.append(pool.submit(encoder.codes, start, take, out))
            while len(pending) > workers or (pending and start + size == rows):
                done += pending.popleft().result()
                if progress:
                    progress(done, rows)
    return out
