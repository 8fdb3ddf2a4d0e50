"""The leaderboard in words: encodings by tasks to read, Table 1 by length, and a line a number for programs."""

from lengthwise.arithmetic import Domain
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.report.formats import TextTable
from lengthwise.report.leaderboard import Cell, Leaderboard, Line
from lengthwise.report.tables import short_percent

LEGEND = (
    "Percent of right answers on the training domain / on average over all longer lengths: the mean over seeds, "
    "in brackets the lowest and highest. Theory is Table 1's mark, whether it goes on to longer operands, and the "
    "verdict on it: a model goes on if it is right on 99 % of every longer length. A seed that has not "
    "learned has no say, and more than half must have."
)
MARKS = {True: "yes", False: "no", None: "–"}
MEASURED = {HOLDS: "yes", FAILS: "no", UNDECIDED: "undecided"}
DATA_COLUMNS = (
    "encoding",
    "layout",
    "task",
    "trained_on",
    "test",
    "seeds",
    "measured",
    "lowest",
    "highest",
    "theory_goes_on",
    "goes_on",
    "verdict",
)


def board_table(board: Leaderboard) -> TextTable:
    columns = [column for task in board.tasks for column in (task, f"{task}: theory")]
    lines = [(line.label, line.layout, short_percent(line.score), *_cells(board, line)) for line in board.lines]
    title = "Encodings, the best beyond training first"
    return TextTable(title, ("encoding", "layout", "beyond", *columns), tuple(lines), words=2)


def _cells(board: Leaderboard, line: Line) -> list[str]:
    shown: list[str] = []
    for task in board.tasks:
        cell = line.cells.get(task)
        shown += ["–", "–"] if cell is None else [f"{cell.within} / {cell.beyond}", _theory(cell)]
    return shown


def _theory(cell: Cell) -> str:
    return MARKS[cell.mark] if cell.word is None else f"{MARKS[cell.mark]}, {cell.word}"


def table_1_by_length(board: Leaderboard) -> TextTable | None:
    """The rows of the paper's Table 1, length by length."""
    chosen = board.paper_lines()
    cells = [(family, task, cell) for family, line in chosen.items() for task, cell in line.cells.items()]
    if not cells:
        return None
    tests = cells[0][2].views[0].tests
    lines = [
        (f"{family}: {chosen[family].encoding}", task, *(_at(cell, test) for test in tests), *_words(cell))
        for family, task, cell in cells
    ]
    columns = ("positions", "task", *map(str, tests), "Table 1", "measured", "verdict")
    return TextTable("Table 1 of the paper, measured", columns, tuple(lines), words=2)


def _at(cell: Cell, test: Domain) -> str:
    """† where the length was trained on."""
    trained = any(part.length == test.length for part in cell.views[0].train.parts)
    return f"{cell.at(str(test))}{'†' if trained else ''}"


def _words(cell: Cell) -> tuple[str, str, str]:
    return MARKS[cell.mark], MEASURED[cell.measured], cell.word or "–"


def data_table(board: Leaderboard) -> TextTable:
    """A line for each encoding, task and length, with all digits."""
    lines = [
        _data(line, task, cell, str(domain))
        for line in board.lines
        for task, cell in line.cells.items()
        for domain in cell.views[0].tests
    ]
    return TextTable("Encodings by task and length", DATA_COLUMNS, tuple(lines))


def _data(line: Line, task: str, cell: Cell, test: str) -> tuple[str, ...]:
    spread = cell.at(test)
    return (
        line.encoding,
        line.layout,
        task,
        str(cell.views[0].train),
        test,
        " ".join(str(view.seed) for view in cell.views),
        *(f"{number:.6g}" for number in (spread.mean, spread.lowest, spread.highest)),
        *_words(cell),
    )
