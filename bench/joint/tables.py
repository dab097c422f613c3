"""The tables of README.md, from what results.json, accuracy.json and speed.json hold."""

from __future__ import annotations

from typing import Any

from bench.joint.claims import Figures, judge
from bench.joint.paper import PAPER, TRUTHS

__all__ = ["accuracy_table", "gains", "speed_table", "statements", "table"]

GAINS = (
    ("6a", "HIO", "COUNT, SYN-1, by volume"),
    ("6d", "AHIO", "SUM, SYN-1, by volume"),
    ("6d", "EHIO", "SUM, SYN-1, by volume"),
    ("6d", "HIO-PUB", "SUM, SYN-1, by volume, the measure public"),
    ("6h", "AHIO", "SUM, SYN-1, by d"),
    ("7a", "AHIO-RDC, k = 2^dq", "COUNT, by ranges"),
    ("7c", "AHIO-RDC, k = 2^dq", "SUM, by ranges"),
    ("7b", "HIO-RDC, k = 2^dq", "COUNT, by ranges, without rounding"),
    ("8a", "HIO-JOIN-RDC", "COUNT, one-to-one, by predicate"),
    ("8c", "HIO-JOIN-RDC", "SUM, one-to-one, by predicate"),
    ("8b", "HIO-JOIN-RDC", "COUNT, one-to-many, by tau"),
    ("8d", "HIO-JOIN-RDC", "SUM, one-to-many, by tau"),
    ("12a", "HIO-JOIN-RDC", "COUNT by race, Illinois"),
    ("12b", "HIO-JOIN-RDC", "SUM by race, Illinois"),
)


def statements(figures: Figures) -> str:
    """Return the paper's statements with what was found."""
    lines = ["| figure | the paper says | here | found |", "|---|---|---|---|"]
    for each in judge(figures.results):
        verdict = "agrees" if each["agrees"] else "**differs**"
        lines.append(f"| {each['figure']} | {each['paper']} | {verdict} | {each['found']} |")
    parts = figures.results["populations"]
    measured = sum("encodings" in point for point in figures.points.values())
    commits = sorted({part["commit"][:12] for part in parts.values()})
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    lines += [
        "",
        f"{measured} points measured and {len(figures.points) - measured} predicted only, {minutes:.0f} minutes",
    ]
    lines += [f"beside other work on the same two cores. Commit {', '.join(commits)}.", "", trust(figures)]
    return "\n".join(lines)


def trust(figures: Figures) -> str:
    """Return how predicted errors compare with stated ones, and these with measured ones."""
    both = [
        (p, m) for p in figures.points.values() for m in ("nmse_count", "nmse_sum") if {m, f"{m}_predicted"} <= p.keys()
    ]
    ratios = sorted((p[f"{m}_predicted"] / p[f"{m}_stated"]) ** 0.5 for p, m in both)
    tail = len(ratios) // 20
    off = sum(p[m] / p[f"{m}_stated"] for p, m in both) / len(both)
    return (
        f"Predicted over stated standard errors: {ratios[tail]:.2f} to {ratios[-1 - tail]:.2f} at nine points of ten, "
        f"{ratios[0]:.2f} to {ratios[-1]:.2f} at all. Measured over stated squared errors: {off:.2f} on average."
    )


def table(figures: Figures) -> str:
    """Return table 2, ours and the paper's."""
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in (0.5, 1, 2, 5))
    lines = [f"| | | {heads} | true |", "|---|---|--:|--:|--:|--:|--:|"]
    for q, (question, theirs) in enumerate(PAPER.items()):
        for method in ("HIO", "AHIO", "EHIO", "AHIO-RDC", "tacit"):
            rows = [row for row in figures.table if row["method"] == method]
            if rows:
                truth = rows[0]["truth"][q]
                lines.append(f"| {question} | {method} | {' | '.join(_mean(row, q) for row in rows)} | {truth:.2f} |")
            if method in theirs:
                cells = " | ".join(f"{mean:g} ± {deviation:g}" for mean, deviation in theirs[method])
                lines.append(f"| | *paper* | {cells} | {TRUTHS[question]} |")
    return "\n".join(lines)


