"""The claims as one page for people: no scripts, nothing external, light and dark, printable."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import Any

from tacit.evidence.claims import read_trials

__all__ = ["page", "shown_loss", "to_text"]

Claims = dict[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc36e; --bad: #ff8379; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.big { font-size: 1.15rem; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font: .82rem ui-monospace, monospace; overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } details { margin: .3rem 0; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } details { display: block; }
  tr, .big { break-inside: avoid; } }
"""


def page(claims: Claims) -> str:
    """Return the page of the claims; it depends on nothing else, so it can be verified."""
    total = claims["total"]
    fine = all(collection["ok"] for collection in claims["collections"]) and total["worst_loss"] is not None
    word = '<span class="good">✓ holds</span>' if fine else '<span class="bad">✗ FAILS</span>'
    most = total["worst_loss"] if total["worst_loss"] is not None else math.inf
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Privacy evidence</title><style>{STYLE}</style><h1>Privacy evidence</h1>",
        f"<p>Made {_(claims['made'])}</p>",
        f"<p class=big>{word}: whatever a person's records are, everything they send in the rounds below changes the "
        f"odds between any two possibilities by a factor of at most e<sup>{most:.9g}</sup>, for any observer with "
        f"any other knowledge. The declared budget is {_(total['epsilon'])}. Someone who is 50 % sure of a fact "
        f"about the person can become at most {_percent(most)} sure.</p>",
        "<p>Verify every claim on this page with <code>tacit audit --verify</code> and the folder it is in.</p>",
        *(_collection(collection) for collection in claims["collections"]),
        _total(total),
        *([_readers(claims["readers"])] if "readers" in claims else []),
        *([_trials(claims["trials"])] if "trials" in claims else []),
        *([_log(claims["log"])] if "log" in claims else []),
        _program(claims["program"]),
        f"<p>SHA-256 of <code>evidence.json</code>: <code>{_digest(claims)}</code></p>",
    ]
    return "\n".join(parts) + "\n"


def _digest(claims: Claims) -> str:
    """Return the hash of the claims' text."""
    return hashlib.sha256(to_text(claims).encode()).hexdigest()


def to_text(claims: Claims) -> str:
    """Return the text of the claims."""
    return json.dumps(claims, indent=1)


def _(text: object) -> str:
    return escape(str(text))


def _percent(loss: float) -> str:
    return f"{100 / (1 + math.exp(-loss)):.1f} %"


def shown_loss(loss: float | None) -> str:
    """Return a loss in nats as text; None is unbounded."""
    return "without bound" if loss is None else f"{loss:.9f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are HTML."""
    cells = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<div class=scroll><table><tr>{''.join(f'<th>{title}</th>' for title in head)}</tr>{cells}</table></div>"


def _cell(content: object, *, number: bool = False) -> str:
    return f"<td{' class=number' if number else ''}>{content}</td>"


def _collection(collection: Claims) -> str:
    named = ", ".join(_(collection[word]) for word in ("round", "tier") if collection[word]) or "unnamed"
    if panel := collection.get("panel"):
        named = f"panel {_(panel['name'])}: {panel['reports']} of {panel['rounds']} rounds for each person"
    services = _table(
        ["service", "mechanism", "reports", "perturbed", "known to the collector unperturbed", "taking part"],
        (
            [
                _cell(_(s["service"])),
                _cell(_(s["mechanism"])),
                _cell(s["reports"], number=True),
                _cell(_(", ".join(s["sensitive"]))),
                _cell(_(", ".join(s["public"]))),
                _cell(s["membership"]),
            ]
            for s in collection["services"]
        ),
    )
    proof = _table(
        ["service", "channel", "reports", "budget", "realised", "worst ratio, exactly", "where", ""],
        (
            [
                _cell(_(c["service"])),
                _cell(_(c["channel"])),
                _cell(c["reports"], number=True),
                _cell(_(c["epsilon"]), number=True),
                _cell(shown_loss(c["realised"]), number=True),
                _cell(f"<code>{_(c['ratio'])}</code>"),
                _cell(_(f"{c['oracle']}, code {c['code']}, cells {c['cells'][0]} and {c['cells'][1]}")),
                _cell('<span class="good">✓</span>' if c["ok"] else '<span class="bad">✗</span>'),
            ]
            for c in collection["channels"]
        ),
    )
    return (
        f"<h2>Collection {named}</h2><p><code>{_(collection['collection'])}</code></p>{services}"
        f"<p>The most that one code can reveal, computed from the integer thresholds that devices use:</p>{proof}"
        f"<p>A person's total in this collection is at most {shown_loss(collection['worst_loss'])}; "
        f"the budget is {_(collection['epsilon'])}.</p>"
        f"<details><summary>The total as a fraction</summary><code>{_(collection['ratio'])}</code></details>"
    )


