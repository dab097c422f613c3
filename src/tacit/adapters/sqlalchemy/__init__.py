"""The SQLAlchemy dialect ``tacit://``: read only, services as tables, estimates as three columns.

- ``tacit:///shop.tacit`` is an existing file; use four slashes for an absolute path.
- ``tacit:///?engine=postgresql%3A%2F%2F…`` is a PostgreSQL database, with its URL-quoted address.
- ``tacit://host`` is a running collector: https, or http on this machine. Its key comes from the environment
  (TACIT_KEY, TACIT_KEY_FILE), from ``?key_file=``, or is the password of the address: ``tacit://:key@host``.
- ``tacit://`` with ``connect_args={"database": db}`` is an open `tacit.Database`.
- ``tacit:///:memory:`` is an empty database in memory, for tests.

The query string may set ``confidence`` and ``decoder``: ``tacit:///shop.tacit?confidence=0.9``.
"""

from __future__ import annotations

from tacit.errors import EngineError

try:
    import sqlalchemy  # noqa: F401  only to say what is missing
except ImportError:
    message = "The dialect needs SQLAlchemy. Install tacit with its extra: pip install '.[sqlalchemy]'."
    raise EngineError(message, code="missing-extra") from None

from tacit.adapters.sqlalchemy.dialect import TacitDialect

__all__ = ["TacitDialect"]
