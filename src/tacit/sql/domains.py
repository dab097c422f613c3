"""Notes on conditions that declared domains decide: a wrong unit or a typing error looks like an exact zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tacit.contract.schema import Ordinal, Public
from tacit.errors import BindError
from tacit.sql.parse import sql_of
from tacit.sql.per_person import PEOPLE
from tacit.sql.predicates import MIRRORED, comparison, conjuncts
from tacit.sql.public import is_list, is_public
from tacit.sql.scalars import COMPARISONS
from tacit.sql.scope import LABELS, BoundColumn, Scope
from tacit.sql.totals import Total

__all__ = ["about_public", "domain_notes", "unknown_labels"]

OF_OPERATOR = {operator: kind for kind, operator in COMPARISONS.items()}

LEAVES = (*COMPARISONS, exp.Between, exp.In, exp.Is)


def domain_notes(scope: Scope, statement: exp.Select, where: Total) -> list[str]:
    """Return a note for each condition that the declared domains alone make always false or always true."""
    conditions: list[exp.Expr] = list(statement.find_all(*LEAVES))
    leaves = [leaf for leaf in conditions if _is_about_rows(scope, leaf)]
    notes = [note for leaf in leaves for part in _parts(scope, leaf) if (note := _note(scope, part))]
    if not where.pieces and not notes:
        why = "the conditions in WHERE exclude each other" if len(leaves) > 1 else "nobody meets the condition in WHERE"
        notes = [f"{why}, so the answer is exact"]
    return list(dict.fromkeys(notes))


def about_public(scope: Scope, statement: exp.Select, *, met: bool) -> list[exp.Expr]:
    """Return the conditions on public columns, without labels; if ``met``, without those that all of WHERE requires."""
    where = statement.args.get("where")
    needed = conjuncts(where.this if where else None) if met else []
    conditions: list[exp.Expr] = list(statement.find_all(*LEAVES))
    public = [leaf for leaf in conditions if _is_about_public_rows(scope, leaf)]
    return [leaf for leaf in public if not any(leaf is required for required in needed)]


def _is_about_public_rows(scope: Scope, leaf: exp.Expr) -> bool:
    """Return whether a condition selects rows by public columns other than round and tier."""
    if leaf.find_ancestor(exp.Having, exp.Qualify, exp.Order, exp.Join) or not is_public(scope, leaf):
        return False
    return not any(column.name.lower() in LABELS for column in leaf.find_all(exp.Column))


def _is_about_rows(scope: Scope, leaf: exp.Expr) -> bool:
    """Return whether a condition selects rows by a sensitive attribute; HAVING and ORDER BY select groups."""
    columns = list(leaf.find_all(exp.Column))
    if not columns or leaf.find_ancestor(exp.Having, exp.Qualify, exp.Order, exp.Join) or leaf.find(exp.AggFunc):
        return False
    if any(scope.source_of_key(column) is not None for column in columns) or _is_ours(leaf):
        return False
    return not all(isinstance(scope.find(column).attribute, Public) for column in columns)


def _is_ours(leaf: exp.Expr) -> bool:
    """Return whether a condition stands for the rows of a subquery, and is not the asker's."""
    count = leaf.find_ancestor(exp.Count)
    return count is not None and bool(count.meta.get(PEOPLE))


def _parts(scope: Scope, leaf: exp.Expr) -> list[exp.Expr]:
    """Return the condition itself or, for an IN that somebody meets, one comparison per constant."""
    if _is_negated(leaf) and not comparison(scope, leaf, wanted=False).pieces:
        return [leaf]
    if isinstance(leaf, exp.In) and is_list(leaf) and comparison(scope, leaf, wanted=True).pieces:
        return [exp.EQ(this=leaf.this, expression=item) for item in leaf.expressions]
    return [leaf]


def _note(scope: Scope, leaf: exp.Expr) -> str:
    columns = [scope.find(column) for column in leaf.find_all(exp.Column)]
    domains = "; ".join(dict.fromkeys(_domain(column, leaf) for column in columns))
    text = sql_of(_column_first(leaf))
    if _is_negated(leaf) and not comparison(scope, leaf, wanted=False).pieces:
        return f"NOT {text} is true for nobody: {domains}"
    if not comparison(scope, leaf, wanted=True).pieces:
        return f"{text} is true for nobody: {domains}"
    compared = len(columns) == 1 and isinstance(columns[0].attribute, Ordinal) and type(leaf) in COMPARISONS
    if compared and not comparison(scope, leaf, wanted=False).pieces and not _is_in_domain(scope, leaf):
        return f"{text} is true for every value: {domains}"
    return ""


def _is_negated(leaf: exp.Expr) -> bool:
    """Return whether an odd number of NOTs precedes a condition."""
    negations, parent = 0, leaf.parent
    while parent is not None and not isinstance(parent, exp.Where | exp.Select):
        negations, parent = negations + isinstance(parent, exp.Not), parent.parent
    return negations % 2 == 1


def _is_in_domain(scope: Scope, leaf: exp.Expr) -> bool:
    """Return whether the constant of a comparison is a value of its column, or lies within a bin."""
    try:
        equal = exp.EQ(this=leaf.this, expression=leaf.expression)
        return bool(comparison(scope, equal, wanted=True).pieces)
    except BindError:
        return True


def _column_first(leaf: exp.Expr) -> exp.Expr:
    """Return a comparison with its column on the left, so that both spellings have the same note."""
    if type(leaf) not in COMPARISONS or isinstance(leaf.this, exp.Column):
        return leaf
    return OF_OPERATOR[MIRRORED[COMPARISONS[type(leaf)]]](this=leaf.expression, expression=leaf.this)


def _domain(column: BoundColumn, leaf: exp.Expr) -> str:
    """Describe the domain of a column."""
    attribute = column.attribute
    if column.lookup:
        return f"{column.lookup.name} has no such value"
    if isinstance(leaf, exp.Is):
        return f"{attribute.name} was collected without NULL"
    if not isinstance(attribute, Ordinal):
        return f"{attribute.name} does not have this value"
    steps = f" in steps of {attribute.step}{' days' if attribute.is_date else ''}"
    clamped = "; values outside are clamped to the nearest end" if attribute.outside == "clamp" else ""
    return f"{attribute.name} ranges from {attribute.low} to {attribute.high}{steps}{clamped}"


def unknown_labels(statement: exp.Select, rounds: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a note for each round or tier in a question that no loaded collection has."""
    named: list[tuple[str, str]] = []
    for leaf in statement.find_all(exp.EQ, exp.In):
        sides = [side for side in (leaf.this, leaf.args.get("expression")) if isinstance(side, exp.Column)]
        labels = [side.name.lower() for side in sides if side.name.lower() in LABELS]
        named += [(label, str(literal.this)) for label in labels for literal in leaf.find_all(exp.Literal)]
    notes = []
    for label, value in dict.fromkeys(named):
        known = sorted({labels.get(label, "") for labels in rounds})
        if value not in known:
            notes.append(f"no reports have {label} {value!r}; known: {', '.join(filter(None, known)) or 'none'}")
    return notes
