"""Figures from records: `FIGURES` lists them, `draw` makes one from runs, `save` writes SVG and PNG. And their
common parts in matplotlib: panels, lines of seeds, heat maps, axes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import MaxNLocator, NullLocator

from lengthwise.errors import InputError, unknown
from lengthwise.recipes import FIGURES as FIGURES
from lengthwise.recipes import RECIPES, Figure, of_rows
from lengthwise.records.view import RunView
from lengthwise.report.queries import Points, single_lengths

T = TypeVar("T")

WIDTH = 6.9
"""Width of a figure in inches: a page of two columns."""
LINE = 1.3
"""Width of a line in points."""

# Okabe and Ito's colours, without the yellow, which is too pale for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
BLACK, GREY, PALE = "#000000", "#6B6B6B", "#E8E8E8"
BLUES = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", COLOURS[4], COLOURS[0], "#00436B"])
"""White to dark blue, for shares."""

LOOK = Path(__file__).with_name("lengthwise.mplstyle")
PERCENT = (-4.0, 104.0)
"""Limits of a percent axis, with room for marks at both ends."""

ONE_LINE = 110
"""Characters of a legend above a figure that fit into one line."""

CLOSEST = 1.3
"""Smallest ratio of two lengths that are both labelled on a logarithmic axis: closer labels would touch."""


OF_A_RUN = {
    "lengths": "lengths.accuracy_by_length",
    "training": "training.accuracy_by_domain",
    "digits": "training.own_digit_accuracy",
    "dependence": "training.dependence",
}


def draw_run(view: RunView, name: str) -> Picture:
    """The figure `name` of one run."""
    if name not in OF_A_RUN:
        raise unknown("figure", name, OF_A_RUN)
    with look():
        picture = resolve_name(f"{__name__}.{OF_A_RUN[name]}")([view])
    if picture is None:
        raise InputError(f"{view.source.path} has no records for the figure {name!r}")
    return picture


def draw(figure: Figure, views: Iterable[RunView]) -> Picture | None:
    """A figure from those of these runs that belong to its rows; None if they do not have the records for it."""
    wanted = sorted(of_rows(RECIPES[figure.of].rows, views), key=_place)
    with look():
        return resolve_name(f"{__name__}.{figure.drawn_by}")(wanted) if wanted else None


def _place(view: RunView) -> tuple[str, int, bool, int, int]:
    """The order of panels and legends: by task, modulus and training domain, D4 before D5 before D4+D5."""
    task, train = view.task, view.train
    return task.operation, task.modulus or 0, len(train.parts) > 1, train.length, view.seed


def look() -> AbstractContextManager[None]:
    """The common style, in which figures are drawn and saved: matplotlib's defaults, and LOOK."""
    return mpl.rc_context(fname=LOOK)


def save(figure: Picture, folder: Path, name: str) -> tuple[Path, Path]:
    """Write NAME.svg and NAME.png, equal bytes for equal figures."""
    folder.mkdir(parents=True, exist_ok=True)
    vector, pixels = folder / f"{name}.svg", folder / f"{name}.png"
    with look():
        figure.savefig(vector, metadata={"Date": None, "Creator": None})
        figure.savefig(pixels, metadata={"Software": None})
    return vector, pixels


# Panels --------------------------------------------------------------------------------------------------------


