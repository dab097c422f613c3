"""The oracles' client side in whole numbers, one record at a time; `docs/wire.md` states each rule."""

from __future__ import annotations

from math import comb, prod
from typing import Any

__all__ = ["alphabet", "answer", "digit_count", "murmur3", "seed_count"]

Data = dict[str, Any]


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


def answer(oracle: Data, sizes: list[int], cells: list[int], *, seed: int, answers: list[int], bits: int) -> int:
    """Return the code of a record's cells within its view."""
    flat = 0
    for cell, size in zip(cells, sizes, strict=True):
        flat = flat * size + cell
    kind, domain = oracle["oracle"], prod(sizes)
    if kind == "grr":
        return _respond(flat, answers[0], domain, oracle["flip"])
    if kind == "ss":
        return _subset(oracle, domain, flat, answers[0])
    if kind == "lh":
        return _linear_hash(oracle, sizes, cells, seed, answers[0], 1 << bits)
    if kind == "olh":
        g, seed = oracle["g"], seed % 2**32
        return int(seed * g + _respond(murmur3(flat, seed) % g, answers[0], g, oracle["flip"]))
    set_bits = (draw < oracle["one" if place == flat else "zero"] for place, draw in enumerate(answers[:domain]))
    return sum(bit << place for place, bit in enumerate(set_bits))


def _respond(cell: int, draw: int, cells: int, flip: int) -> int:
    if cells > 1 and draw < (cells - 1) * flip:
        return (cell + 1 + draw % (cells - 1)) % cells
    return cell


def _subset(oracle: Data, domain: int, cell: int, draw: int) -> int:
    w, inside, outside = oracle["w"], oracle["inside"], oracle["outside"]
    without, with_it = comb(domain - 1, w), comb(domain - 1, w - 1)
    if draw >= without * outside + with_it * inside:
        return 0
    is_inside = draw >= without * outside
    left = (draw - without * outside) % with_it if is_inside else draw % without
    members, size = [cell] if is_inside else [], w - is_inside
    for place in range(domain - 2, -1, -1):  # the others close up over the true cell
        if size and left >= comb(place, size):
            left -= comb(place, size)
            size -= 1
            members.append(place + (place >= cell))
    return 1 + sum(comb(member, i + 1) for i, member in enumerate(sorted(members)))


def digit_count(size: int, g: int) -> int:
    """Return how many digits of base g number so many cells."""
    digits = 0
    while g**digits < size:
        digits += 1
    return digits


def seed_count(g: int, sizes: list[int]) -> int:
    """Return the number of linear hashes, up to multiples."""
    return int(max(1, (g ** sum(digit_count(size, g) for size in sizes) - 1) // (g - 1)))


def _linear_hash(oracle: Data, sizes: list[int], cells: list[int], seed: int, draw: int, span: int) -> int:
    g, seeds = oracle["g"], seed_count(oracle["g"], sizes)
    if seed >= span // seeds * seeds:
        return 0
    number, lead = seed % seeds, 0
    while (g ** (lead + 1) - 1) // (g - 1) <= number:
        lead += 1
    vector = g**lead + number - (g**lead - 1) // (g - 1)
    hashed = 0
    for cell, size in zip(reversed(cells), reversed(sizes), strict=True):
        digits = digit_count(size, g)
        point = cell * oracle["multipliers"][str(digits)] % g**digits
        for _ in range(digits):
            hashed += (vector % g) * (point % g)
            vector, point = vector // g, point // g
    return int(1 + number * g + _respond(hashed % g, draw, g, oracle["flip"]))


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & 0xFFFFFFFF


def murmur3(key: int, seed: int) -> int:
    """Return MurmurHash3_x86_32 of a 64-bit key."""
    state = seed
    for word in (key & 0xFFFFFFFF, key >> 32):
        mixed = _rotate(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        state = (_rotate(state ^ mixed, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= 8
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16
