"""The leaderboard of encodings: how each does on the tasks of the paper's Table 1, within training and beyond."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from lengthwise.arithmetic import Domain
from lengthwise.recipes import Recipe, of_rows
from lengthwise.recipes.recipe import Tally, generalizes, mark, mark_verdict, tally
from lengthwise.records.view import RunView
from lengthwise.report.answers import LONGER, TRAINED, Spread, Spreads, answers, right
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable
from lengthwise.report.tables import short_percent
from lengthwise.report.words import positions_label
from lengthwise.theory.rules import TABLE_1_ENCODINGS

MARKS = {True: "yes", False: "no", None: "–"}
DATA_COLUMNS = (
    *("encoding", "layout", "task", "trained_on", "test", "seeds", "measured", "lowest", "highest"),
    *("theory_goes_on", "goes_on", "verdict"),
)


@dataclass(frozen=True)
class Cell:
    """An encoding on a task: its seeds."""

    views: tuple[RunView, ...]
    within: Spread
    """Right answers on what it was trained on."""
    beyond: Spread
    """The average over longer lengths."""
    by_domain: dict[str, Spread]

    @cached_property
    def mark(self) -> bool | None:
        """Table 1's: whether theory says that it generalizes to longer operands."""
        return mark(self.views[0])

    @cached_property
    def generalizes(self) -> Tally:
        return tally(map(generalizes, self.views))

    @cached_property
    def verdict(self) -> Tally | None:
        """On the mark; none where theory makes none."""
        return None if self.mark is None else tally(map(mark_verdict, self.views))


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
    found = right(answers(views))
    within, beyond = (Spreads(found.filter(part=part), "row") for part in (TRAINED, LONGER))
    by_domain = Spreads(found, "row", "domain")
    grouped: dict[tuple[str, str], dict[str, list[RunView]]] = {}
    for view in views:
        grouped.setdefault((view.encoding, view.layout), {}).setdefault(str(view.task), []).append(view)
    tasks = sorted({task for cells in grouped.values() for task in cells}, key=_task_order)

    def cell(seeds: Sequence[RunView]) -> Cell:
        row = seeds[0].row
        tested = {str(domain): by_domain[row, str(domain)] for domain in seeds[0].tests}
        return Cell(tuple(seeds), within[row,], beyond[row,], tested)

    lines = [
        Line(*place, {task: cell(cells[task]) for task in tasks if task in cells})
        for place, cells in grouped.items()
    ]
    ranked = sorted(lines, key=lambda line: (-line.score, line.label))
    return Leaderboard(tuple(tasks), tuple(ranked)) if ranked else None


def _task_order(task: str) -> tuple[bool, bool, str]:
    """Sums, products, residues, as in the paper."""
    return "%" in task, task.startswith("mul"), task


def _of(collection: Collection, recipe: Recipe) -> Leaderboard | None:
    return leaderboard(of_rows(recipe.rows, collection.views))


def board_table(collection: Collection, recipe: Recipe) -> TextTable | None:
    board = _of(collection, recipe)
    if board is None:
        return None
    columns = [column for task in board.tasks for column in (task, f"{task}: theory")]
    lines = [
        (
            *(line.label, line.layout, short_percent(line.score)),
            *(text for task in board.tasks for text in _measured_and_theory(line.cells.get(task))),
        )
        for line in board.lines
    ]
    title = "Encodings, the best beyond training first"
    return TextTable(title, ("encoding", "layout", "beyond", *columns), tuple(lines), words=2)


def _measured_and_theory(cell: Cell | None) -> tuple[str, str]:
    if cell is None:
        return "–", "–"
    verdict = "" if cell.verdict is None else f", {cell.verdict.counted}"
    return f"{cell.within} / {cell.beyond}", f"{MARKS[cell.mark]}{verdict}"


def table_1_by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """The rows of the paper's Table 1, length by length."""
    board = _of(collection, recipe)
    chosen = {} if board is None else board.paper_lines()
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
    return f"{cell.by_domain[str(test)]}{'†' if trained else ''}"


def _words(cell: Cell) -> tuple[str, str, str]:
    verdict = "–" if cell.verdict is None else str(cell.verdict)
    return MARKS[cell.mark], cell.generalizes.counted, verdict


def board_table_data(collection: Collection, recipe: Recipe) -> TextTable | None:
    """A line for each encoding, task and length, with all digits."""
    board = _of(collection, recipe)
    lines = [
        (
            *(line.encoding, line.layout, task, str(cell.views[0].train), test),
            " ".join(str(view.seed) for view in cell.views),
            *(f"{number:.6g}" for number in (spread.mean, spread.lowest, spread.highest)),
            *_words(cell),
        )
        for line in (board.lines if board else ())
        for task, cell in line.cells.items()
        for test, spread in cell.by_domain.items()
    ]
    return TextTable("Encodings by task and length", DATA_COLUMNS, tuple(lines)) if lines else None
