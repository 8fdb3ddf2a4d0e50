"""The leaderboard of encodings: how each does on the tasks of the paper's Table 1, within training and beyond."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView
from lengthwise.report.beyond import Spread, agreements, average, goes_on
from lengthwise.report.formats import TextTable
from lengthwise.report.run_tables import learned
from lengthwise.report.tables import short_percent
from lengthwise.report.words import positions_label
from lengthwise.theory.rules import TABLE_1_ENCODINGS

PREFIX = "table1-"


@dataclass(frozen=True)
class Cell:
    """An encoding on a task: its seeds."""

    views: tuple[RunView, ...]

    @cached_property
    def within(self) -> Spread:
        """Right answers on what it was trained on."""
        return Spread(tuple(learned(view) for view in self.views))

    @cached_property
    def beyond(self) -> Spread:
        """The average over longer lengths."""
        found = (average(agreements(view)) for view in self.views)
        return Spread(tuple(value for value in found if value is not None))

    @cached_property
    def mark(self) -> bool | None:
        """Table 1's: whether theory says that it goes on to longer operands."""
        first = self.views[0]
        return first.spec.predictions([max(first.spec.longer(), key=lambda domain: domain.length)])[0].generalizes

    @cached_property
    def measured(self) -> str:
        """`holds` where it does go on."""
        return goes_on(self.views)

    @property
    def word(self) -> str | None:
        """The verdict on the mark; none where theory makes none."""
        if self.mark is None or self.measured == UNDECIDED:
            return None if self.mark is None else UNDECIDED
        return HOLDS if self.mark == (self.measured == HOLDS) else FAILS

    def at(self, domain: str) -> Spread:
        found = (view.final_counts.get((domain, TRUTH)) for view in self.views)
        return Spread(tuple(100 * measured.share for measured in found if measured is not None))


@dataclass(frozen=True)
class Line:
    encoding: str
    layout: str
    cells: dict[str, Cell]
    """By task, in the order of the board's."""

    @property
    def label(self) -> str:
        return positions_label(self.encoding, self.layout)

    @property
    def score(self) -> float:
        """The average over tasks of what is right beyond training."""
        return fmean(cell.beyond.mean for cell in self.cells.values())


@dataclass(frozen=True)
class Leaderboard:
    tasks: tuple[str, ...]
    lines: tuple[Line, ...]
    """The best first."""

    def paper_lines(self) -> dict[str, Line]:
        """The lines that stand for the rows of Table 1: absolute and relative."""
        natural = {line.encoding: line for line in self.lines if line.label == line.encoding}
        return {family: natural[name] for family, name in TABLE_1_ENCODINGS.items() if name in natural}


def leaderboard(views: Sequence[RunView]) -> Leaderboard | None:
    """From the runs of the recipe `table1`; None where there are none."""
    grouped: dict[tuple[str, str], dict[str, list[RunView]]] = {}
    for view in views:
        if view.name.startswith(PREFIX) and view.spec.longer():
            grouped.setdefault((view.encoding, view.layout), {}).setdefault(str(view.task), []).append(view)
    if not grouped:
        return None
    tasks = sorted({task for cells in grouped.values() for task in cells}, key=_task_order)
    lines = [
        Line(*place, {task: Cell(tuple(cells[task])) for task in tasks if task in cells})
        for place, cells in grouped.items()
    ]
    return Leaderboard(tuple(tasks), tuple(sorted(lines, key=lambda line: (-line.score, line.label))))


def _task_order(task: str) -> tuple[bool, bool, str]:
    """Sums, products, residues, as in the paper."""
    return "%" in task, task.startswith("mul"), task


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
