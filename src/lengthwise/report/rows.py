"""Runs as rows: how well each learned what it was trained on, and which of its predictions held."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView
from lengthwise.report.tables import new_table
from lengthwise.report.verdicts import STYLES, row_verdict, verdict_json

WORDS = (HOLDS, FAILS, UNDECIDED)


def row_table(views: Sequence[RunView]) -> Table:
    table = new_table("run", "learned %", *WORDS, "verdict")
    table.columns[0].overflow = "fold"
    for view in views:
        if view.source.status() != "done":
            table.add_row(escape(view.name), "–", "–", "–", "–", str(view.source.status()))
            continue
        verdicts = view.verdicts()
        counts, word = Counter(verdict.word for verdict in verdicts), row_verdict(verdicts)
        shown = f"[{STYLES[word]}]{word}[/]" if word else "–"
        table.add_row(escape(view.name), f"{learned(view):.2f}", *(str(counts[w]) for w in WORDS), shown)
    return table


def row_json(view: RunView) -> dict[str, Any]:
    status = view.source.status()
    verdicts = view.verdicts() if status == "done" else []
    return {
        "run": str(view.source.path),
        "status": status,
        "verdict": row_verdict(verdicts) if verdicts else None,
        "rows": [verdict_json(verdict) for verdict in verdicts],
    }


def converged(view: RunView) -> bool:
    """Whether it passed the gate of verdicts on its training domain."""
    return view.converged


def learned(view: RunView) -> float:
    """The percentage of right answers on the training domain after the last evaluation."""
    return 100 * view.final_counts[str(view.train), TRUTH].share
