"""Evidence that a third party can check: the claims about a collection, and how to verify each of them."""

from __future__ import annotations

from tacit.evidence.claims import audited, gather
from tacit.evidence.folder import Verdict, verify, write
from tacit.evidence.readers import Readership
from tacit.evidence.trials import Trials, run_trials

__all__ = ["Readership", "Trials", "Verdict", "audited", "gather", "run_trials", "verify", "write"]
