"""How a report is drawn: a closed set of steps in whole numbers, one record at a time.

    respond   report the true value, or another one at random
    hash      map the cells to one of g values by a random hash function, then respond
    subset    report a set of cells that holds the true one more often than chance
    bits      report one randomised bit for each cell

Wire version 1 names each way of drawing after the first oracle that used it (`STEPS`; `docs/wire.md` has the rules).
An oracle chooses the integers of an entry; a client only follows them, so a new oracle changes nothing here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import comb, isqrt, prod
from typing import Any, ClassVar

from tacit.client.refusal import need

__all__ = ["BITS", "LIFT", "SPAN", "STEPS", "Draw", "Step", "step_of"]

BITS = 53
"""Bits of a draw."""

SPAN = 1 << BITS
"""Number of values of a draw."""

LIFT = 257
"""Added to cells: Python caches integers up to 256, which makes arithmetic with small results faster."""

MAX_SUBSETS, MAX_PRIME, MAX_HASHES, MAX_BITS = 2**22, 2**20, 2**21, 52
"""Limits of docs/wire.md on the parameters of steps."""

Entry = Mapping[str, Any]

Draw = Callable[[Sequence[int], Sequence[int]], int]
"""From a record's cells in a view, each plus LIFT, and its draws (the seed, then the answers) to its code."""


class Step(ABC):
    """One way to draw a report about cells of some sizes, by the integers of a contract's entry."""

    numbers: ClassVar[tuple[str, ...]]
    """The entry's members that are whole numbers."""
    tables: ClassVar[tuple[str, ...]] = ()
    """Members that hold a whole number for each size; such an entry serves all views without one of their own."""

    def __init__(self, entry: Entry, sizes: Sequence[int]) -> None:
        self.entry, self.sizes, self.domain = entry, sizes, prod(sizes)

    @abstractmethod
    def check(self) -> None:
        """Refuse integers that are not a channel."""

    @property
    @abstractmethod
    def codes(self) -> int:
        """Number of codes."""

    @property
    @abstractmethod
    def weights(self) -> tuple[int, int]:
        """Weights of the best and the worst cell under the most revealing code."""

    @property
    def answers(self) -> int:
        """Number of answer draws."""
        return 1

    @abstractmethod
    def drawing(self) -> Draw:
        """Return the function that draws.

        Its work may depend on the resulting code, which is public, but not on the cells: truth and lie are both
        computed, and numbers are offset so that none is small and therefore cheaper.
        """


class Respond(Step):
    """Report the true value or another one: the cells themselves or, in hashing steps, the hash values."""

    numbers: ClassVar[tuple[str, ...]] = ("flip",)

    @property
    def values(self) -> int:
        """Number of values."""
        return self.domain

    @property
    def codes(self) -> int:
        return self.values

    @property
    def weights(self) -> tuple[int, int]:
        flip = self.entry["flip"]
        return SPAN - (self.values - 1) * flip, flip

    def check(self) -> None:
        flip = self.entry["flip"]
        need(0 <= flip <= SPAN and (self.values - 1) * flip <= SPAN, "bad-flip")

    def drawing(self) -> Draw:
        flat = _Flat(self.sizes)
        respond = self._respond(flat.bias)
        return lambda cells, draws: respond(flat.place(cells), draws[1])

    def _respond(self, bias: int) -> Callable[[int, int], int]:
        """Return the function from a value plus a bias, and a draw, to this value or another one, without the bias."""
        values, top = self.values, bias + self.values
        limit, others = (values - 1) * self.entry["flip"], max(1, values - 1)

        def respond(truth: int, draw: int) -> int:
            lie = truth + 1 + draw % others
            lie = (lie, lie - values)[lie >= top]
            return (truth, lie)[draw < limit] - bias

        return respond


class MurmurHash(Respond):
    """Hash the cell by MurmurHash3 under a 32-bit seed, then respond."""

    numbers = ("g", "flip")

    @property
    def values(self) -> int:
        return int(self.entry["g"])

    @property
    def codes(self) -> int:
        return 2**32 * self.values

    def check(self) -> None:
        need(2 <= self.values < MAX_HASHES, "bad-g")
        super().check()

    def drawing(self) -> Draw:
        flat, g, bias = _Flat(self.sizes), self.values, _bias(self.values)
        respond = self._respond(bias)

        def draw(cells: Sequence[int], draws: Sequence[int]) -> int:
            seed = draws[0] % 2**32
            return int(seed * g + respond(_murmur3(flat.place(cells) - flat.bias, seed) % g + bias, draws[1]))

        return draw


