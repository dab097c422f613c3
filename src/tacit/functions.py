"""Functions inside other engines: the public name of `tacit.adapters.functions`."""

from __future__ import annotations

from tacit.adapters.functions import *  # noqa: F403
from tacit.adapters.functions import __all__  # noqa: F401