def small_multiples(
    groups: Mapping[str, Any],
    paint: Callable[..., object],
    *,
    x: str = "",
    y: str | Sequence[str] = "",
    columns: int = 4,
    height: float = 1.35,
    stack: int = 1,
    share: tuple[Any, Any] = (True, "row"),
    limits: tuple[float, float] | None = PERCENT,
    legend: str = "",
    scale: str = "",
) -> Picture | None:
    """One panel per group with its name, filled by `paint(axes, group)`; None without groups.

    `height` is that of a panel, in inches. With `stack` 2, each group has two panels, one above the other: `paint`
    gets both, and `y` names each. `share` says which panels share x and y axes. The y axes have `limits`, except
    in heat maps, whose colours `scale` names. The legend, at the `top` or the `side`, has everything drawn with a
    label.
    """
    if not groups:
        return None
    columns = min(columns, len(groups))
    rows = stack * -(-len(groups) // columns)
    figure = Picture(figsize=(WIDTH, rows * height + 0.4), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=share[0], sharey=share[1], squeeze=False)
    stacks = [own for k in range(0, rows, stack) for own in zip(*grid[k : k + stack], strict=True)]
    for unused in (ax for axes in stacks[len(groups) :] for ax in axes):
        unused.remove()
    stacks = stacks[: len(groups)]
    for axes in stacks[-columns:]:
        # A panel above a gap in the last row is the lowest of its column and shows its tick labels.
        axes[-1].tick_params(labelbottom=True)
    for axes, (title, group) in zip(stacks, groups.items(), strict=True):
        paint(*axes, group)
        axes[0].set_title(title)
        if limits and not scale:
            for ax in axes:
                set_limits(ax, *limits)
    figure.supxlabel(x)
    if isinstance(y, str):
        figure.supylabel(y)
    else:
        for axes in stacks[::columns]:
            for ax, name in zip(axes, y, strict=True):
                ax.set_ylabel(name)
    if scale:
        add_scale(figure, scale)
    if legend:
        add_legend(figure, legend)
    return figure


def add_legend(figure: Picture, place: str) -> None:
    """Add a legend with each label of any panel once."""
    found = [ax.get_legend_handles_labels() for ax in figure.axes]
    entries = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    own = list(entries.values()), list(entries)
    if place == "side":
        figure.legend(*own, loc="outside right center")
    else:
        columns = len(entries) if len("".join(entries)) < ONE_LINE else 2
        figure.legend(*own, ncols=columns, loc="outside upper center", columnspacing=1.4)


def add_scale(figure: Picture, label: str) -> None:
    """Add the colour scale of all heat maps."""
    maps = [found for ax in figure.axes for found in (*ax.images, *ax.collections)]
    clipped = "min" if maps[0].norm.vmin else "neither"
    figure.colorbar(maps[0], ax=figure.axes, label=label, shrink=0.7, aspect=25, pad=0.02, extend=clipped)


# What is drawn in a panel --------------------------------------------------------------------------------------


def draw_line(
    axes: Axes, points: Points, colour: str = COLOURS[0], style: str = "-", *, width: float = LINE, **more: Any
) -> None:
    """Draw the mean over seeds, with a band from the lowest to the highest."""
    mean, low, high = np.array([*points.values()]).reshape(-1, 3).T
    look = {"color": colour, "linestyle": style, "linewidth": width, "markersize": width + 1.2, **more}
    axes.plot(list(points), mean, **look)
    if (low < high).any():
        axes.fill_between(list(points), low, high, color=colour, alpha=0.15, linewidth=0)


def draw_training(axes: Axes, points: Points, *look: Any, **more: Any) -> None:
    """Draw seeds by training step, with 1k for a thousand to save space."""
    draw_line(axes, points, *look, **more)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k" if step >= 1000 else f"{step:g}")


def draw_bars(
    axes: Axes, points: Points, colour: str, style: str = "", *, shift: float = 0, label: str = ""
) -> None:
    """Draw dots with bars from the lowest to the highest; `shift` moves them sideways so that none is hidden."""
    mean, low, high = np.array([*points.values()]).reshape(-1, 3).T
    look = {"color": colour, "linestyle": style, "marker": "o", "markersize": 3, "linewidth": 1}
    ends = np.maximum(0, [mean - low, high - mean])
    axes.errorbar([x + shift for x in points], mean, yerr=ends, elinewidth=0.9, **look)
    entry(axes, label, **look)


def heat_map(
    axes: Axes,
    cells: Mapping[tuple[Any, Any], float],
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    texts: Mapping[tuple[Any, Any], str] | None = None,
    upward: bool = False,
    least: float = 0,
) -> None:
    """Draw percentages by row and column, with texts; unknown ones are grey. The first row is at the top, or with
    `upward` at the bottom. What is at most `least` is white."""
    grid = np.array([[cells.get((row, column), np.nan) for column in columns] for row in rows])
    axes.set_facecolor(PALE)
    axes.imshow(grid, cmap=BLUES, vmin=least, vmax=100, aspect="auto", origin="lower" if upward else "upper")
    for ticks, names in ((axes.set_xticks, columns), (axes.set_yticks, rows)):
        ticks(range(len(names)), [f"{name:g}" if isinstance(name, float) else str(name) for name in names])
    for (row, column), text in (texts or {}).items():
        if row in rows:
            ink = "white" if cells[row, column] > (least + 100) / 2 else "black"
            place = columns.index(column), rows.index(row)
            axes.text(*place, text, ha="center", va="center", fontsize=6, color=ink)


def theory_line(axes: Axes, height: float, colour: str = GREY, label: str = "") -> None:
    """Draw a line where theory says that a curve ends."""
    axes.axhline(height, color=colour, linestyle=(0, (1, 1.5)), linewidth=1, zorder=1)
    entry(axes, label, color=GREY, linestyle=":")


def entry(axes: Axes, label: str, **look: Any) -> None:
    """Add an entry to the legend only."""
    axes.plot([], [], label=label, **look)


def ordered_colours(items: Collection[T]) -> dict[T, str]:
    """Colours from dark to light for ordered items, such as digits or lengths."""
    scale = mpl.colormaps["viridis"]
    return {item: to_hex(scale(0.9 * k / max(1, len(items) - 1))) for k, item in enumerate(items)}


# Axes ----------------------------------------------------------------------------------------------------------


def set_limits(axes: Axes, low: float, high: float) -> None:
    axes.set_ylim(low, high)
    if (low, high) == PERCENT:
        axes.set_yticks([0, 50, 100])


def length_axis(axes: Axes, view: RunView, *, shaded: bool = True) -> None:
    """An x axis with every tested length, the trained ones shaded."""
    lengths = [domain.length for domain in single_lengths(view)]
    axes.set_xlim(min(lengths) - 0.6, max(lengths) + 0.6)
    if len(lengths) < 12:
        axes.set_xticks(lengths)
    for part in view.train.parts if shaded else ():
        axes.axvspan(part.length - 0.5, part.length + 0.5, color=PALE, linewidth=0, zorder=0)


def far_axis(axes: Axes, view: RunView) -> None:
    """A logarithmic x axis of lengths, the trained ones shaded."""
    lengths = [domain.length for domain in single_lengths(view)]
    named, first = far_apart(lengths), min(lengths) / 1.35
    axes.set_xscale("log")
    axes.set_xticks(lengths, [str(length) if length in named else "" for length in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(first, max(lengths) * 1.2)
    axes.axvspan(first, view.train.length, color=PALE, linewidth=0, zorder=0)


def far_apart(lengths: Sequence[int]) -> list[int]:
    """The lengths to label, from the longest down, each far enough from the one before.

    >>> far_apart([20, 30, 40, 50, 100])
    [100, 50, 30, 20]
    """
    named = [lengths[-1]]
    for length in reversed(lengths):
        if named[-1] / length >= CLOSEST:
            named.append(length)
    return named
