"""Small generators of plausible people, so that demos and docs need no data files."""

from __future__ import annotations

from tacit.datasets.town import town, town_schema

__all__ = ["town", "town_schema"]
