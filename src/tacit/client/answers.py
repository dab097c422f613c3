"""The oracles' client side in whole numbers, one record at a time; `docs/wire.md` states each rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, prod
from typing import Any

__all__ = ["LIFT", "Respond", "alphabet", "digit_count", "murmur3", "responder", "seed_count"]

Data = dict[str, Any]

Respond = Callable[[Sequence[int], Sequence[int]], int]

LIFT = 257
"""Added to cells: Python keeps whole numbers up to 256 in memory, so that arithmetic with smaller results is faster."""


def alphabet(oracle: Data, sizes: list[int]) -> int:
    """Return the number of codes of a view."""
    kind, domain = oracle["oracle"], prod(sizes)
    if kind == "grr":
        return domain
    if kind == "ss":
        return 1 + comb(domain, oracle["w"])
    if kind == "lh":
        return int(1 + seed_count(oracle["g"], sizes) * oracle["g"])
    if kind == "olh":
        return int(2**32 * oracle["g"])
    return 1 << domain


def responder(oracle: Data, sizes: list[int], bits: int) -> Respond:
    """Return the function from a record's cells in a view, each plus LIFT, and its draws to its code.

    The draws are the seed and the answers. The work may depend on the code that comes out, which everybody sees, but
    not on the cells: truth and lie are both computed, and numbers are lifted so that none is small, thus cheaper.
    """
    return RESPONDERS[oracle["oracle"]](oracle, sizes, 1 << bits)


class _Flat:
    """The place of cells in their product, the last one's changing fastest, plus a bias that keeps its size even."""

    def __init__(self, sizes: list[int]) -> None:
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


def _randomised(cells: int, flip: int, bias: int) -> Callable[[int, int], int]:
    """Return the function from a cell plus a bias, and a draw, to this cell or another one, without the bias."""
    limit, others, top = (cells - 1) * flip, max(1, cells - 1), bias + cells

    def respond(truth: int, draw: int) -> int:
        lie = truth + 1 + draw % others
        lie = (lie, lie - cells)[lie >= top]
        return (truth, lie)[draw < limit] - bias

    return respond


def _grr(oracle: Data, sizes: list[int], span: int) -> Respond:
    del span
    flat = _Flat(sizes)
    respond = _randomised(flat.domain, oracle["flip"], flat.bias)
    return lambda cells, draws: respond(flat.place(cells), draws[1])


def _olh(oracle: Data, sizes: list[int], span: int) -> Respond:
    del span
    flat, g, bias = _Flat(sizes), oracle["g"], _bias(oracle["g"])
    respond = _randomised(g, oracle["flip"], bias)

    def code(cells: Sequence[int], draws: Sequence[int]) -> int:
        seed = draws[0] % 2**32
        return int(seed * g + respond(murmur3(flat.place(cells) - flat.bias, seed) % g + bias, draws[1]))

    return code


def _oue(oracle: Data, sizes: list[int], span: int) -> Respond:
    del span
    flat, one, zero = _Flat(sizes), oracle["one"], oracle["zero"]
    bits = [1 << place for place in range(flat.domain)]

    def code(cells: Sequence[int], draws: Sequence[int]) -> int:
        place = flat.place(cells) - flat.bias
        lies = sum((0, bit)[draw < zero] for bit, draw in zip(bits, draws[1:], strict=False))
        own, draw = bits[place], draws[1 + place]
        return lies - (0, own)[draw < zero] + (0, own)[draw < one]

    return code


