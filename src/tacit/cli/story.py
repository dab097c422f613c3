"""The demo's five questions, each answered from the codes and from the demo's raw rows."""

from __future__ import annotations

import math
from typing import Any

from tacit.estimate.answer import Answer
from tacit.estimate.estimate import Estimate
from tacit.server.demo_data import Demo

__all__ = ["QUESTIONS", "answer_text", "compare"]

QUESTIONS: tuple[dict[str, str], ...] = (
    {
        "title": "How many people are between 20 and 39?",
        "sql": "SELECT COUNT(*) AS people FROM shop WHERE age BETWEEN 20 AND 39",
    },
    {
        "title": "What do people aged 30 and over earn? Nobody ever sent an income.",
        "sql": "SELECT AVG(income) AS income FROM shop WHERE age >= 30",
    },
    {
        "title": "Do smokers see the clinic more often?",
        "sql": "SELECT smoker, AVG(visits) AS visits FROM clinic GROUP BY smoker ORDER BY smoker",
    },
    {
        "title": "How many older people visit often? Only the shop knows the age, only the clinic the visits.",
        "sql": "SELECT COUNT(*) AS people FROM clinic JOIN shop USING (uid) WHERE age >= 50 AND visits >= 3",
    },
    {
        "title": "Who orders the books? People order none, one or more; each sends one report all the same.",
        "sql": "SELECT area, COUNT(*) AS orders FROM orders JOIN shop USING (uid) WHERE goods = 'books' GROUP BY area "
        "ORDER BY area",
    },
)
"""A range COUNT, a sensitive AVG, a GROUP BY, a one-to-one join and a one-to-many join."""


def compare(answer: Answer, demo: Demo, question: dict[str, str]) -> dict[str, Any]:
    """Return a question with its estimates and, for each, the truth and whether the interval contains it."""
    groups = [i for i, cell in enumerate(answer.rows[0]) if not isinstance(cell, Estimate)]
    exact = {tuple(row[i] for i in groups): row for row in demo.exact(question["sql"])["rows"]}
    rows = []
    for row in answer.rows:
        true_row = exact.get(tuple(row[i] for i in groups))
        rows.append(
            {
                name: _beside(cell, true_row[i] if true_row else 0) if isinstance(cell, Estimate) else cell
                for i, (name, cell) in enumerate(zip(answer.columns, row, strict=True))
            }
        )
    return question | {"rows": rows}


def answer_text(number: int, answer: dict[str, Any]) -> str:
    """Return a question and its answers as lines of text."""
    lines = [f"{number}  {answer['title']}", f"   {answer['sql']}"]
    for row in answer["rows"]:
        label = " ".join(str(cell) for cell in row.values() if not isinstance(cell, dict))
        for cell in row.values():
            if isinstance(cell, dict):
                verdict = "inside" if cell["covered"] else "MISSED"
                lines.append(f"   {label:>8}  {cell['text']:>20}   truth {cell['truth']:>11,.6g}   {verdict}")
    return "\n".join(lines)


def _beside(estimate: Estimate, truth: float) -> dict[str, Any]:
    numbers = {name: getattr(estimate, name) for name in ("value", "error", "low", "high")}
    return {
        **{name: number if math.isfinite(number) else None for name, number in numbers.items()},  # JSON has no NaN
        "truth": float(truth),
        "covered": bool(estimate.low <= truth <= estimate.high),
        "text": str(estimate),
    }
