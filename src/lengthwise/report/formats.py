"""One table, four ways to write it: for the terminal, Markdown, LaTeX and CSV.

>>> table = TextTable("Sums", ("trained on", "D1"), (("D4", "100"),))
>>> print(markdown(table))
| trained on | D1 |
|:--|--:|
| D4 | 100 |
"""

import csv
import io
from collections.abc import Mapping, Sequence
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

COLUMN_GAP = 3
"""Blanks between two columns in a terminal."""
SENTENCE = 32
"""Cells of more letters are broken into lines."""


@dataclass(frozen=True)
class TextTable:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """How many columns hold words and stand to the left; numbers stand to the right."""
    data: "TextTable | None" = None
    """For programs, where it is not this one: with all digits."""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), "a row has cells missing"


def text_table(
    title: str, lines: Sequence[Mapping[str, object]], words: int = 1, data: TextTable | None = None
) -> TextTable | None:
    """Columns by name, each with its cell of every line; nothing known is –. None where there is no line.

    >>> text_table("Sums", [{"trained on": "D4", "D1": 100}, {"trained on": "D5", "D1": None}]).rows
    (('D4', '100'), ('D5', '–'))
    """
    if not lines:
        return None
    rows = tuple(tuple("–" if cell is None else str(cell) for cell in line.values()) for line in lines)
    return TextTable(title, tuple(lines[0]), rows, words, data)


def terminal(table: TextTable, width: int) -> list[Table]:
    """One table where its columns fit side by side, else several that all begin with the columns of words."""
    groups = _column_groups(table, width)
    numbers = [f", {k} of {len(groups)}" for k in range(1, len(groups) + 1)] if len(groups) > 1 else [""]
    return [_drawn(table, group, table.title + number) for group, number in zip(groups, numbers, strict=True)]


def _column_groups(table: TextTable, width: int) -> list[list[int]]:
    words, others = range(table.words), range(table.words, len(table.columns))
    widths = [_column_width(table, k) + COLUMN_GAP for k in range(len(table.columns))]
    groups: list[list[int]] = [[*words]]
    for k in others:
        if len(groups[-1]) > len(words) and sum(widths[i] for i in groups[-1]) + widths[k] > width - 1:
            groups.append([*words])
        groups[-1].append(k)
    return groups


def _column_width(table: TextTable, k: int) -> int:
    """Names of columns and sentences may be broken between words, other cells not."""
    name = max(map(len, table.columns[k].split()), default=0)
    cells = (row[k] for row in table.rows)
    return max([name, *(min(len(cell), SENTENCE) if " " in cell else len(cell) for cell in cells)])


def _drawn(table: TextTable, columns: Sequence[int], title: str) -> Table:
    drawn = new_table(*(table.columns[k] for k in columns), title=title)
    for column, k in zip(drawn.columns, columns, strict=True):
        column.max_width = _column_width(table, k)
        column.justify = "left" if k < table.words else "right"
    for row in table.rows:
        drawn.add_row(*(escape(row[k]) for k in columns))
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
    target, own = io.StringIO(), table.data or table
    csv.writer(target, lineterminator="\n").writerows([own.columns, *own.rows])
    return target.getvalue()
