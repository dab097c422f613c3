"""The encoders of pure-ldp and multi-freq-ldpy, each as a function of one value: the only interface they offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from pure_ldp.frequency_oracles import (
    DEClient,
    FastLHClient,
    HadamardMechClient,
    HadamardResponseClient,
    LHClient,
    UEClient,
)

__all__ = ["HASHING", "OTHER", "Peer", "peers"]

HASHING = "local hashing"
"""Peers of this kind carry the claim: they do the work that tacit does on a large domain, a hash and a response."""

OTHER = "other"
"""Peers of this kind are measured and shown, and carry no claim: cheaper or costlier mechanisms."""

FAST_HASHES = 1000
"""Hash functions of pure-ldp's heuristic FastLH; the number changes the server's work, not the client's."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One encoder of a package; ``first`` is the smallest value it takes."""

    package: str
    mechanism: str
    kind: str
    first: int
    encode: Callable[[int], object]

    @property
    def name(self) -> str:
        """Package and mechanism."""
        return f"{self.package} {self.mechanism}"


def peers(size: int, epsilon: float) -> list[Peer]:
    """Return the encoders of both packages for one attribute of ``size`` values."""
    return [*_pure_ldp(size, epsilon), *_multi_freq(size, epsilon)]


def _pure_ldp(size: int, epsilon: float) -> list[Peer]:
    """Return the clients of pure-ldp, which number values from 1."""
    clients = [
        ("OLH", HASHING, LHClient(epsilon, size, use_olh=True)),
        ("BLH", HASHING, LHClient(epsilon, size, g=2)),
        ("FastLH", HASHING, FastLHClient(epsilon, size, FAST_HASHES, use_olh=True)),
        ("DE (randomised response)", OTHER, DEClient(epsilon, size)),
        ("Hadamard response", OTHER, HadamardResponseClient(epsilon, size, None)),
        ("Hadamard mechanism", OTHER, HadamardMechClient(epsilon, size, 1)),
        ("OUE", OTHER, UEClient(epsilon, size, use_oue=True)),
    ]
    return [Peer("pure-ldp", name, kind, 1, client.privatise) for name, kind, client in clients]


def _multi_freq(size: int, epsilon: float) -> list[Peer]:
    """Return the client functions of multi-freq-ldpy, which number values from 0."""
    clients: list[tuple[str, str, Callable[[int], object]]] = [
        ("OLH", HASHING, lambda value: LH_Client(value, size, epsilon)),
        ("BLH", HASHING, lambda value: LH_Client(value, size, epsilon, optimal=False)),
        ("GRR (randomised response)", OTHER, lambda value: GRR_Client(value, size, epsilon)),
        ("subset selection", OTHER, lambda value: SS_Client(value, size, epsilon)),
        ("OUE", OTHER, lambda value: UE_Client(value, size, epsilon)),
    ]
    return [Peer("multi-freq-ldpy", name, kind, 0, encode) for name, kind, encode in clients]
