"""The trusted curator: an organisation that holds the data publishes noisy answers, or a release, once.

Neighbouring tables differ by one record, and a person has one record. Noise comes from OpenDP; a `Ledger` records what
is spent.
"""

from __future__ import annotations

from tacit.central.advisor import Advice, advise
from tacit.central.body import Body
from tacit.central.charges import Charge, Event
from tacit.central.compare import compare
from tacit.central.data import Data, Partition
from tacit.central.guidance import posterior_bound, sufficient_epsilon, useful_error, useful_rows
from tacit.central.ledger import Ledger
from tacit.central.methods import METHODS, Method
from tacit.central.release import Release, release
from tacit.errors import BudgetError

__all__ = [
    "METHODS",
    "Advice",
    "Body",
    "BudgetError",
    "Charge",
    "Data",
    "Event",
    "Ledger",
    "Method",
    "Partition",
    "Release",
    "advise",
    "compare",
    "posterior_bound",
    "release",
    "sufficient_epsilon",
    "useful_error",
    "useful_rows",
]
