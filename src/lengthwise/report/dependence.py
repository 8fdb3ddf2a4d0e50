"""Dependence as a table: which operand digits an answer digit listens to, measured and exact."""

from fractions import Fraction

from rich.table import Table

from lengthwise.records.dependence import Dependence
from lengthwise.records.verdicts import Measured
from lengthwise.report.tables import new_table

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
