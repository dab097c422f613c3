"""The glossary is short, defines every word of the public surface, and errors and notes link to it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import tacit as tc

TEXT = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text().lower()
TERMS = re.findall(r"^\| (?:<a id=\S+></a>)+\*\*(.+?)\*\* \|", TEXT, re.MULTILINE)
LINK = re.compile(r"docs/glossary\.md#([\w-]+)")
PLAIN = {
    "text",
    "path",
    "name",
    "parameters",
    "options",
    "self",
    "users",
    "people",
    "progress",
    "rng",
    "args",
    "type",
    "seed",
    "page",
    "step",
}
"""Words that mean what they mean everywhere."""


def words_of_the_surface() -> set[str]:
    """Return the public names and the names of their parameters, in words."""
    names = set(tc.__all__) - {"TacitError", "connect", "insecure_rng"}
    for name in tc.__all__:
        for part in (getattr(tc, name), *vars(getattr(tc, name)).values()):
            if inspect.isfunction(part) and not part.__name__.startswith("_"):
                names |= set(inspect.signature(part).parameters)
        if inspect.isclass(getattr(tc, name)) and name not in ("Answer", "Database", "Estimate", "TacitError"):
            names |= set(inspect.signature(getattr(tc, name)).parameters)
    return {name.lower() for name in names} - PLAIN


def test_it_has_at_most_forty_terms_in_order() -> None:
    assert 30 <= len(TERMS) <= 40
    assert sorted(TERMS) == TERMS


def test_every_term_has_an_anchor() -> None:
    anchors = [anchor.replace("-", " ") for anchor in re.findall(r'<a id="([\w-]+)"></a>', TEXT)]
    assert anchors == [term for line in TERMS for term in line.split(", ")]


def test_links_in_errors_and_notes_lead_to_a_term() -> None:
    sources = (Path(__file__).parents[2] / "src").rglob("*.py")
    linked = {anchor for path in sources for anchor in LINK.findall(path.read_text())}
    assert len(linked) >= 8, "errors and notes explain their terms"
    assert not {anchor for anchor in linked if f'<a id="{anchor}"></a>' not in TEXT}


def test_every_public_word_is_in_it() -> None:
    missing = {word for word in words_of_the_surface() if not re.search(rf"\b{word.removesuffix('s')}s?\b", TEXT)}
    assert not missing
