"""Verdicts as a table and as JSON: what was predicted, what was measured, how they compare."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, Measured, Verdict, combined
from lengthwise.report.tables import EXACT, new_table, percent

STYLES = {HOLDS: "green", FAILS: "red", UNDECIDED: "yellow"}

LEGEND = (
    "In % of problems. Computes: the function that theory says the model computes; predicted: how often that is "
    "right; on these: how often on the very problems measured; agrees: how often the model answers as it does. "
    f"A verdict holds if the model agrees with the predicted function on {100 * (1 - TOLERANCE):g} % of "
    f"problems or more (lower end of the 95 % interval), and is undecided if the model has not reached "
    f"{100 * GATE:g} % on its training domain. * means no deviation at all."
)


def verdict_table(rows: Sequence[Verdict], title: str | None = None) -> Table:
    table = new_table(
        "test on",
        "computes",
        "predicted",
        "on these",
        "measured",
        "agrees",
        "verdict",
        title=title,
    )
    for row in rows:
        table.add_row(
            escape(str(row.prediction.domain)),
            str(row.prediction.hypothesis or "no prediction"),
            percent(row.expected, EXACT),
            percent(row.coincides and row.coincides.share),
            percent(row.accuracy.share),
            percent(row.agreement and row.agreement.share),
            verdict_text(row),
        )
    return table


def verdict_text(row: Verdict) -> str:
    if row.word is None:
        return "–"
    mark = "*" if row.agreement is not None and row.agreement.perfect else ""
    return f"[{STYLES[row.word]}]{row.word}{mark}[/]"


def row_verdict(verdicts: Sequence[Verdict]) -> str | None:
    """The verdict on a run, from those on all lengths."""
    return combined(verdict.word for verdict in verdicts)


def verdict_json(row: Verdict) -> dict[str, Any]:
    return {
        **row.prediction.as_json(),
        "measured": _measured_json(row.accuracy),
        "agreement": None if row.agreement is None else _measured_json(row.agreement),
        "coincides": None if row.coincides is None else _measured_json(row.coincides),
        "verdict": row.word,
        "tolerance": TOLERANCE,
    }


def _measured_json(measured: Measured) -> dict[str, Any]:
    low, high = measured.interval
    return {
        "correct": measured.correct,
        "total": measured.total,
        "percent": 100 * measured.share,
        "low": 100 * low,
        "high": 100 * high,
        "enumerated": measured.enumerated,
    }
