"""tacit: analytics on data you never see.

Each person's device perturbs its own record before anything leaves it; the collector asks ordinary questions over the
perturbed reports. One privacy budget per person covers all services.
"""

from __future__ import annotations

from tacit.collection import Collection
from tacit.errors import TacitError
from tacit.randomness import insecure_rng
from tacit.schema import Categorical, Ordinal, Public, Schema, Service

__all__ = [
    "Categorical",
    "Collection",
    "Ordinal",
    "Public",
    "Schema",
    "Service",
    "TacitError",
    "insecure_rng",
]

__version__ = "0.1.0"
