"""Learning a parity from a private release: the example of DPCube's appendix C.

Each of n people has d - 1 random bits and a label: the parity of some of the bits, flipped for one person in ten. A
curator publishes the counts of all 2**d cells. Whoever holds the release finds out *which* bits make the parity, by the
elimination of Blum, Kalai and Wasserman on synthetic rows; nobody learns anybody's bits.

    python docs/examples/parity.py
    python docs/examples/parity.py --bits 9 --people 60000 --epsilon 0.5
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

import tacit as tc
from tacit import central

Bits = npt.NDArray[np.int64]


def people_of(hidden: Bits, people: int, flipped: float, source: np.random.Generator) -> dict[str, Bits]:
    """Return random bits b0, b1, … and their parity along the hidden vector, flipped for some."""
    bits = source.integers(0, 2, (people, len(hidden)))
    label = (bits @ hidden + (source.random(people) < flipped)) % 2
    return {"uid": np.arange(people), **{f"b{i}": bits[:, i] for i in range(len(hidden))}, "label": label}


def vote(rows: Bits, bit: int, source: np.random.Generator) -> int | None:
    """Return one vote on whether a bit is in the parity: 0, 1, or None if the sample does not tell.

    Of a few rows (bits, then label), every other bit is eliminated: a row that has it is added, modulo 2, to all rows
    that have it, and dropped. What is left of a row that still has the bit in question is the bit's part in the label.
    """
    count = rows.shape[1] - 1
    left = rows[source.integers(0, len(rows), 3 * count)].copy()
    for other in range(count):
        if other == bit:
            continue
        having = np.flatnonzero(left[:, other])
        if len(having) == 0:
            continue
        pivot = left[having[0]].copy()
        left[having[1:]] ^= pivot
        left = np.delete(left, having[0], axis=0)
    told = left[left[:, bit] == 1]
    return int(told[source.integers(len(told)), -1]) if len(told) else None


def learn(rows: Bits, votes: int, source: np.random.Generator) -> Bits:
    """Return the vector that most votes are for, bit by bit."""
    found = []
    for bit in range(rows.shape[1] - 1):
        said = [one for one in (vote(rows, bit, source) for _ in range(votes)) if one is not None]
        found.append(int(np.mean(said) > 0.5) if said else 0)
    return np.array(found)


def main() -> int:
    """Make people, release them, learn; exit with 0 if the hidden vector was found."""
    parser = argparse.ArgumentParser(description="Learn a parity from a private release.")
    parser.add_argument("--bits", type=int, default=7, help="bits of a person beside the label (default 7)")
    parser.add_argument("--people", type=int, default=40_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--flipped", type=float, default=0.1, help="share of wrong labels (default 0.1)")
    parser.add_argument("--votes", type=int, default=600, help="eliminations per bit (default 600)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the invented people and of learning, never of the noise"
    )
    options = parser.parse_args()
    source = np.random.default_rng(options.seed)
    hidden = source.integers(0, 2, options.bits)
    hidden[0] = 1  # not the zero vector
    names = [*(f"b{i}" for i in range(options.bits)), "label"]
    service = tc.Service("persons", key="uid", attributes=[tc.Ordinal(name, 0, 1) for name in names])
    made = central.release(
        people_of(hidden, options.people, options.flipped, source), service, options.epsilon, method="cells"
    )
    cells = 2 ** len(names)
    needed = central.useful_rows(cells, float(options.epsilon), 0.5 - options.flipped)
    print(f"{cells} cells; the paper's sufficient number of people is {needed:,}, there are {options.people:,}")
    rows = made.synthesize(options.people, seed=options.seed)
    columns = np.stack([np.asarray(rows.column(name)) for name in names], axis=1)
    found = learn(columns, options.votes, source)
    wrong = float(np.mean(columns[:, :-1] @ hidden % 2 != columns[:, -1]))
    print(f"labels that are wrong in the synthetic rows: {wrong:.1%}")
    print(f"hidden {hidden.tolist()}\nfound  {found.tolist()}")
    return 0 if (found == hidden).all() else 1


if __name__ == "__main__":
    raise SystemExit(main())
