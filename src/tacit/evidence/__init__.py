"""Evidence for people who trust nobody: what is claimed about a collection, and how to check every claim again."""

from __future__ import annotations

from tacit.evidence.claims import audited, gather
from tacit.evidence.folder import Verdict, verify, write
from tacit.evidence.readers import Readership
from tacit.evidence.trials import Trials, run_trials

__all__ = ["Readership", "Trials", "Verdict", "audited", "gather", "run_trials", "verify", "write"]
