"""Tables for the terminal."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import TypeVar

from rich import box
from rich.markup import escape
from rich.table import Table

from lengthwise.records.evidence import Evidence, MeasuredPredictions
from lengthwise.theory.coverage import PositionCoverage
from lengthwise.theory.plateaus import Plateau

T = TypeVar("T")

EXACT = 3
"""Decimals of a percentage that theory gives."""

MARKS = {True: "✓", False: "✗", None: "–"}


def new_table(*columns: str, rows: Iterable[Iterable[str]] = (), title: str | None = None) -> Table:
    """The one look of all tables: a rule under the header, the first column to the left, numbers right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table


def percent(share: Fraction | float | None, decimals: int = 2, *, short: bool = False) -> str:
    """So many decimals, and more where these would claim a false 0 or 100; `short` leaves zeros at the end out.

    >>> percent(0.9), percent(1.0), percent(0.99999), percent(0.9, short=True), percent(None)
    ('90.00', '100', '99.999', '90', '–')
    >>> percent(Fraction(4, 675), EXACT), percent(1 - Fraction(1, 10**20)), percent(Fraction(1, 10**20))
    ('0.593', '<100', '>0')
    """
    if share is None:
        return "–"
    exact = 100 * Fraction(share)
    if exact in (0, 100):
        return str(exact)
    for digits in range(decimals, 13):
        text = f"{float(exact):.{digits}f}"
        if float(text) not in (0, 100):
            return text.rstrip("0").rstrip(".") if short else text
    return ">0" if exact < 50 else "<100"


def percent_text(value: float | None, *, short: bool = False) -> str:
    """Of a number that is a percentage already."""
    return percent(None if value is None else Fraction(value) / 100, short=short)


short_percent = partial(percent_text, short=True)


def short_fraction(value: Fraction | None) -> str:
    """The fraction itself where it is short enough to read."""
    return str(value) if value is not None and len(str(value)) <= 13 else ""


def prediction_table(predictions: MeasuredPredictions) -> Table:
    rows = [
        (
            escape(str(row.domain)),
            "no prediction" if row.hypothesis is None else str(row.hypothesis),
            percent(row.accuracy, EXACT),
            short_fraction(row.accuracy),
            percent(row.paper, EXACT),
            "–" if row.hypothesis is None else evidence_cell(row.evidence),
        )
        for row in predictions.rows
    ]
    columns = ("test on", "computes", "predicted\naccuracy %", "exactly", "paper\nsays %", "measured")
    return new_table(*columns, rows=rows)


def evidence_cell(evidence: Evidence | None) -> str:
    """What was measured, in short; that no run has learned enough to decide is not that none holds.

    >>> evidence_cell(Evidence(15, 0, 13, 2, "table1")), evidence_cell(Evidence(4, 0, 0, 4, "table1"))
    ('0 of 15 hold', '4 undecided')
    """
    if evidence is None:
        return "not measured"
    if evidence.undecided == evidence.seeds:
        return f"{evidence.undecided} undecided"
    return f"{evidence.hold} of {evidence.seeds} hold"


def plateau_table(plateaus: Iterable[Plateau]) -> Table:
    rows = [(own.known, percent(own.accuracy, EXACT), short_fraction(own.accuracy)) for own in plateaus]
    return new_table("model knows", "accuracy %", "exactly", rows=rows)


def coverage_table(positions: list[PositionCoverage], base: int) -> Table:
    pairs = ["0,0" if row.pairs == {(0, 0)} else f"{len(row.pairs)} of {base**2}" for row in positions]
    rows = [
        (str(row.position), seen, digit_set(row.carries), digit_set(row.outputs))
        for row, seen in zip(positions, pairs, strict=True)
    ]
    return new_table("position", "digit pairs seen", "carries in", "answer digits", rows=rows)


def digit_set(digits: frozenset[int]) -> str:
    """
    >>> digit_set(frozenset({2, 3, 4, 8})), digit_set(frozenset({0, 1}))
    ('2-4 8', '0 1')
    """
    return " ".join(shortened(sorted(digits), lambda before, after: after == before + 1, "-"))


def shortened(items: Iterable[T], follows: Callable[[T, T], bool], dash: str) -> Iterator[str]:
    """Three or more that follow one another as the first and the last of them, others one by one."""
    series: list[list[T]] = []
    for item in items:
        if series and follows(series[-1][-1], item):
            series[-1].append(item)
        else:
            series.append([item])
    for own in series:
        yield from (f"{own[0]}{dash}{own[-1]}",) if len(own) > 2 else map(str, own)


def mark_table(marks: dict[str, dict[str, bool | None]]) -> Table:
    """Table 1 of the paper: which tasks generalize to longer operands with which positions."""
    rows = [(family, *map(MARKS.__getitem__, row.values())) for family, row in marks.items()]
    return new_table("positions", *next(iter(marks.values())), rows=rows)
