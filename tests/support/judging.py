"""Three validators and an exact loss, side by side, on mutated contracts."""

from __future__ import annotations

import random
from collections import Counter

from support.contracts import TypeScriptClient, package, python_client
from support.losses import objections
from support.mutants import mutant

__all__ = ["decide_alike"]

BATCH = 250
"""Mutants that one process hands to another at a time."""


def decide_alike(typescript: TypeScriptClient, texts: list[str], rng: random.Random, count: int) -> Counter[str]:
    """Judge so many mutants three times; return the rules that they break, with the empty one for those accepted.

    A disagreement fails; so does an accepted contract whose loss, computed exactly from its JSON, is too large.
    """
    rules: Counter[str] = Counter()
    for start in range(0, count, BATCH):
        mutants = [mutant(texts, rng) for _ in range(min(BATCH, count - start))]
        for text, theirs in zip(mutants, typescript.judge(mutants), strict=True):
            verdicts = [package(text), python_client(text), theirs]
            if verdicts[1] == verdicts[2] == "not-for-clients":
                verdicts[0] = "not-for-clients"  # the package goes on
            assert len(set(verdicts)) == 1, (verdicts, text)
            if verdicts[0] == "":
                assert objections(text) == [], text
            rules[verdicts[0]] += 1
    return rules
