"""The leaderboard of encodings: how each does on the tasks of the paper's Table 1, within training and beyond."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import fmean

from lengthwise.arithmetic import Domain
from lengthwise.recipes import Recipe, of_rows
from lengthwise.recipes.claims import Tally, generalizes, mark, mark_verdict, tally
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection, group_by
from lengthwise.report.formats import TextTable, text_table
from lengthwise.report.queries import Point, Seeds
from lengthwise.report.tables import short_percent
from lengthwise.report.words import positions_label
from lengthwise.theory.rules import TABLE_1_ENCODINGS

MARKS = {True: "yes", False: "no", None: "–"}


class Cell(Seeds):
    """An encoding on a task."""

    @cached_property
    def within(self) -> Point | None:
        """Right answers on what it was trained on."""
        return self.exact_match(self.first.train)

    @cached_property
    def beyond(self) -> Point | None:
        """The average over longer lengths."""
        return self.exact_match(*self.first.spec.longer())

    @cached_property
    def mark(self) -> bool | None:
        """Table 1's: whether theory says that it generalizes to longer operands."""
        return mark(self.first)

    @cached_property
    def generalizes(self) -> Tally:
        return tally(map(generalizes, self.views))

    @cached_property
    def verdict(self) -> Tally | None:
        """On the mark; none where theory makes none."""
        return None if self.mark is None else tally(map(mark_verdict, self.views))


Line = dict[str, Cell]
"""An encoding in a layout, by task."""


def leaderboard(views: Sequence[RunView]) -> dict[str, Line]:
    """From the runs of the recipe `table1`, by the label of positions, the best first."""
    by_label = group_by(views, lambda view: positions_label(view.encoding, view.layout))
    lines = {label: _line(runs) for label, runs in by_label.items()}
    return dict(sorted(lines.items(), key=lambda item: (-score(item[1]), item[0])))


def _line(runs: Sequence[RunView]) -> Line:
    by_task = group_by(runs, lambda view: str(view.task))
    return {task: Cell(tuple(by_task[task])) for task in sorted(by_task, key=_task_order)}


def score(line: Line) -> float:
    """The average over tasks of what is right beyond training."""
    return fmean(cell.beyond.mean for cell in line.values() if cell.beyond)


def tasks(board: dict[str, Line]) -> list[str]:
    """Sums, products, residues, as in the paper."""
    return sorted({task for line in board.values() for task in line}, key=_task_order)


def _task_order(task: str) -> tuple[bool, bool, str]:
    return "%" in task, task.startswith("mul"), task


def _of(collection: Collection, recipe: Recipe) -> dict[str, Line]:
    return leaderboard(of_rows(recipe.rows, collection.views))


def board_table(collection: Collection, recipe: Recipe) -> TextTable | None:
    board = _of(collection, recipe)
    lines = [
        {
            "encoding": label,
            "layout": next(iter(line.values())).first.layout,
            "beyond": short_percent(score(line)),
            **{column: text for task in tasks(board) for column, text in _compared(task, line.get(task))},
        }
        for label, line in board.items()
    ]
    return text_table("Encodings, the best beyond training first", lines, words=2, data=_data(board))


def _compared(task: str, cell: Cell | None) -> Iterable[tuple[str, str | None]]:
    """What was measured, and theory's mark."""
    yield task, cell and f"{cell.within} / {cell.beyond}"
    yield f"{task}: theory", cell and MARKS[cell.mark] + (f", {cell.verdict.counted}" if cell.verdict else "")


def table_1_by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """The rows of the paper's Table 1, length by length."""
    board = _of(collection, recipe)
    # An encoding in its natural layout has no other label than its name.
    lines = [
        {
            "positions": f"{family}: {encoding}",
            "task": task,
            **{str(test): _at(cell, test) for test in cell.first.tests},
            **dict(zip(("Table 1", "measured", "verdict"), _words(cell), strict=True)),
        }
        for family, encoding in TABLE_1_ENCODINGS.items()
        for task, cell in board.get(encoding, {}).items()
    ]
    return text_table("Table 1 of the paper, measured", lines, words=2)


def _at(cell: Cell, test: Domain) -> str:
    """† where the length was trained on."""
    trained = any(part.length == test.length for part in cell.first.train.parts)
    return f"{cell.exact_match(test)}{'†' if trained else ''}"


def _words(cell: Cell) -> tuple[str, str, str]:
    return MARKS[cell.mark], cell.generalizes.counted, str(cell.verdict or "–")


def _data(board: dict[str, Line]) -> TextTable | None:
    """A line for each encoding, task and length, with all digits."""
    lines = [
        {
            **{"encoding": view.encoding, "layout": view.layout, "task": task, "trained_on": view.train},
            **{"test": test, "seeds": " ".join(str(seed.seed) for seed in cell.views)},
            **{name: f"{x:.6g}" for name, x in zip(("measured", "lowest", "highest"), found, strict=True)},
            **dict(zip(("theory_goes_on", "goes_on", "verdict"), _words(cell), strict=True)),
        }
        for line in board.values()
        for task, cell in line.items()
        for view in (cell.first,)
        for test in view.tests
        if (found := cell.exact_match(test))
    ]
    return text_table("Encodings by task and length", lines)
