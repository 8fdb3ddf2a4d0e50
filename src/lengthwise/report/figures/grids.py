"""Figures of grids: which digits an answer depends on, and what regularization does beyond the trained lengths."""

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from lengthwise.records.verdicts import GATE
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, grouped, share, single_lengths
from lengthwise.report.figures.style import COLOURS, PALE, blues, paired_panels, panels
from lengthwise.theory.dependence import dependence_matrix

Grid = npt.NDArray[np.float64]
"""Percent, by row and column; what is not known is nan."""


def dependence(views: Sequence[RunView]) -> Figure | None:
    """For each run: above, how often changing a digit of a changed a digit of the answer; below, exactly."""
    groups = grouped(views, _task_and_domain)
    measured = {label: measured_dependence(seeds) for label, seeds in groups.items()}
    shown = {label: grid for label, grid in measured.items() if grid.size}
    if not shown:
        return None
    figure, pairs = paired_panels(len(shown), columns=4, height=1.3, share_heights=False)
    image = None
    for (above, below), (label, grid) in zip(pairs, shown.items(), strict=True):
        view = groups[label][0].view
        exact = exact_dependence(view, grid)
        rows = _changing_rows(grid, exact)
        image = _draw_dependence(above, grid[:rows], view)
        _draw_dependence(below, exact[:rows], view)
        above.set_title(label)
    for above, below in pairs[::4]:
        above.set_ylabel("measured:\nanswer digit")
        below.set_ylabel("exact:\nanswer digit")
    figure.supxlabel("digit of a that is changed (1 = units)")
    add_scale(figure, image, [axes for pair in pairs for axes in pair], "changed (%)")
    return figure


def regularization(views: Sequence[RunView]) -> Figure | None:
    """A grid for each task: agreement with theory's function on lengths beyond training."""
    groups = grouped(views, _task_and_domain)
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=4, height=1.7)
    image = None
    for ax, (label, runs) in zip(axes, groups.items(), strict=True):
        image = _draw_regularization(ax, runs)
        ax.set_title(label)
        ax.set_xlabel("dropout")
    axes[0].set_ylabel("weight decay")
    add_scale(figure, image, axes, "agreement (%)")
    return figure


def measured_dependence(seeds: Sequence[Curves]) -> Grid:
    """Row i - 1 and column j - 1: changes of answer digit i with digit j of a, the mean over seeds."""
    found: dict[tuple[int, int], list[float]] = {}
    for record in (record for curves in seeds for record in curves.view.records):
        if record.metric.startswith("depends:"):
            answer, operand = map(int, record.metric.split(":")[1:])
            found.setdefault((answer - 1, operand - 1), []).append(100 * share(record))
    grid = np.full([max((place[axis] + 1 for place in found), default=0) for axis in (0, 1)], np.nan)
    for place, values in found.items():
        grid[place] = fmean(values)
    return grid


def exact_dependence(view: RunView, measured: Grid) -> Grid:
    """The same of the function that theory says a run computes."""
    grid = np.full(measured.shape, np.nan)
    (row,) = view.spec.predictions([max(view.tests, key=lambda domain: domain.length)])
    if row.hypothesis is not None:
        matrix = dependence_matrix(view.task, row.hypothesis, measured.shape[1])
        for i, cells in enumerate(matrix[: len(grid)]):
            grid[i] = [np.nan if cell is None else float(100 * cell) for cell in cells]
        # The layout may be wider than the answers, and digits above them are always 0.
        grid[len(matrix) :] = 0
    return grid


def agreement_beyond(curves: Curves) -> float:
    """Percent, the mean over test domains longer than the trained ones; nan where theory says nothing of them."""
    rows = curves.view.spec.predictions(
        [d for d in single_lengths(curves.view) if d.length > curves.view.train.length]
    )
    found = [curves.last("exact", str(row.domain), str(row.hypothesis)) for row in rows]
    shares = [100 * share(record) for record in found if record is not None]
    return fmean(shares) if shares else np.nan


def _changing_rows(*grids: Grid) -> int:
    """Up to the highest answer digit that ever changes."""
    return 1 + max(int(np.max(np.nonzero(np.nan_to_num(grid).any(axis=1))[0], initial=0)) for grid in grids)


def _task_and_domain(view: RunView) -> str:
    return f"{view.task} on {view.train}"


def add_scale(figure: Figure, image: ScalarMappable | None, axes: Sequence[Axes], label: str) -> None:
    assert image is not None
    figure.colorbar(image, ax=list(axes), label=label, shrink=0.7, aspect=25, pad=0.02)


def _draw_grid(axes: Axes, grid: Grid) -> AxesImage:
    """Cells centred on their numbers, the first row at the bottom; unknown ones grey."""
    axes.set_facecolor(PALE)
    return axes.imshow(grid, cmap=blues(), vmin=0, vmax=100, aspect="auto", origin="lower")


def _draw_dependence(axes: Axes, grid: Grid, view: RunView) -> AxesImage:
    """Digits stand as they are written, units to the right; a line parts the trained ones from the rest."""
    image = _draw_grid(axes, grid)
    rows, columns = grid.shape
    axes.set_xlim(columns - 0.5, -0.5)
    axes.axvline(view.train.length - 0.5, color=COLOURS[1], linestyle="--", linewidth=1.2)
    _number(axes.set_xticks, columns)
    _number(axes.set_yticks, rows)
    return image


def _number(set_ticks: Callable[..., object], count: int) -> None:
    """Digits count from 1, cells from 0."""
    every = 1 if count < 6 else 2
    set_ticks(range(0, count, every), [str(k + 1) for k in range(0, count, every)])


def _draw_regularization(axes: Axes, runs: Sequence[Curves]) -> AxesImage:
    dropouts, decays = sorted({_dropout(c) for c in runs}), sorted({_decay(c) for c in runs})
    grid = np.full((len(decays), len(dropouts)), np.nan)
    for y, decay in enumerate(decays):
        for x, dropout in enumerate(dropouts):
            seeds = [c for c in runs if (_dropout(c), _decay(c)) == (dropout, decay)]
            if seeds:
                grid[y, x] = fmean(map(agreement_beyond, seeds))
                mark = "" if all(map(_converged, seeds)) else "*"
                ink = "white" if grid[y, x] > 50 else "black"
                axes.text(x, y, f"{grid[y, x]:.1f}{mark}", ha="center", va="center", color=ink, fontsize=7)
    axes.set_xticks(range(len(dropouts)), [f"{value:g}" for value in dropouts])
    axes.set_yticks(range(len(decays)), [f"{value:g}" for value in decays])
    axes.set_xticks(np.arange(0.5, len(dropouts) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(decays) - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    return _draw_grid(axes, grid)


def _converged(curves: Curves) -> bool:
    record = curves.last("exact", curves.own_domain)
    return record is not None and share(record) >= GATE


def _dropout(curves: Curves) -> float:
    return curves.view.config["model"]["dropout"]


def _decay(curves: Curves) -> float:
    return curves.view.config["training"]["weight_decay"]