def _mean(row: dict[str, Any], q: int) -> str:
    if row["deviation"] is None:
        return f"{row['mean'][q]:.2f} (± {row['predicted'][q]:.2f})"
    few = "" if row["releases"] > 5 else f" ({row['predicted'][q]:.2f})"
    return f"{row['mean'][q]:.2f} ± {row['deviation'][q]:.2f}{few}"


def gains(figures: Figures) -> str:
    """Return how many times larger the baselines' squared errors are than tacit's, by level."""
    lines = ["| figure | question | baseline | NMSE of the baseline over tacit's |", "|---|---|---|---|"]
    for figure, baseline, question in GAINS:
        curves = figures.curves(figure)
        row = {at: v / curves["tacit"][at] for at, v in curves.get(baseline, {}).items() if at in curves["tacit"]}
        if row:
            shown = ", ".join(f"{at}: {value:.1f}" for at, value in row.items())
            lines.append(f"| {figure} | {question} | {baseline} | {shown} |")
    return "\n".join(lines)


def accuracy_table(found: dict[str, Any]) -> str:
    """Return the ratios of mean squared errors, tacit's over the baselines'."""
    lines = [
        "| case | questions | baseline | aggregate | measured | predicted | claimed | holds |",
        "|---|---|---|---|--:|--:|--:|---|",
    ]
    for name, case in found["cases"].items():
        for row in case["ratios"]:
            shown = f"{row['measured']:.3f} ± {row['standard_error']:.3f} | {row['predicted']:.3f}"
            claim = (
                "– | –" if row["claimed"] is None else f"{row['claimed']:.3f} | {'yes' if row['holds'] else '**no**'}"
            )
            lines.append(
                f"| {name} | {row['questions']} | {row['baseline']} | {row['aggregate']} | {shown} | {claim} |"
            )
    lines += ["", "The same, predicted at other budgets: smallest and largest ratio.", ""]
    lines += ["| case | baseline | aggregate | predicted | claimed | holds |", "|---|---|---|--:|--:|---|"]
    spans: dict[tuple[str, str, str, float | None], list[float]] = {}
    for name, rows in found["predicted"].items():
        for row in rows:
            label = f"{name.split(', eps')[0]}, {row['questions']}".removesuffix(" count")
            spans.setdefault((label, row["baseline"], row["aggregate"], row["claimed"]), []).append(row["predicted"])
    for (label, baseline, aggregate, claimed), values in spans.items():
        span = f"{min(values):.3f} to {max(values):.3f}"
        lines.append(f"| {label} | {baseline} | {aggregate} | {span} | {_claim(claimed, max(values))} |")
    minutes = sum(case["seconds"] for case in found["cases"].values()) / 60
    return "\n".join([*lines, "", f"Commit {found['commit'][:12]}, {minutes:.0f} minutes beside other work."])


def _claim(claimed: float | None, found: float) -> str:
    return "– | –" if claimed is None else f"{claimed:.3f} | {'yes' if found <= claimed else '**no**'}"


def speed_table(found: dict[str, Any]) -> str:
    """Return the question next to the plain joins."""
    took, plain, filtered = (min(found["seconds"][name]) for name in ("tacit", "plain", "filtered"))
    peak, limit = (found[name] / 1024**3 for name in ("peak_resident", "memory_limit"))
    return "\n".join(
        [
            "| users | question, s | plain join, s | ratio | claimed | holds | filtered, s | peak, GiB | limit |",
            "|--:|--:|--:|--:|--:|---|--:|--:|--:|",
            f"| {found['users']:,} | {took:.2f} | {plain:.2f} | {found['ratio']} | at most {found['claimed']:g} | "
            f"{'yes' if found['holds'] else '**no**'} | {filtered:.2f} | {peak:.2f} | {limit:.0f} |",
            "",
            f"Best of {len(found['seconds']['tacit'])} rounds in turns; of medians, the ratio is "
            f"{found['ratio_of_medians']}. Commit {found['commit'][:12]}.",
        ]
    )
