"""Verdicts as a table and as JSON: what was predicted, what was measured, how they compare."""

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, Measured, Verdict
from lengthwise.report.tables import new_table, percent

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
            percent(row.expected),
            "–" if row.coincides is None else measured_text(row.coincides),
            measured_text(row.accuracy),
            "–" if row.agreement is None else measured_text(row.agreement),
            verdict_text(row),
        )
    return table


def measured_text(measured: Measured) -> str:
    """
    >>> measured_text(Measured(9_990, 10_000, enumerated=False))
    '99.90'
    """
    return "100" if measured.perfect else f"{100 * measured.share:.2f}"


def verdict_text(row: Verdict) -> str:
    if row.word is None:
        return "–"
    mark = "*" if row.agreement is not None and row.agreement.perfect else ""
    return f"[{STYLES[row.word]}]{row.word}{mark}[/]"


def row_verdict(verdicts: Sequence[Verdict]) -> str | None:
    """The verdict on a run: it holds where all lengths hold; one that fails is enough to fail it."""
    words = {verdict.word for verdict in verdicts}
    for word in (FAILS, UNDECIDED):
        if word in words:
            return word
    return None if None in words else HOLDS


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
