"""One table in four formats: each parses back, and signs that mean something there are escaped."""

import csv
import io

from rich.console import Console

from lengthwise.report.tables import TextTable, csv_text, latex, markdown, terminal

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
    (drawn,) = terminal(TextTable("T", ("row", "D4[lead>=6]"), (("[bold]", "1"),)), 80)
    console.print(drawn)
    shown = console.export_text()
    assert "[bold]" in shown


def test_a_table_that_is_too_wide_is_shown_in_parts():
    cells = [f"{k}.25 (1.5–99.75)" for k in range(9)]
    columns = ("encoding", "trained on", *(f"D{k}" for k in range(9)), "verdict")
    sentence = "seeds differ: one is right on all, " * 4
    table = TextTable("Wide", columns, (("rotary", "D1..4", *cells, sentence),), words=2)
    console = Console(width=80, record=True, file=io.StringIO())
    parts = terminal(table, console.width)
    for part in parts:
        console.print(part)
    shown = console.export_text()
    assert "…" not in shown and all(len(line) <= 80 for line in shown.splitlines())
    assert all(shown.count(cell) == 1 for cell in cells)
    assert shown.count("rotary") == len(parts) > 1
    assert f"Wide, 1 of {len(parts)}" in shown
