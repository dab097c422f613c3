"""Support of all cells by a few codes of a linear hash, without a table of its whole alphabet.

Sizes that are no powers of g leave most of the alphabet without a cell: 16,416 cells may have 426 million codes, whose
Fourier transform would take 20 GB. Hashes add up over attributes: a code's hashes of all cells are sums of short rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Codes

__all__ = ["is_sparse", "sparse_tally"]

LARGE, HUGE = 2**24, 2**27
"""Codes of an alphabet above which its transform takes gigabytes, and above which it is impossible."""

WORK, WORK_OF_LARGE = 6, 64
"""Hashes of a cell that may be computed instead of transforming one code: as fast; and slower, in less memory."""

SHORT = 2**15
"""Number of hash values below which sums of two hashes are short integers."""

CELLS_AT_ONCE = 2**22
"""Codes times cells that are hashed at once."""


def is_sparse(codes: int, domain: int, alphabet: int) -> bool:
    """Return whether visiting codes one by one is faster."""
    work = WORK if alphabet <= LARGE else WORK_OF_LARGE
    return alphabet > HUGE or codes * domain <= work * alphabet


def sparse_tally(
    hashed: Callable[[Codes, Sequence[Codes]], Codes],
    sizes: Sequence[int],
    g: int,
    codes: Codes,
    people: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return how many people support each cell; ``hashed`` maps seed numbers and cells to hashes, code 0 fits all."""
    telling = codes > 0
    number, reply = np.divmod(codes[telling] - 1, g)
    weights, domain = people[telling], int(np.prod(sizes))
    total = np.full(domain, float(people[~telling].sum()))
    kind = np.uint16 if g < SHORT else np.uint64
    step = max(1, CELLS_AT_ONCE // domain)
    for start in range(0, len(number), step):
        batch = number[start : start + step]
        nowhere = [np.zeros(len(batch), dtype=np.int64) for _ in sizes]
        first = hashed(batch, nowhere)
        sums = first[:, None].astype(kind)
        for i, size in enumerate(sizes):
            cells = [
                np.tile(np.arange(size), len(batch)) if i == j else np.repeat(z, size) for j, z in enumerate(nowhere)
            ]
            row = np.mod(hashed(np.repeat(batch, size), cells).reshape(-1, size) - first[:, None], g).astype(kind)
            sums = (sums[:, :, None] + row[:, None, :]).reshape(len(batch), -1)
            sums = np.minimum(sums, sums - kind(g))  # modulo g: differences below zero are large
        fits = np.flatnonzero(sums == reply[start : start + step, None].astype(kind))
        total += np.bincount(fits % domain, weights[start : start + step][fits // domain], minlength=domain)
    return total
