"""The best of AHEAD, PriPL-Tree, PrivNUD and HDG in each cell: mean absolute errors as a fraction of the people.

Each peer's public code on the same people and questions, n = 1,000,000, measured before this project began; AHEAD asks
people in several rounds, the others in one. Keys are attributes, epsilon, and attributes asked at a volume of each.
"""

from __future__ import annotations

__all__ = ["BEST"]

_TWO = {
    (2, "0.5"): {"normal": (0.0172, 0.0123), "spiky": (0.0189, 0.0089), "laplace": (0.0159, 0.0111)},
    (2, "1"): {"normal": (0.0112, 0.0076), "spiky": (0.0113, 0.0068), "laplace": (0.0113, 0.0067)},
    (2, "2"): {"normal": (0.0080, 0.0049), "spiky": (0.0066, 0.0045), "laplace": (0.0065, 0.0039)},
    (4, "1"): {"normal": (0.0198, 0.0139), "spiky": (0.0188, 0.0089), "laplace": (0.0184, 0.0101)},
    (6, "1"): {"normal": (0.0258, 0.0163), "spiky": (0.0256, 0.0138), "laplace": (0.0180, 0.0139)},
    (6, "2"): {"normal": (0.0143, 0.0113), "spiky": (0.0149, 0.0083), "laplace": (0.0177, 0.0099)},
}

BEST: dict[tuple[int, str, str], dict[str, float]] = {
    (d, epsilon, f"2 at {volume}"): {name: both[place] for name, both in errors.items()}
    for (d, epsilon), errors in _TWO.items()
    for place, volume in enumerate((0.5, 0.25))
} | {
    (4, "1", "4 at 0.5"): {"normal": 0.0363, "spiky": 0.0156, "laplace": 0.0420},
    (6, "1", "6 at 0.5"): {"normal": 0.0507, "spiky": 0.0068, "laplace": 0.0580},
}
