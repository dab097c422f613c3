"""Functions are named by a verb or by what they return, and variables by what they hold.

A bare participle such as `told` or `summed` says neither. Properties may be adjectives: `fit.converged`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "tacit"

IRREGULAR = {
    *("built", "chosen", "done", "drawn", "found", "given", "held", "kept", "known", "left", "made", "met"),
    *("said", "seen", "sent", "shown", "taken", "told", "untold", "written"),
}
NOT_PARTICIPLES = {"need"}

ALLOWED = {
    "audited",  # public: tacit.evidence
    "scaled",  # the interface of Provenance, in estimate
}


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())) for path in sorted(SOURCE.rglob("*.py"))]


def is_participle(name: str) -> bool:
    word = name.strip("_")
    if "_" in word or word in NOT_PARTICIPLES:
        return False
    return word.endswith("ed") or word in IRREGULAR


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


SAME_IN_BOTH = {
    "LinearHash",  # a step of the client, and the oracle that maps to it
    "Subset",  # likewise
    "InternalError",  # PEP 249 prescribes the name
}


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for path, tree in trees():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path)
    shared = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert set(shared) == SAME_IN_BOTH, shared


def participles(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and not is_property(node)
            and is_participle(node.name)
        ):
            yield node.name


def variables(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_no_function_is_named_by_a_bare_participle() -> None:
    named = {f"{path}: {name}" for path, tree in trees() for name in participles(tree) if name not in ALLOWED}
    assert not named


VAGUE = {"asked", "found", "given", "kept", "made", "one", "own", "rest", "some", "these", "told", "what", "whole"}
"""Words that do not say what a variable holds."""

ALLOWED_VARIABLES = {
    *("evidence/claims.py: made", "evidence/trials.py: found", "evidence/trials.py: told"),  # members of evidence.json
    *("central/charges.py: what", "central/data.py: whole"),  # public: tacit.central
    "cli/finding.py: what",  # a member of `tacit doctor --json`
    *(
        "client/steps.py: one",
        "contract/oracles/unary.py: one",
    ),  # a member of contracts: the threshold of a bit that is 1
    *("client/client.py: asked", "client/wallet.py: asked"),  # whether a panel asks a person
    "contract/panel.py: asked",  # a column of stored enrolments
    *("contract/contract.py: asked", "contract/layouts/base.py: asked"),  # questions that a layout is chosen for
    *(
        "contract/layouts/calm.py: asked",
        "contract/layouts/tables.py: asked",
    ),  # attributes of a table that is asked for
    "client/coin.py: own",  # a report's own draws
}


def test_variables_say_what_they_hold() -> None:
    named = {f"{path}: {name}" for path, tree in trees() for name in variables(tree) if name in VAGUE}
    assert named - ALLOWED_VARIABLES == set()
    assert named >= ALLOWED_VARIABLES, "the list has names that are gone"


MOST_STEPS = 4
"""Loops and conditions within one comprehension, nested ones included; more want a name of their own."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def steps_of(comprehension: ast.AST) -> int:
    """Count the loops and conditions of a comprehension and of what it contains."""
    steps = 0
    for node in ast.walk(comprehension):
        if isinstance(node, COMPREHENSIONS):
            steps += sum(1 + len(loop.ifs) for loop in node.generators)
        elif isinstance(node, ast.BoolOp):
            steps += len(node.values) - 1
        elif isinstance(node, ast.IfExp | ast.Lambda):
            steps += 1
    return steps


def test_long_comprehensions_are_named_steps() -> None:
    long = {
        f"{path}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, COMPREHENSIONS) and steps_of(node) > MOST_STEPS
    }
    assert not long
    assert steps_of(ast.parse("[x for y in z for x in y if x and y and z or [a for a in x]]")) == 7


def test_statements_are_composed_in_one_place() -> None:
    """Ruff flags SQL put together from strings (S608); `tables/statements.py` quotes names instead."""
    exempted = [path.name for path in SOURCE.rglob("*.py") if "S608" in path.read_text()]
    assert not exempted


def test_the_rule_finds_what_it_is_about() -> None:
    tree = ast.parse(
        "def told(): ...\nasync def _summed(): ...\ndef sum_of(): ...\n@property\ndef typed(): ...\nfound = 1"
    )
    assert list(participles(tree)) == ["told", "_summed"]
    assert list(variables(tree)) == ["found"]
