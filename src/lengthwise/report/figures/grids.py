"""Figures of grids: which digits matter, regularization, candidate functions, and the leaderboard of encodings."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lengthwise.recipes.recipe import THEORY, mark
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import GATE, HOLDS
from lengthwise.records.view import RunView
from lengthwise.report.collection import group_by
from lengthwise.report.figures.style import COLOURS, GREY, entry, heat_map, small_multiples
from lengthwise.report.queries import (
    DependenceCells,
    Point,
    Seeds,
    dependence_cells,
    encoding_name,
    grouped,
)
from lengthwise.report.recipe_tables import (
    candidates,
    decay_and_dropout,
    ingredient,
    leaderboard,
    mark_tally,
    modulus_words,
    tasks,
)
from lengthwise.report.tables import short_percent

SHOWN_CANDIDATES = 3
"""Of each encoding, so many of the best."""
CONTRADICTED = {
    True: ("contradicted: theory says it generalizes", "-"),
    False: ("contradicted: theory says it fails, and how", "--"),
}
"""Theory's mark, and what a frame in this line style says."""


def dependence(views: Sequence[RunView]) -> Figure | None:
    """For each run: above, how often changing a digit of a changed a digit of the answer; below, exactly."""
    runs = grouped(views, _task_and_domain).items()
    groups = {name: (seeds.first, cells) for name, seeds in runs if (cells := dependence_cells(seeds))}

    def paint(above: Axes, below: Axes, shown: tuple[RunView, DependenceCells]) -> None:
        view, (measured, exact, _) = shown
        # Up to the highest answer digit that ever changes.
        rows = range(1, 1 + max(i for cells in (measured, exact) for (i, _), share in cells.items() if share))
        columns = range(1, 1 + max(j for _, j in measured))
        for axes, cells in ((above, measured), (below, exact)):
            heat_map(axes, cells, rows, columns, upward=True)
            _thin_ticks(axes)
            # Digits stand as they are written, units to the right; a line parts the trained ones from the rest.
            axes.invert_xaxis()
            axes.axvline(view.train.length - 0.5, color=COLOURS[1], linestyle="--", linewidth=1.2)

    x, y = "digit of a that is changed (1 = units)", ("measured:\nanswer digit", "exact:\nanswer digit")
    return small_multiples(groups, paint, x=x, y=y, height=1.3, stack=2, share=(True, False), scale="changed (%)")


def _thin_ticks(axes: Axes) -> None:
    """Of six digits or more, every other one."""
    for axis in (axes.xaxis, axes.yaxis):
        ticks = axis.get_ticklocs()
        if len(ticks) >= 6:
            axis.set_ticks(ticks[::2], [f"{tick + 1:g}" for tick in ticks[::2]])


def regularization(views: Sequence[RunView]) -> Figure | None:
    """A grid for each task."""
    return _regularized(grouped(views, _task_and_domain))


def unseen_digits(views: Sequence[RunView]) -> Figure | None:
    """A grid for each size of position embeddings."""
    return _regularized(grouped(views, lambda view: f"positions of {view.config['model']['position_std']:g}"))


def _regularized(groups: Mapping[str, Seeds]) -> Figure | None:
    """Agreement with theory's function on lengths beyond training, by decay and dropout; a star marks what was not
    learned."""

    def paint(axes: Axes, runs: Seeds) -> None:
        cells = {place: Seeds(tuple(own)) for place, own in group_by(runs.views, decay_and_dropout).items()}
        found = {place: point.mean for place, seeds in cells.items() if (point := seeds.beyond(THEORY))}
        missed = {place for place, seeds in cells.items() if not seeds.learned or seeds.learned.low < 100 * GATE}
        texts = {place: f"{value:.1f}{'*' * (place in missed)}" for place, value in found.items()}
        decays, dropouts = (sorted({place[k] for place in cells}) for k in (0, 1))
        heat_map(axes, found, decays, dropouts, texts=texts, upward=True)

    return small_multiples(groups, paint, x="dropout", y="weight decay", height=1.7, scale="agreement (%)")


def _task_and_domain(view: RunView) -> str:
    return f"{view.task} on {view.train}"


