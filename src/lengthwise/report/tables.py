"""Tables for the terminal."""

from collections.abc import Iterable
from fractions import Fraction

from rich import box
from rich.markup import escape
from rich.table import Table

from lengthwise.theory.coverage import PositionCoverage
from lengthwise.theory.plateaus import Plateau
from lengthwise.theory.predict import Predictions

EXACT = 3
"""Decimals of a percentage that theory gives."""

MARKS = {True: "✓", False: "✗", None: "–"}


def new_table(*columns: str, title: str | None = None) -> Table:
    """The one look of all tables: a rule under the header, the first column to the left, numbers right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
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


def short_percent(value: float | None) -> str:
    """A number that is a percentage already, as short as it may be."""
    return percent(None if value is None else Fraction(value) / 100, short=True)


def short_fraction(value: Fraction | None) -> str:
    """The fraction itself where it is short enough to read."""
    return str(value) if value is not None and len(str(value)) <= 13 else ""


def prediction_table(predictions: Predictions) -> Table:
    table = new_table("test on", "model computes", "accuracy %", "exactly", "paper says %", "theorem")
    for row in predictions.rows:
        table.add_row(
            escape(str(row.domain)),
            "no prediction" if row.hypothesis is None else str(row.hypothesis),
            percent(row.accuracy, EXACT),
            short_fraction(row.accuracy),
            percent(row.paper, EXACT),
            "within" if row.within_theorem else "beyond",
        )
    return table


def plateau_table(plateaus: Iterable[Plateau]) -> Table:
    table = new_table("model knows", "accuracy %", "exactly")
    for plateau in plateaus:
        table.add_row(plateau.known, percent(plateau.accuracy, EXACT), short_fraction(plateau.accuracy))
    return table


def coverage_table(positions: list[PositionCoverage], base: int) -> Table:
    table = new_table("position", "digit pairs seen", "carries in", "answer digits")
    for row in positions:
        pairs = "0,0" if row.pairs == {(0, 0)} else f"{len(row.pairs)} of {base**2}"
        table.add_row(str(row.position), pairs, digit_set(row.carries), digit_set(row.outputs))
    return table


def digit_set(digits: frozenset[int]) -> str:
    """
    >>> digit_set(frozenset({2, 3, 4, 8})), digit_set(frozenset({0, 1}))
    ('2-4 8', '0 1')
    """
    runs: list[list[int]] = []
    for digit in sorted(digits):
        if runs and digit == runs[-1][-1] + 1:
            runs[-1].append(digit)
        else:
            runs.append([digit])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else " ".join(map(str, run)) for run in runs)


def mark_table(marks: dict[str, dict[str, bool | None]]) -> Table:
    """Table 1 of the paper: which tasks generalize to longer operands with which positions."""
    columns = list(next(iter(marks.values())))
    table = new_table("positions", *columns)
    for family, row in marks.items():
        table.add_row(family, *(MARKS[row[column]] for column in columns))
    return table
