"""The DB-API 2.0 (PEP 249) module: the public name of `tacit.adapters.dbapi`."""

from __future__ import annotations

from tacit.adapters.dbapi import *  # noqa: F403
from tacit.adapters.dbapi import __all__  # noqa: F401