def candidate_grid(views: Sequence[RunView]) -> Figure | None:
    """A panel for each modulus: candidates by encodings, agreement on longer operands."""
    found = {
        name: {encoding: candidates(seeds) for encoding, seeds in grouped(runs.views, encoding_name).items()}
        for name, runs in grouped(views, lambda view: f"modulo {modulus_words(view.task)}").items()
    }

    def paint(axes: Axes, columns: Mapping[str, Mapping[str, Point]]) -> None:
        cells = {
            (name, encoding): own.mean for encoding, points in columns.items() for name, own in points.items()
        }
        texts = {place: f"{value:.0f}" for place, value in cells.items()}
        heat_map(axes, cells, _shown(columns), list(columns), texts=texts)
        axes.set_xticks(range(len(columns)), list(columns), rotation=45, ha="right")

    height = 0.7 + 0.17 * max((len(_shown(columns)) for columns in found.values()), default=0)
    return small_multiples(found, paint, height=height, share=(False, False), scale="agreement (%)")


def _shown(columns: Mapping[str, Mapping[str, Point]]) -> list[str]:
    """The best of every encoding, and truth; those that agree most with any come first."""
    best = {TRUTH, *(name for points in columns.values() for name in [*points][:SHOWN_CANDIDATES])}
    highest = {name: max(points[name].mean for points in columns.values() if name in points) for name in best}
    return sorted(best, key=lambda name: (-highest[name], name))


def ladder(views: Sequence[RunView]) -> Figure | None:
    """Changes to a recipe by lengths: accuracy in the worst seed."""
    rows = grouped(views, ingredient)
    lows = {(name, n): own.low for name, seeds in rows.items() for n, own in seeds.by_length().items()}
    lengths = sorted({n for _, n in lows})

    def paint(axes: Axes, cells: Mapping[tuple[str, int], float]) -> None:
        texts = {place: short_percent(value) for place, value in cells.items()}
        heat_map(axes, cells, list(rows), lengths, texts=texts)

    panels = {"right sums by number of digits, worst seed": lows} if lows else {}
    height = 0.5 + 0.22 * len(rows)
    return small_multiples(panels, paint, height=height, share=(False, False), scale="accuracy (%)")


def encodings_by_task(views: Sequence[RunView]) -> Figure | None:
    """Left, what was trained on; right, the average over longer lengths, in brackets where theory says nothing,
    framed where Table 1's mark holds in no seed: where some seed contradicts it, or none decides."""
    board = leaderboard(views)
    cells = {(label, task): cell for label, line in board.items() for task, cell in line.items()}
    labels, columns = list(board), tasks(board)

    def paint(axes: Axes, beyond: bool) -> None:
        found = {place: cell.beyond() if beyond else cell.learned for place, cell in cells.items()}
        values = {place: point.mean for place, point in found.items() if point}
        silent = {place for place, cell in cells.items() if beyond and mark(cell.first) is None}
        texts = {place: f"({value:.1f})" if place in silent else f"{value:.1f}" for place, value in values.items()}
        heat_map(axes, values, labels, columns, texts=texts)
        for (label, task), cell in cells.items():
            if beyond and (frame := _frame(cell)):
                corner = columns.index(task) - 0.46, labels.index(label) - 0.42
                axes.add_patch(Rectangle(corner, 0.92, 0.84, fill=False, linewidth=1.3, **frame))
        if silent:
            entry(axes, "(in brackets: theory says nothing)", linestyle="")

    panels = {"within training": False, "longer operands": True}
    height = 1.1 + 0.2 * len(labels)
    return small_multiples(panels, paint, height=height, share=(False, True), scale="accuracy (%)", legend="top")


def _frame(cell: Seeds) -> dict[str, Any] | None:
    """How a cell is framed whose mark holds in no seed."""
    marked, verdict = mark(cell.first), mark_tally(cell)
    if marked is None or verdict is None or HOLDS in verdict.words:
        return None
    if not verdict.refuted:
        return {"edgecolor": GREY, "linestyle": ":", "label": "undecided in every seed"}
    label, style = CONTRADICTED[marked]
    return {"edgecolor": COLOURS[1], "linestyle": style, "label": label}
