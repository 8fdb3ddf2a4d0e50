"""The leaderboard of encodings: how each does on the tasks of the paper's Table 1, within training and beyond."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from lengthwise.arithmetic import Domain
from lengthwise.recipes import Recipe, of_rows
from lengthwise.recipes.recipe import Tally, generalizes, mark, mark_verdict, tally
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection, group_by
from lengthwise.report.formats import TextTable, text_table
from lengthwise.report.queries import Seeds
from lengthwise.report.tables import short_percent
from lengthwise.report.words import positions_label
from lengthwise.theory.rules import TABLE_1_ENCODINGS

MARKS = {True: "yes", False: "no", None: "–"}


Line = dict[str, Seeds]
"""An encoding in a layout: the seeds of each task."""


def mark_tally(seeds: Seeds) -> Tally | None:
    """The verdicts on the mark; none where theory makes none."""
    return None if mark(seeds.first) is None else tally(map(mark_verdict, seeds.views))


def leaderboard(views: Sequence[RunView]) -> dict[str, Line]:
    """From the runs of the recipe `table1`, by the label of positions, the best first."""
    by_label = group_by(views, lambda view: positions_label(view.encoding, view.layout))
    lines = {label: _line(runs) for label, runs in by_label.items()}
    return dict(sorted(lines.items(), key=lambda item: (-score(item[1]), item[0])))


def _line(runs: Sequence[RunView]) -> Line:
    by_task = group_by(runs, lambda view: str(view.task))
    return {task: Seeds(tuple(by_task[task])) for task in sorted(by_task, key=_task_order)}


def score(line: Line) -> float:
    """The average over tasks of what is right beyond training."""
    return fmean(point.mean for seeds in line.values() if (point := seeds.beyond()))


def tasks(board: dict[str, Line]) -> list[str]:
    """Sums, products, residues, as in the paper."""
    return sorted({task for line in board.values() for task in line}, key=_task_order)


def _task_order(task: str) -> tuple[bool, bool, str]:
    return "%" in task, task.startswith("mul"), task


def board_table(collection: Collection, recipe: Recipe) -> TextTable | None:
    board = leaderboard(of_rows(recipe.rows, collection.views))
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


def _compared(task: str, seeds: Seeds | None) -> Iterable[tuple[str, str | None]]:
    """What was measured, and theory's mark."""
    yield task, seeds and f"{seeds.learned} / {seeds.beyond()}"
    verdict = seeds and mark_tally(seeds)
    yield f"{task}: theory", seeds and MARKS[mark(seeds.first)] + (f", {verdict.counted}" if verdict else "")


def table_1_by_length(collection: Collection, recipe: Recipe) -> TextTable | None:
    """The rows of the paper's Table 1, length by length."""
    board = leaderboard(of_rows(recipe.rows, collection.views))
    # An encoding in its natural layout has no other label than its name.
    lines = [
        {
            "positions": f"{family}: {encoding}",
            "task": task,
            **{str(test): _at(seeds, test) for test in seeds.first.tests},
            **dict(zip(("Table 1", "measured", "verdict"), _words(seeds), strict=True)),
        }
        for family, encoding in TABLE_1_ENCODINGS.items()
        for task, seeds in board.get(encoding, {}).items()
    ]
    return text_table("Table 1 of the paper, measured", lines, words=2)


def _at(seeds: Seeds, test: Domain) -> str:
    """† where the length was trained on."""
    trained = any(part.length == test.length for part in seeds.first.train.parts)
    return f"{seeds.exact_match(test)}{'†' if trained else ''}"


def _words(seeds: Seeds) -> tuple[str, str, str]:
    measured = tally(map(generalizes, seeds.views)).counted
    return MARKS[mark(seeds.first)], measured, str(mark_tally(seeds) or "–")


def _data(board: dict[str, Line]) -> TextTable | None:
    """A line for each encoding, task and length, with all digits."""
    lines = [
        {
            **{"encoding": view.encoding, "layout": view.layout, "task": task, "trained_on": view.train},
            **{"test": test, "seeds": " ".join(str(run.seed) for run in seeds.views)},
            **{name: f"{x:.6g}" for name, x in zip(("measured", "lowest", "highest"), found, strict=True)},
            **dict(zip(("theory_goes_on", "goes_on", "verdict"), _words(seeds), strict=True)),
        }
        for line in board.values()
        for task, seeds in line.items()
        for view in (seeds.first,)
        for test in view.tests
        if (found := seeds.exact_match(test))
    ]
    return text_table("Encodings by task and length", lines)
