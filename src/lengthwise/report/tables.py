"""Tables for the terminal, as Markdown, LaTeX and CSV, and as HTML in a notebook; and the tables of predictions.

>>> table = TextTable("Sums", ("trained on", "D1"), (("D4", "100"),))
>>> print(markdown(table))
| trained on | D1 |
|:--|--:|
| D4 | 100 |
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lengthwise.records.evidence import Evidence, MeasuredPredictions
from lengthwise.theory.columns import PositionCoverage
from lengthwise.theory.plateaus import Plateau

T = TypeVar("T")

EXACT = 3
"""Decimals of predicted percentages."""

MARKS = {True: "✓", False: "✗", None: "–"}


def new_table(*columns: str, rows: Iterable[Iterable[str]] = (), title: str | None = None) -> Table:
    """A table in the common style: a rule under the header, the first column left, all others right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table


def percent(share: Fraction | float | None, decimals: int = 2, *, short: bool = False) -> str:
    """A share in percent, with more decimals where it would be rounded to 0 or 100; `short` drops trailing zeros.

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
    """The text of a number that is already a percentage."""
    return percent(None if value is None else Fraction(value) / 100, short=short)


short_percent = partial(percent_text, short=True)


def short_fraction(value: Fraction | None) -> str:
    """The fraction, if it is short enough to read; else empty."""
    return str(value) if value is not None and len(str(value)) <= 13 else ""


def prediction_table(predictions: MeasuredPredictions) -> Table:
    table = new_table("test on", "computes", "predicted\naccuracy %", "exactly", "paper\nsays %", "measured")
    for row in predictions.rows:
        accuracies = percent(row.accuracy, EXACT), short_fraction(row.accuracy), percent(row.paper, EXACT)
        seen = "–" if row.hypothesis is None else evidence_cell(row.evidence)
        table.add_row(escape(str(row.domain)), str(row.hypothesis or "no prediction"), *accuracies, seen)
    return table


def evidence_cell(evidence: Evidence | None) -> str:
    """The evidence in a few words. Only undecided runs are not the same as none that holds.

    >>> evidence_cell(Evidence(15, 0, 13, 2, "table1")), evidence_cell(Evidence(4, 0, 0, 4, "table1"))
    ('0 of 15 hold', '4 undecided')
    """
    if evidence is None:
        return "not measured"
    if evidence.undecided == evidence.seeds:
        return f"{evidence.undecided} undecided"
    return f"{evidence.hold} of {evidence.seeds} hold"


def plateau_table(plateaus: Iterable[Plateau]) -> Table:
    rows = [
        (own.known, percent(own.accuracy, EXACT), short_fraction(own.accuracy), percent(own.by_chance, EXACT))
        for own in plateaus
    ]
    return new_table("model knows", "accuracy %", "exactly", "by chance %", rows=rows)


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
    return " ".join(shortened(sorted(digits), lambda before, after: after == before + 1, "-"))


def shortened(items: Iterable[T], follows: Callable[[T, T], bool], dash: str) -> Iterator[str]:
    """Items as text; three or more consecutive ones as the first and the last."""
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


# A table in four formats ---------------------------------------------------------------------------------------


LATEX_SIGNS = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "%&_#"},
        "\\": r"\textbackslash{}",
        "†": r"$^\dagger$",
        "–": "--",
        "≥": r"$\geq$",
        ">": "$>$",
        "<": "$<$",
    }
)

COLUMN_GAP = 3
"""Spaces between two columns in a terminal."""
SENTENCE = 32
"""Cells with more characters are broken into lines."""


@dataclass(frozen=True)
class TextTable:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """The number of first columns that contain words and are left-aligned; numbers are right-aligned."""
    data: "TextTable | None" = None
    """The table for CSV with all digits, if it is another one."""


def text_table(
    title: str, lines: Sequence[Mapping[str, object]], words: int = 1, data: TextTable | None = None
) -> TextTable | None:
    """A table from lines, which map columns to cells; a missing cell is –. None without lines.

    >>> text_table("Sums", [{"trained on": "D4", "D1": 100}, {"trained on": "D5", "D1": None}]).rows
    (('D4', '100'), ('D5', '–'))
    """
    if not lines:
        return None
    columns = dict.fromkeys(column for line in lines for column in line)
    cells = [[line.get(column) for column in columns] for line in lines]
    rows = tuple(tuple("–" if cell is None else str(cell) for cell in row) for row in cells)
    return TextTable(title, tuple(columns), rows, words, data)


def terminal(table: TextTable, width: int) -> list[Table]:
    """One table if its columns fit, else several that all begin with the columns of words."""
    words, widths = range(table.words), [_column_width(table, k) for k in range(len(table.columns))]
    parts: list[list[int]] = [[*words]]
    for k in range(len(words), len(widths)):
        needed = sum(widths[i] + COLUMN_GAP for i in (*parts[-1], k))
        if len(parts[-1]) > len(words) and needed > width - 1:
            parts.append([*words])
        parts[-1].append(k)
    drawn: list[Table] = []
    for number, part in enumerate(parts, start=1):
        of_several = f", {number} of {len(parts)}" if len(parts) > 1 else ""
        one = new_table(title=table.title + of_several)
        for k in part:
            one.add_column(table.columns[k], max_width=widths[k], justify="left" if k in words else "right")
        for row in table.rows:
            one.add_row(*(escape(row[k]) for k in part))
        drawn.append(one)
    return drawn


def _column_width(table: TextTable, k: int) -> int:
    """The width of a column. Headings and sentences may be broken between words, other cells not."""
    name = max(map(len, table.columns[k].split()), default=0)
    cells = (row[k] for row in table.rows)
    return max([name, *(min(len(cell), SENTENCE) if " " in cell else len(cell) for cell in cells)])


def markdown(table: TextTable) -> str:
    head, *rows = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        for cells in (table.columns, *table.rows)
    )
    rule = ":--|" * table.words + "--:|" * (len(table.columns) - table.words)
    return "\n".join([head, f"|{rule}", *rows])


def latex(table: TextTable) -> str:
    """A complete table environment, for the package booktabs."""
    head, *rows = (
        " & ".join(cell.translate(LATEX_SIGNS) for cell in cells) + r" \\"
        for cells in (table.columns, *table.rows)
    )
    lines = [
        r"\begin{table}",
        rf"\caption{{{table.title.translate(LATEX_SIGNS)}}}",
        rf"\begin{{tabular}}{{{'l' * table.words}{'r' * (len(table.columns) - table.words)}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def csv_text(table: TextTable) -> str:
    target, own = io.StringIO(), table.data or table
    csv.writer(target, lineterminator="\n").writerows([own.columns, *own.rows])
    return target.getvalue()


# Console output as text, for a Python prompt, and as HTML, for a notebook --------------------------------------


WIDTH = 110
"""Characters per line of text."""
WIDEST = 100_000
"""Characters per line of HTML, which a browser breaks."""

Show = Callable[[Any, Console], object]


def as_text(what: Any, show: Show) -> str:
    text = io.StringIO()
    show(what, _console(text, width=WIDTH))
    return "\n".join(line.rstrip() for line in text.getvalue().strip("\n").splitlines())


def as_html(what: Any, show: Show) -> str:
    page = Page()
    show(what, page)
    return "\n".join(page.parts)


class Page(Console):
    """A console whose lines and tables become HTML."""

    def __init__(self) -> None:
        super().__init__(file=io.StringIO(), force_jupyter=False)
        self.parts: list[str] = []

    def print(self, *objects: Any, style: Any = "", markup: bool | None = None, **look: Any) -> None:
        for one in objects:
            if isinstance(one, Table):
                self.parts.append(html_table(one))
            else:
                text = Text(one, style) if markup is False else Text.from_markup(one, style=style)
                self.parts.append(f"<p>{html_text(text)}</p>")


def html_table(table: Table) -> str:
    """A table as HTML; cells keep their colours and alignment."""
    sides = [f'style="text-align: {column.justify}; padding: 0 0.5em"' for column in table.columns]

    def row(tag: str, cells: Any) -> str:
        own = (f"<{tag} {side}>{html_text(cell)}</{tag}>" for side, cell in zip(sides, cells, strict=True))
        return f"<tr>{''.join(own)}</tr>"

    title = "" if table.title is None else f'<caption style="text-align: left">{html_text(table.title)}</caption>'
    head = row("th", [column.header for column in table.columns])
    body = [row("td", cells) for cells in zip(*(column.cells for column in table.columns), strict=True)]
    return f"<table>{title}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def html_text(text: Any) -> str:
    console = _console(io.StringIO(), width=WIDEST, record=True)
    console.print(text, end="")
    return console.export_html(inline_styles=True, code_format="{code}").strip()


def _console(text: io.StringIO, **look: Any) -> Console:
    """A console that writes text, also in a notebook, where it would otherwise display it."""
    return Console(file=text, highlight=False, force_jupyter=False, force_terminal=False, **look)
