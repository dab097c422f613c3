"""Functions for SQL engines: encode data in place, compute contributions, and statements that use both.

Data platforms accept user-defined functions in this form. `tacit.Database` does the same with joins and plain sums,
which is faster; these are for data owners who share by SQL, and for engines that tacit does not support.
"""

from tacit.adapters.functions.cluster import encode_in_spark
from tacit.adapters.functions.contribution import Aggregate, Contribution
from tacit.adapters.functions.register import POSTGRES, install_postgres, register_duckdb, register_spark
from tacit.adapters.functions.rewriter import rewrite
from tacit.adapters.functions.sharing import Sharing, share, sharing_statement

__all__ = [
    "POSTGRES",
    "Aggregate",
    "Contribution",
    "Sharing",
    "encode_in_spark",
    "install_postgres",
    "register_duckdb",
    "register_spark",
    "rewrite",
    "share",
    "sharing_statement",
]
