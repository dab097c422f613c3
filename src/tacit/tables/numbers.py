"""Numbers as a statistician prints them: significant digits, thousands separated, no exponents."""

from __future__ import annotations

import math

__all__ = ["number_text"]

LARGEST = 1e21
"""Numbers from here on are written as powers of ten, for readability."""


def number_text(number: float, digits: int = 4) -> str:
    """Return a finite number with at least some significant digits, and every digit before the point.

    Examples
    --------
    >>> number_text(81_853.2), number_text(0.00012346), number_text(-0.0), number_text(12.5)
    ('81,853', '0.0001235', '0', '12.5')
    """
    if number == 0:
        return "0"
    size = math.floor(math.log10(abs(number)))
    if abs(number) >= LARGEST or size < -12:
        return f"{number / 10.0**size:.{digits - 1}f} × 10^{size}"
    places = max(0, digits - 1 - size)
    text = f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text
