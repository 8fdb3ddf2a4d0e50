"""Tables of runs for the terminal, and their JSON: verdicts, records, details, failures and dependence; and how
the training of runs differs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lengthwise.arithmetic import Task
from lengthwise.recipes.configure import one_level
from lengthwise.records.analysis import Dependence
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import (
    FAILS,
    HOLDS,
    TOLERANCE,
    UNDECIDED,
    Measured,
    Verdict,
    combined,
    measured,
)
from lengthwise.records.view import RunView
from lengthwise.report import group_by
from lengthwise.report.tables import EXACT, new_table, percent
from lengthwise.report.words import glosses, legend

MOST_DIGITS = 12
"""Digits that a table shows, from the lowest; JSON has all."""

# Options that say how a run is evaluated, not how it is trained.
WATCHING = ("seed", "test", "evaluation", "training.evaluate_every", "training.checkpoint_every")

STYLES = {HOLDS: "green", FAILS: "red", UNDECIDED: "yellow"}


QUANTITIES = ("predicted accuracy", "on these problems", "accuracy", "agreement")
"""The quantities that words.toml explains."""


def show_verdicts(console: Console, rows: Sequence[Verdict], task: Task, title: str) -> None:
    """Print the verdicts, a description of their functions, and the legend."""
    console.print(verdict_table(rows, title))
    for gloss in glosses((row.prediction.hypothesis for row in rows), task):
        console.print(f"- {gloss}", soft_wrap=True)
    console.print(legend("verdicts"))


def verdict_table(rows: Sequence[Verdict], title: str | None = None) -> Table:
    quantities = (name.replace("predicted ", "predicted\n").replace("these ", "these\n") for name in QUANTITIES)
    table = new_table("test on", "computes", *quantities, "verdict", title=title)
    for row in rows:
        perfect = row.agreement is not None and row.agreement.perfect
        table.add_row(*map(escape, verdict_cells(row)), styled(row.word, "*" if perfect else ""))
    return table


def verdict_cells(row: Verdict) -> list[str]:
    """The test domain, the function, and each quantity in percent."""
    shares = [one and one.share for one in (row.coincides, row.accuracy, row.agreement)]
    named = str(row.prediction.domain), str(row.prediction.hypothesis or "–")
    return [*named, percent(row.expected, EXACT), *map(percent, shares)]


def styled(word: str | None, mark: str = "") -> str:
    """A verdict in its colour."""
    return "–" if word is None else f"[{STYLES[word]}]{word}{mark}[/]"


def row_verdict(verdicts: Sequence[Verdict]) -> str | None:
    """The verdict on a run, from those on all lengths."""
    return combined(verdict.word for verdict in verdicts)


def verdict_json(row: Verdict) -> dict[str, Any]:
    counts = {"measured": row.accuracy, "agreement": row.agreement, "coincides": row.coincides}
    return {
        **row.prediction.as_json(),
        **{name: own and _measured_json(own) for name, own in counts.items()},
        "verdict": row.word,
        "tolerance": TOLERANCE,
    }


def _measured_json(counts: Measured) -> dict[str, Any]:
    low, high = (100 * end for end in counts.interval)
    return {**asdict(counts), "percent": 100 * counts.share, "low": low, "high": high}


def show_run(view: RunView, console: Console) -> None:
    """Print the verdicts and the status of a run, finished or not."""
    reached = "nothing measured yet"
    if view.records:
        spec, (step, rows) = view.spec, view.last_whole()
        console.print(verdict_table(rows, escape(f"{spec.task} trained on {spec.train}, {spec.encoding}")))
        reached = f"step {step}"
    console.print(f"{view.source.path}: {view.source.status()}, {reached}", markup=False, soft_wrap=True)


def row_table(views: Sequence[RunView]) -> Table:
    table = new_table("run", "learned %", *STYLES, "verdict")
    table.columns[0].overflow = "fold"
    for view in views:
        learned, counts, word = "–", ["–" for _ in STYLES], str(view.source.state())
        if view.source.status() == "done":
            words = [verdict.word for verdict in view.verdicts()]
            learned = percent(view.final_counts[str(view.train), TRUTH].share)
            counts, word = [str(words.count(one)) for one in STYLES], styled(combined(words))
        table.add_row(escape(view.name), learned, *counts, word)
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


def told_apart(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """For each run of one question, how its training differs from the others: empty if all were trained in the
    same way, equal for runs that differ only in their seed."""
    flat = {label: one_level(config) for label, config in configs.items()}
    first, *others = flat.values()
    # A config of an earlier version lacks later keys; only keys that all have can be compared.
    shared = [key for key in first if all(key in other for other in others) and not key.startswith(WATCHING)]
    differing = [key for key in shared if any(other[key] != first[key] for other in others)]
    names = {key: key.rpartition(".")[2].replace("_", " ") for key in differing}
    return {
        label: ", ".join(f"{name} {'–' if config[key] is None else config[key]}" for key, name in names.items())
        for label, config in flat.items()
    }


def record_table(records: Sequence[Record]) -> Table:
    """Exact match of every domain and reference, with its 95 % interval."""
    table = new_table("test on", "against", "mode", "correct", "of", "%", "95 % interval")
    for r in records:
        if r.metric == "exact" and r.correct is not None:
            counts = measured(r)
            interval = "whole domain" if counts.enumerated else " – ".join(map(percent, counts.interval))
            numbers = str(r.correct), str(r.total), percent(counts.share), interval
            table.add_row(escape(r.domain), r.reference, r.mode, *numbers)
    return table


def failure_table(records: Sequence[Record]) -> Table:
    """How decoded answers fail: not a number, of the wrong length, or with a first wrong digit."""
    table = new_table("decoded", "right", "malformed", "wrong length", "first wrong digit: answers")
    decoded = [record for record in records if record.mode == "decoded"]
    for domain, own in group_by(decoded, lambda record: record.domain).items():
        counts = {record.metric: record.correct or 0 for record in own}
        if "malformed" in counts:
            ways = (str(counts[way]) for way in ("exact", "malformed", "wrong_length"))
            wrong = [f"{metric}: {n}" for metric, n in counts.items() if metric.startswith("first_wrong:")]
            table.add_row(escape(domain), *ways, ", ".join(_some(wrong)).replace("first_wrong:", "") or "–")
    return table


def detail_table(records: Sequence[Record]) -> Table:
    """Details besides exact match: loss, probabilities, and the accuracy of each digit."""
    table = new_table("test on", "against", "loss", "probability", "within reach %", "outside", "digits")
    digits = group_by((r for r in records if r.metric.startswith("digit:")), lambda r: r.domain)
    for (domain, reference), own in group_by(records, lambda r: (r.domain, r.reference)).items():
        found = {record.metric: record for record in own}
        if "strong" in found:
            sure = (f"{found[metric].value:.4f}" for metric in ("loss", "strong"))
            outside = [r.value for r in own if r.metric.startswith("support:") and r.value is not None]
            largest = f"{max(outside):.1e}" if outside else "–"
            reach = percent(measured(found["weak"]).share)
            alone = [f"{100 * measured(r).share:.0f}" for r in digits.get(domain, [])]
            shown = f"all {alone[0]}" if len({*alone}) == 1 else " ".join(_some(alone))
            table.add_row(escape(domain), reference, *sure, reach, largest, shown)
    return table


def _some(digits: Sequence[str]) -> list[str]:
    """The first MOST_DIGITS, and how many more there are."""
    more = len(digits) - MOST_DIGITS
    return [*digits[:MOST_DIGITS], *([f"and {more} more"] if more > 0 else [])]


def dependence_table(found: Dependence) -> Table:
    theory = found.hypothesis or "no prediction"
    lowest = f", the lowest {MOST_DIGITS}" if len(found.measured) > MOST_DIGITS else ""
    title = f"Answer digits (c) by replaced operand digit (a), compared with {theory}{lowest}"
    operand_digits = range(1, len(found.measured[0]) + 1)[:MOST_DIGITS]
    table = new_table("answer", *(f"a{j}" for j in operand_digits), title=title)
    for i, own in enumerate(found.measured[:MOST_DIGITS]):
        table.add_row(f"c{i + 1}", *(_cell(own[j - 1], found.exact[i][j - 1]) for j in operand_digits))
    return table


def _cell(counts: Measured, exact: Fraction | None) -> str:
    theory = "–" if exact is None else f"{100 * float(exact):.3g}"
    text = f"{100 * counts.share:.3g} / {theory}"
    # Cells that are 0 in theory and in the measurement are dimmed.
    return f"[dim]{text}[/]" if exact == 0 and counts.correct == 0 else text
