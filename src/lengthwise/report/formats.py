"""One table, four ways to write it: for the terminal, Markdown, LaTeX and CSV.

>>> table = TextTable("Sums", ("trained on", "D1"), (("D4", "100"),))
>>> print(markdown(table))
| trained on | D1 |
|:--|--:|
| D4 | 100 |
"""

import csv
import io
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from lengthwise.report.tables import new_table

LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "#": r"\#",
    "†": r"$^\dagger$",
    "–": "--",
    "≥": r"$\geq$",
    ">": "$>$",
    "<": "$<$",
}


@dataclass(frozen=True)
class TextTable:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """How many columns hold words and stand to the left; numbers stand to the right."""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), "a row has cells missing"


def terminal(table: TextTable) -> Table:
    drawn = new_table(*table.columns, title=table.title)
    for column in drawn.columns[: table.words]:
        column.justify = "left"
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    return drawn


def markdown(table: TextTable) -> str:
    rule = ":--|" * table.words + "--:|" * (len(table.columns) - table.words)
    lines = [_markdown_row(table.columns), f"|{rule}", *map(_markdown_row, table.rows)]
    return "\n".join(lines)


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def latex(table: TextTable) -> str:
    """A whole table environment, for the package booktabs."""
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_text(table.title)}}}",
        rf"\begin{{tabular}}{{{'l' * table.words}{'r' * (len(table.columns) - table.words)}}}",
        r"\toprule",
        _latex_row(table.columns),
        r"\midrule",
        *map(_latex_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def latex_text(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)


def csv_text(table: TextTable) -> str:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return target.getvalue()