class LinearHash(Respond):
    """Hash the cells' digits in base g by a random linear form modulo g, then respond."""

    numbers, tables = ("g", "flip"), ("multipliers",)

    @property
    def values(self) -> int:
        return int(self.entry["g"])

    @cached_property
    def digits(self) -> list[int]:
        """How many digits of base g number the cells of each attribute."""
        g = self.values
        return [_digit_count(size, g) for size in self.sizes]

    @cached_property
    def seeds(self) -> int:
        """Number of linear forms, up to multiples."""
        g = self.values
        return max(1, (int(g ** sum(self.digits)) - 1) // (g - 1))

    @property
    def codes(self) -> int:
        return 1 + self.seeds * self.values

    def check(self) -> None:
        g = self.values
        need(2 <= g <= MAX_PRIME and all(g % n for n in range(2, isqrt(g) + 1)), "bad-g")
        super().check()
        need(self.seeds <= SPAN, "codes-too-large")
        for digits in self.digits:
            factor = self.entry["multipliers"].get(str(digits), 0)
            need(1 <= factor <= g**digits and (digits == 0 or factor % g), "bad-multiplier")

    def drawing(self) -> Draw:
        g, seeds, bias = self.values, self.seeds, _bias(self.values)
        respond, usable = self._respond(bias), SPAN // seeds * seeds
        lift = g * (LIFT // g + 1)  # nothing, modulo g
        blocks: list[tuple[range, int, int, int]] = []
        for digits in reversed(self.digits):  # the last attribute has the lowest digits
            power, factor = g**digits, self.entry["multipliers"][str(digits)]
            blocks.append((range(digits), power, factor, -LIFT * factor % power + power))

        def draw(cells: Sequence[int], draws: Sequence[int]) -> int:
            if draws[0] >= usable:
                return 0
            number, lead = draws[0] % seeds, 0
            while (g ** (lead + 1) - 1) // (g - 1) <= number:
                lead += 1
            vector = g**lead + number - (g**lead - 1) // (g - 1)
            hashed = lift
            for cell, (places, power, factor, shift) in zip(reversed(cells), blocks, strict=True):
                point = (cell * factor + shift) % power + LIFT * power
                for _ in places:
                    hashed += (vector % g) * (point % g + lift)
                    vector, point = vector // g, point // g
            return int(1 + number * g + respond(hashed % g + bias, draws[1]))

        return draw


class Subset(Step):
    """Report a set of w cells."""

    numbers = ("w", "inside", "outside")

    @property
    def codes(self) -> int:
        return 1 + comb(self.domain, self.entry["w"])

    @property
    def weights(self) -> tuple[int, int]:
        return self.entry["inside"], self.entry["outside"]

    def check(self) -> None:
        need(self._is_channel(), "bad-subset")

    def _is_channel(self) -> bool:
        w, inside, outside = (self.entry[name] for name in self.numbers)
        if not (1 <= w < self.domain and 0 <= inside <= SPAN and 0 <= outside <= SPAN):
            return False
        count = 1
        for place in range(min(w, self.domain - w)):  # binomials of large numbers take too long
            count = count * (self.domain - place) // (place + 1)
            if count > MAX_SUBSETS:
                return False
        return bool(comb(self.domain - 1, w - 1) * inside + comb(self.domain - 1, w) * outside <= SPAN)

    def drawing(self) -> Draw:
        flat, (w, inside_weight, outside_weight) = _Flat(self.sizes), (self.entry[name] for name in self.numbers)
        without, with_it = comb(flat.domain - 1, w), comb(flat.domain - 1, w - 1)
        lower = without * outside_weight
        upper = lower + with_it * inside_weight
        never = without + with_it
        ways: list[list[int]] = []  # of so many members below a place; made when the view is drawn first

        def draw(cells: Sequence[int], draws: Sequence[int]) -> int:
            cell, answer = flat.place(cells) - flat.bias, draws[1]
            if answer >= upper:
                return 0
            inside = int(answer >= lower)
            left = (answer % without, (answer - lower) % with_it)[inside]
            if w == 1:
                return 1 + (left + (left >= cell), cell)[inside]
            if not ways:
                ways.extend([comb(place, size) for place in range(flat.domain)] for size in range(w + 2))
                ways[0] = [never] * flat.domain
            size = below = w - inside
            rank = 0
            for place in range(flat.domain - 2, -1, -1):  # the other cells are numbered without the true cell
                above = place >= cell
                count = ways[size][place]
                chosen = left >= count
                rank += (0, ways[size + (inside & above)][place + above])[chosen]
                left -= (0, count)[chosen]
                size -= chosen
                below = (below, size)[above]
            return 1 + rank + (0, ways[below + 1][cell])[inside]

        return draw


class Bits(Step):
    """Report one bit for each cell, each with an answer draw of its own."""

    numbers = ("one", "zero")

    @property
    def codes(self) -> int:
        return 1 << self.domain

    @property
    def answers(self) -> int:
        return self.domain

    @property
    def weights(self) -> tuple[int, int]:
        one, zero = self.entry["one"], self.entry["zero"]
        return one * (SPAN - zero), zero * (SPAN - one)

    def check(self) -> None:
        possible = all(0 <= self.entry[name] <= SPAN for name in self.numbers)
        need(self.domain <= MAX_BITS and possible, "bad-bits")

    def drawing(self) -> Draw:
        flat, one, zero = _Flat(self.sizes), self.entry["one"], self.entry["zero"]
        bits = [1 << place for place in range(flat.domain)]

        def draw(cells: Sequence[int], draws: Sequence[int]) -> int:
            place = flat.place(cells) - flat.bias
            lies = sum((0, bit)[answer < zero] for bit, answer in zip(bits, draws[1:], strict=False))
            bit, answer = bits[place], draws[1 + place]
            return lies - (0, bit)[answer < zero] + (0, bit)[answer < one]

        return draw


STEPS: dict[str, type[Step]] = {
    "grr": Respond,
    "ss": Subset,
    "lh": LinearHash,
    "olh": MurmurHash,
    "oue": Bits,
}
"""The names of wire version 1."""


def step_of(entry: Entry, sizes: Sequence[int]) -> Step:
    """Return how a view with cells of these sizes is drawn."""
    return STEPS[entry["oracle"]](entry, sizes)


class _Flat:
    """The index of cells in their product, the last one changing fastest, plus a bias that keeps its size constant."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.domain, self.strides = prod(sizes), [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self.bias = _bias(self.domain)
        self._start = self.bias - LIFT * sum(self.strides)

    def place(self, cells: Sequence[int]) -> int:
        flat = self._start
        for cell, stride in zip(cells, self.strides, strict=True):
            flat += cell * stride
        return flat


def _bias(count: int) -> int:
    """Return a number such that it plus or minus twice the count takes as many machine words."""
    digits = 0
    while 1 << (30 * digits + 29) < 4 * count:
        digits += 1
    return 1 << (30 * digits + 29)


def _digit_count(size: int, g: int) -> int:
    digits = 0
    while g**digits < size:
        digits += 1
    return digits


WORD, HIGH = 2**32 - 1, 1 << 64
"""The bits of a word, and one far above them: with it no word is small, not even that of the key 0."""


def _rotate(word: int, by: int) -> int:
    """Return a word with its bits rotated to the left, and HIGH; the word may have it."""
    return (word * (2**32 + 1) >> (32 - by) | HIGH) & (HIGH | WORD)


def _murmur3(key: int, seed: int) -> int:
    """Return MurmurHash3_x86_32 of a 64-bit key."""
    state = seed
    for word in (key & WORD, key >> 32):
        mixed = _rotate(((word | HIGH) * 0xCC9E2D51 | HIGH) & (HIGH | WORD), 15) * 0x1B873593
        state = _rotate((state ^ mixed) & WORD, 13) * 5 + 0xE6546B64 & WORD
    state ^= 8
    state = (state ^ state >> 16) * 0x85EBCA6B & WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & WORD
    return state ^ state >> 16