def _ss(oracle: Data, sizes: list[int], span: int) -> Respond:
    del span
    flat, w = _Flat(sizes), oracle["w"]
    without, with_it = comb(flat.domain - 1, w), comb(flat.domain - 1, w - 1)
    lower = without * oracle["outside"]
    upper = lower + with_it * oracle["inside"]
    never = without + with_it
    ways: list[list[int]] = []  # of so many members below a place; made when the view is drawn first

    def code(cells: Sequence[int], draws: Sequence[int]) -> int:
        cell, draw = flat.place(cells) - flat.bias, draws[1]
        if draw >= upper:
            return 0
        inside = int(draw >= lower)
        left = (draw % without, (draw - lower) % with_it)[inside]
        if w == 1:
            return 1 + (left + (left >= cell), cell)[inside]
        if not ways:
            ways.extend([comb(place, size) for place in range(flat.domain)] for size in range(w + 2))
            ways[0] = [never] * flat.domain
        size = below = w - inside
        rank = 0
        for place in range(flat.domain - 2, -1, -1):  # the others close up over the true cell
            above = place >= cell
            count = ways[size][place]
            chosen = left >= count
            rank += (0, ways[size + (inside & above)][place + above])[chosen]
            left -= (0, count)[chosen]
            size -= chosen
            below = (below, size)[above]
        return 1 + rank + (0, ways[below + 1][cell])[inside]

    return code


def digit_count(size: int, g: int) -> int:
    """Return how many digits of base g number so many cells."""
    digits = 0
    while g**digits < size:
        digits += 1
    return digits


def seed_count(g: int, sizes: list[int]) -> int:
    """Return the number of linear hashes, up to multiples."""
    return int(max(1, (g ** sum(digit_count(size, g) for size in sizes) - 1) // (g - 1)))


def _lh(oracle: Data, sizes: list[int], span: int) -> Respond:
    g, seeds, bias = oracle["g"], seed_count(oracle["g"], sizes), _bias(oracle["g"])
    respond, usable = _randomised(g, oracle["flip"], bias), span // seeds * seeds
    lift = g * (LIFT // g + 1)  # nothing, modulo g
    steps: list[tuple[range, int, int, int]] = []
    for size in reversed(sizes):  # the last attribute has the lowest digits
        digits = digit_count(size, g)
        power, factor = g**digits, oracle["multipliers"][str(digits)]
        steps.append((range(digits), power, factor, -LIFT * factor % power + power))

    def code(cells: Sequence[int], draws: Sequence[int]) -> int:
        if draws[0] >= usable:
            return 0
        number, lead = draws[0] % seeds, 0
        while (g ** (lead + 1) - 1) // (g - 1) <= number:
            lead += 1
        vector = g**lead + number - (g**lead - 1) // (g - 1)
        hashed = lift
        for cell, (places, power, factor, shift) in zip(reversed(cells), steps, strict=True):
            point = (cell * factor + shift) % power + LIFT * power
            for _ in places:
                hashed += (vector % g) * (point % g + lift)
                vector, point = vector // g, point // g
        return int(1 + number * g + respond(hashed % g + bias, draws[1]))

    return code


RESPONDERS: dict[str, Callable[[Data, list[int], int], Respond]] = {
    "grr": _grr,
    "ss": _ss,
    "lh": _lh,
    "olh": _olh,
    "oue": _oue,
}


WORD, HIGH = 2**32 - 1, 1 << 64
"""The bits of a word, and one far above them: with it no word is small, not even that of the key 0."""


def _rotate(word: int, by: int) -> int:
    """Return a word with its bits rotated to the left, and HIGH; the word may have it."""
    return (word * (2**32 + 1) >> (32 - by) | HIGH) & (HIGH | WORD)


def murmur3(key: int, seed: int) -> int:
    """Return MurmurHash3_x86_32 of a 64-bit key."""
    state = seed
    for word in (key & WORD, key >> 32):
        mixed = _rotate(((word | HIGH) * 0xCC9E2D51 | HIGH) & (HIGH | WORD), 15) * 0x1B873593
        state = _rotate((state ^ mixed) & WORD, 13) * 5 + 0xE6546B64 & WORD
    state ^= 8
    state = (state ^ state >> 16) * 0x85EBCA6B & WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & WORD
    return state ^ state >> 16
