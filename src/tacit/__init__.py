"""tacit: analytics on data you never see.

Each person's device perturbs its own record before anything leaves it; the collector asks ordinary questions over the
perturbed reports. One privacy budget per person covers all services.

Names load when they are first used, so that `tacit.client` runs where numpy and Arrow are not wanted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.adapters.connect import connect
    from tacit.collection import Collection
    from tacit.contract.categories import load_dictionary
    from tacit.contract.kinds import Boolean, Choices, Date, Place, Timestamp
    from tacit.contract.randomness import insecure_rng
    from tacit.contract.schema import Categorical, Ordinal, Public, Schema, Service
    from tacit.database import Database
    from tacit.errors import TacitError
    from tacit.estimate.answer import Answer
    from tacit.estimate.estimate import Estimate

__all__ = [
    "Answer",
    "Boolean",
    "Categorical",
    "Choices",
    "Collection",
    "Database",
    "Date",
    "Estimate",
    "Ordinal",
    "Place",
    "Public",
    "Schema",
    "Service",
    "TacitError",
    "Timestamp",
    "connect",
    "insecure_rng",
    "load_dictionary",
]

__version__ = "0.1.0"

_HOME = {
    "Answer": "estimate.answer",
    "Boolean": "contract.kinds",
    "Categorical": "contract.schema",
    "Choices": "contract.kinds",
    "Collection": "collection",
    "Database": "database",
    "Date": "contract.kinds",
    "Estimate": "estimate.estimate",
    "Ordinal": "contract.schema",
    "Place": "contract.kinds",
    "Public": "contract.schema",
    "Schema": "contract.schema",
    "Service": "contract.schema",
    "TacitError": "errors",
    "Timestamp": "contract.kinds",
    "connect": "adapters.connect",
    "insecure_rng": "contract.randomness",
    "load_dictionary": "contract.categories",
    "load_ipython_extension": "adapters.notebook",  # `%load_ext tacit`
}
"""Which module each public name lives in."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module 'tacit' has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(importlib.import_module(f"tacit.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
