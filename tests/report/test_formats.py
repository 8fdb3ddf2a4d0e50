"""One table in four formats: each parses back, and signs that mean something there are escaped."""

import csv
import io

from rich.console import Console

from lengthwise.report.formats import TextTable, csv_text, latex, markdown, terminal

TABLE = TextTable("Share in % of R&D_1", ("trained on", "D4[lead>=6]"), (("D4, p_5", "100†"), ("a|b", "–")))


def test_csv_parses_back():
    assert list(csv.reader(io.StringIO(csv_text(TABLE)))) == [list(TABLE.columns), *map(list, TABLE.rows)]


def test_latex_escapes_what_latex_reads():
    text = latex(TABLE)
    assert r"\caption{Share in \% of R\&D\_1}" in text
    assert r"D4, p\_5 & 100$^\dagger$ \\" in text
    assert r"D4[lead$>$=6]" in text


def test_markdown_keeps_bars_inside_cells():
    lines = markdown(TABLE).splitlines()
    assert lines[1] == "|:--|--:|"
    assert lines[3] == r"| a\|b | – |"


def test_the_terminal_shows_brackets_as_they_are():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(terminal(TextTable("T", ("row", "D4[lead>=6]"), (("[bold]", "1"),))))
    shown = console.export_text()
    assert "[bold]" in shown