def _total(total: Claims) -> str:
    rows = (
        [_cell(_(round_["round"] or "unnamed")), _cell(_(round_["epsilon"]), number=True)] for round_ in total["rounds"]
    )
    return (
        "<h2>A person's total</h2><p>In each round a person is in one tier, and all services of the round share its "
        f"budget. The budgets of rounds add up.</p>{_table(['round', 'budget of the largest tier'], rows)}"
    )


def _readers(readers: Claims) -> str:
    people, total = readers["given"], readers["total"]
    rows = (
        [
            _cell(f"<code>{_(name[:16])}…</code>"),
            _cell(f"{guarantee['people']:,}", number=True),
            _cell("–" if guarantee["epsilon"] is None else _(guarantee["epsilon"]), number=True),
            _cell(_(guarantee["reason"])),
        ]
        for name, guarantee in readers["collections"].items()
    )
    listed = "".join(f"<li>{_(condition)}</li>" for condition in readers["conditions"])
    classes = f", {people['alike']:,} of them in the smallest class" if people["alike"] else ""
    return (
        "<h2>What readers of answers learn</h2><p>The numbers above hold against the collector, who sees every report. "
        f"A reader who sees answers only, and knows the reports of {people['known']:,} people, learns less if "
        f"{people['people']:,} people report{classes}: over all of this at most "
        f"e<sup>{shown_loss(total['epsilon'])}</sup>, except with probability {float(Fraction(total['delta'])):g}.</p>"
        f"{_table(['collection', 'crowd', 'central epsilon', ''], rows)}<p>This holds if</p><ul>{listed}</ul>"
        "<p>Further answers about the same people cost nothing; rounds add up.</p>"
    )


def _trials(trials: Claims) -> str:
    parts = []
    for name, data in trials.items():
        result = read_trials(data)
        bounds = result.lower_bound
        budgets = {f"{trial.service}, {trial.channel}": trial.epsilon for trial in result.found}
        rows = (
            [_cell(_(where)), _cell(f"{bound:.6f}", number=True), _cell(f"{float(budgets[where]):g}", number=True)]
            for where, bound in bounds.items()
        )
        problems = "".join(f'<p class="bad">✗ {_(problem)}</p>' for problem in result.problems)
        table = _table(["channel", "lower bound", "budget"], rows)
        parts.append(
            f"<p><code>{_(name[:16])}…</code></p>{table}{problems or '<p class=good>✓ no evidence against it</p>'}"
        )
    return (
        "<h2>Trials of the encoder</h2><p>Clopper-Pearson lower bounds on epsilon, from people of two kinds encoded by "
        f"the public encoder; all bounds hold simultaneously except with probability 1e-6.</p>{''.join(parts)}"
    )


def _log(log: Claims) -> str:
    rows = ([_cell(_(event)), _cell(count, number=True)] for event, count in log["events"].items())
    return (
        f"<h2>The log</h2><p>{log['entries']} entries, each with the hash of the previous one; the last hash is "
        f"<code>{_(log['head'])}</code>. The entries are in <code>log.jsonl</code>. Keep this page: it reveals entries "
        f"that are removed later.</p>{_table(['event', 'times'], rows)}"
    )


def _program(program: Claims) -> str:
    packages = ", ".join(f"{_(name)} {_(number)}" for name, number in program["packages"].items())
    return (
        f"<h2>The program</h2><p>SHA-256 of its source: <code>{_(program['code'])}</code></p>"
        f"<p>Python {_(program['python'])}; {packages}</p>"
    )
