"""Generators of small synthetic populations, so that demos and docs need no data files."""

from __future__ import annotations

from tacit.datasets.market import SAMPLE_PEOPLE, market, market_schema
from tacit.datasets.town import town, town_schema

__all__ = ["SAMPLE_PEOPLE", "market", "market_schema", "town", "town_schema"]
