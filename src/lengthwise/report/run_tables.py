"""Runs for the terminal and as JSON: verdicts, records, details, failures and dependence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from rich.markup import escape
from rich.table import Table

from lengthwise.records.analysis import Dependence
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import (
    FAILS,
    GATE,
    HOLDS,
    TOLERANCE,
    UNDECIDED,
    Measured,
    Verdict,
    combined,
    measured,
)
from lengthwise.records.view import RunView
from lengthwise.report.collection import group_by
from lengthwise.report.tables import EXACT, new_table, percent

STYLES = {HOLDS: "green", FAILS: "red", UNDECIDED: "yellow"}

LEGEND = (
    "In % of problems. Computes: the function that theory says the model computes; predicted: its exact accuracy; "
    "on these: its accuracy on the problems measured; measured: the model's accuracy; agrees: how often the model "
    "gives the same answer as that function. "
    f"A verdict holds if the model agrees with the predicted function on {100 * (1 - TOLERANCE):g} % of "
    f"problems or more (lower end of the 95 % interval), and is undecided if the model has not reached "
    f"{100 * GATE:g} % on its training domain. * means no deviation at all."
)


def verdict_table(rows: Sequence[Verdict], title: str | None = None) -> Table:
    columns = ("test on", "computes", "predicted", "on these", "measured", "agrees", "verdict")
    table = new_table(*columns, title=title)
    for row in rows:
        table.add_row(*map(escape, verdict_cells(row, "no prediction")), verdict_text(row))
    return table


def verdict_cells(row: Verdict, no_prediction: str = "–") -> list[str]:
    """The test domain, the function, and in percent: predicted, on these problems, measured, agreeing."""
    shares = [one and one.share for one in (row.coincides, row.accuracy, row.agreement)]
    named = str(row.prediction.domain), str(row.prediction.hypothesis or no_prediction)
    return [*named, percent(row.expected, EXACT), *map(percent, shares)]


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
        **asdict(measured),
        "percent": 100 * measured.share,
        "low": 100 * low,
        "high": 100 * high,
    }


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
        own = view.final_counts[str(view.train), TRUTH]
        table.add_row(escape(view.name), percent(own.share), *(str(counts[w]) for w in WORDS), shown)
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


def record_table(records: Sequence[Record]) -> Table:
    """Exact match of every domain and reference, with its 95 % interval."""
    table = new_table("test on", "against", "mode", "correct", "of", "%", "95 % interval")
    for r in records:
        if r.metric != "exact" or r.correct is None:
            continue
        low, high = measured(r).interval
        between = "whole domain" if r.selection == "enumerated" else f"{percent(low)} – {percent(high)}"
        counts = str(r.correct), str(r.total), percent(r.correct / r.total)
        table.add_row(escape(r.domain), r.reference, r.mode, *counts, between)
    return table


def failure_table(records: Sequence[Record]) -> Table:
    """How decoded answers fail: not even a number, of the wrong length, or wrong from some digit on."""
    table = new_table("decoded", "right", "malformed", "wrong length", "first wrong digit: answers")
    decoded = [record for record in records if record.mode == "decoded"]
    for domain, own in group_by(decoded, lambda record: record.domain).items():
        counts = {record.metric: record.correct or 0 for record in own}
        if "malformed" in counts:
            wrong = [f"{metric}: {n}" for metric, n in counts.items() if metric.startswith("first_wrong:")]
            digits = ", ".join(wrong).replace("first_wrong:", "") or "–"
            table.add_row(escape(domain), *(str(counts[way]) for way in WAYS), digits)
    return table


WAYS = ("exact", "malformed", "wrong_length")

DETAIL_LEGEND = (
    "Loss: cross-entropy per answer token, in nats. Probability: the mean one that the model gives the whole "
    "answer. Within reach: answers whose every digit has a probability above 0.001. Outside: the largest mean "
    "probability, over answer digits, of digits that training never showed there. Digits: % right, given right "
    "ones before, against truth, from the units on."
)


def detail_table(records: Sequence[Record]) -> Table:
    """What one pass tells besides exact match: how sure a model is, how near, and digit by digit."""
    table = new_table("test on", "against", "loss", "probability", "within reach %", "outside", "digits")
    for (domain, reference), own in group_by(records, lambda r: (r.domain, r.reference)).items():
        found = {record.metric: record for record in own}
        if "strong" not in found:
            continue
        digits = [
            f"{100 * r.correct / r.total:.0f}"
            for r in records
            if r.domain == domain and r.metric.startswith("digit:") and r.correct is not None
        ]
        outside = [r.value for name, r in found.items() if name.startswith("support:") and r.value is not None]
        table.add_row(
            escape(domain),
            reference,
            f"{found['loss'].value:.4f}",
            f"{found['strong'].value:.4f}",
            percent((found["weak"].correct or 0) / found["weak"].total),
            f"{max(outside):.1e}" if outside else "–",
            " ".join(digits),
        )
    return table


DEPENDENCE_LEGEND = (
    "How often an answer digit changes where one digit of the first operand is replaced, in %: measured / exact. "
    "Digits count from the right; all digits of both operands are random."
)


def dependence_table(found: Dependence) -> Table:
    theory = "no prediction" if found.hypothesis is None else str(found.hypothesis)
    operand_digits = [f"a{j}" for j in range(1, len(found.measured[0]) + 1)]
    table = new_table("answer", *operand_digits, title=f"What digits depend on, beside {theory}")
    for i, (row, exact) in enumerate(zip(found.measured, found.exact, strict=True), start=1):
        table.add_row(f"c{i}", *map(_cell, row, exact))
    return table


def _cell(measured: Measured, exact: Fraction | None) -> str:
    theory = "–" if exact is None else f"{100 * float(exact):.3g}"
    text = f"{100 * measured.share:.3g} / {theory}"
    # What is dead, and was found so, steps back.
    return f"[dim]{text}[/]" if exact == 0 and measured.correct == 0 else text
