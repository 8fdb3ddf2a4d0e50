"""The leaderboard of encodings: how each does on the tasks of the paper's Table 1, within training and beyond."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.records.view import RunView
from lengthwise.report.beyond import agreements, average, goes_on, longer_domains
from lengthwise.report.labels import positions_label
from lengthwise.report.rows import learned
from lengthwise.report.spread import Spread
from lengthwise.theory.predict import TABLE_1_ENCODINGS

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
        return first.spec.predictions([max(longer_domains(first), key=lambda domain: domain.length)])[
            0
        ].generalizes

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
        if view.name.startswith(PREFIX) and longer_domains(view):
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
