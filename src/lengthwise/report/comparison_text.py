"""A compared table in words: three lines a row to read, and one line a cell for programs."""

from lengthwise.report.comparison import Cell, ComparedRow, Comparison
from lengthwise.report.formats import TextTable
from lengthwise.report.tables import short_percent

LEGEND = (
    "Percent of right answers. measured: the mean over seeds, and their spread where there are several. "
    "exact: what theory says, computed, not approximated. paper: what the paper printed. "
    "†: the length was in the training domain. –: no number."
)

DATA_COLUMNS = (
    "table",
    "row",
    "trained_on",
    "test",
    "in_distribution",
    "counted",
    "seeds",
    "measured",
    "lowest",
    "highest",
    "exact",
    "paper",
    "deviation",
)


def reading_table(comparison: Comparison) -> TextTable:
    """Each row as measured, as theory has it, and as the paper has it, below one another."""
    rows = (*comparison.rows, *comparison.apart)
    columns = [cell.test for cell in rows[0].cells] if rows else []
    lines = [line for row in rows for line in _lines(row)]
    return TextTable(comparison.spec.title, ("trained on", "", *columns), tuple(lines), words=2)


def _lines(row: ComparedRow) -> list[tuple[str, ...]]:
    name = row.label if row.label == row.train else f"{row.label}, {row.train}"
    lines = [(name, "measured", *(_measured(cell) for cell in row.cells))]
    if len(row.seeds) > 1:
        lines.append(("", "spread", *(_spread(cell) for cell in row.cells)))
    lines.append(("", "exact", *(short_percent(cell.exact) for cell in row.cells)))
    if any(cell.paper is not None for cell in row.cells):
        lines.append(("", "paper", *(short_percent(cell.paper) for cell in row.cells)))
    return lines


def _measured(cell: Cell) -> str:
    return short_percent(cell.mean) + ("†" if cell.in_distribution else "")


def _spread(cell: Cell) -> str:
    if not cell.measured or min(cell.measured) == max(cell.measured):
        return ""
    return f"{short_percent(min(cell.measured))}–{short_percent(max(cell.measured))}"


def data_table(comparison: Comparison) -> TextTable:
    """A line for each cell, with all digits."""
    lines = [
        _data(comparison.name, row, cell, counted)
        for rows, counted in ((comparison.rows, True), (comparison.apart, False))
        for row in rows
        for cell in row.cells
    ]
    return TextTable(comparison.spec.title, DATA_COLUMNS, tuple(lines))


def _data(table: str, row: ComparedRow, cell: Cell, counted: bool) -> tuple[str, ...]:
    lowest, highest = min(cell.measured, default=None), max(cell.measured, default=None)
    numbers = (cell.mean, lowest, highest, cell.exact, cell.paper, cell.deviation)
    return (
        table,
        row.label,
        row.train,
        cell.test,
        str(cell.in_distribution).lower(),
        str(counted).lower(),
        " ".join(map(str, row.seeds)),
        *("" if number is None else f"{number:.6g}" for number in numbers),
    )
