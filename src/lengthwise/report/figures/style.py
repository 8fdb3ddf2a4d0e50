"""The one look of all figures: sizes, fonts, colours that colour-blind readers tell apart, and files to save."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

LineStyle = Literal["-", "--", ":", ""]

WIDTH = 6.9
"""Inches: a page of two columns."""
LINE = 1.3
"""Points."""

# Okabe and Ito's colours, without the yellow, which is too pale for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
BLACK, GREY, PALE = "#000000", "#6B6B6B", "#E8E8E8"

LOOK: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "figure.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "svg.hashsalt": "lengthwise",  # ids inside an SVG are then the same each time
    "savefig.dpi": 200,
}


@contextmanager
def look() -> Iterator[None]:
    """Figures are drawn, and saved, inside this."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(LOOK)
        yield


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """NAME.svg and NAME.png, equal bytes for equal figures."""
    folder.mkdir(parents=True, exist_ok=True)
    vector, pixels = folder / f"{name}.svg", folder / f"{name}.png"
    with look():
        figure.savefig(vector, metadata={"Date": None, "Creator": None})
        figure.savefig(pixels, metadata={"Software": None})
    return vector, pixels


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels that share their axes, filled row by row; `height` is a row's."""
    columns = min(columns, count)
    figure, grid = _grid(-(-count // columns), columns, height)
    every = [axes for row in grid for axes in row]
    for unused in every[count:]:
        unused.remove()
    _tick_lowest(every[:count], columns)
    return figure, every[:count]


def paired_panels(
    count: int, columns: int, height: float, *, share_heights: bool = True
) -> tuple[Figure, list[tuple[Axes, Axes]]]:
    """Two panels for each of `count` things, one above the other."""
    columns = min(columns, count)
    figure, grid = _grid(2 * -(-count // columns), columns, height, share_heights)
    pairs = [pair for k in range(0, len(grid), 2) for pair in zip(grid[k], grid[k + 1], strict=True)]
    for unused in pairs[count:]:
        for axes in unused:
            axes.remove()
    _tick_lowest([below for _, below in pairs[:count]], columns)
    return figure, pairs[:count]


def side_by_side(height: float) -> tuple[Figure, tuple[Axes, Axes]]:
    """Two panels of equal heights over different things."""
    figure = Figure(figsize=(WIDTH, height + 0.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    return figure, (left, right)


def separate_panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """Panels side by side that share no axis."""
    figure = Figure(figsize=(WIDTH, height + 0.4), layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False)[0].tolist()


def square_panels(count: int, side: float) -> tuple[Figure, list[Axes]]:
    """Square panels side by side that share no axis, with room for a scale at the right: as wide as they need."""
    size = count * (side + 0.5) + 0.75, side + 0.6
    figure = Figure(figsize=size, layout="compressed")
    return figure, figure.subplots(1, count, squeeze=False, subplot_kw={"box_aspect": 1})[0].tolist()


def _grid(rows: int, columns: int, height: float, share_heights: bool = True) -> tuple[Figure, list[list[Axes]]]:
    figure = Figure(figsize=(WIDTH, rows * height + 0.4), layout="constrained")
    sharey = "row" if share_heights else False
    return figure, figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False).tolist()


def _tick_lowest(axes: Sequence[Axes], columns: int) -> None:
    """Above a hole in the last row, the panel that is then the lowest of its column shows its numbers."""
    for ax in axes[-columns:]:
        ax.tick_params(labelbottom=True)


def ordered_colours(count: int) -> list[str]:
    """Colours for an order, such as digits or lengths, from dark to light."""
    scale = mpl.colormaps["viridis"]
    return [to_hex(scale(0.9 * k / max(1, count - 1))) for k in range(count)]


def blues() -> Colormap:
    """White to dark blue, for shares."""
    return LinearSegmentedColormap.from_list("shares", ["#FFFFFF", COLOURS[4], COLOURS[0], "#00436B"])


def step_axis(axes: Axes) -> None:
    """1k for a thousand steps: room for few characters."""
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k" if step >= 1000 else f"{step:g}")


def percent_axis(axes: Axes) -> None:
    axes.set_ylim(-4, 104)
    axes.set_yticks([0, 50, 100])


def theory_line(axes: Axes, height: float, colour: str = GREY) -> None:
    """Where theory says that a curve ends."""
    axes.axhline(height, color=colour, linestyle=(0, (1, 1.5)), linewidth=1, zorder=1)


def outer_labels(figure: Figure, horizontal: str, vertical: str) -> None:
    """One name for each axis that all panels share."""
    figure.supxlabel(horizontal)
    figure.supylabel(vertical)


def nested_widths(count: int) -> list[float]:
    """For lines that may coincide: each is thinner than the one drawn before it, which then shows around it."""
    return [LINE + 0.9 * k for k in reversed(range(count))]


def marker_size(width: float) -> float:
    """So that the marker stands out from a line of that width."""
    return width + 1.2


def key(
    label: str, colour: str = GREY, style: LineStyle = "-", marker: str = "", *, width: float = LINE
) -> Line2D:
    """An entry of a legend."""
    look = {"marker": marker, "markersize": max(4, marker_size(width)), "linewidth": width}
    return Line2D([], [], color=colour, linestyle=style, label=label, **look)


def side_legend(figure: Figure, handles: Sequence[Line2D], title: str | None = None) -> None:
    figure.legend(handles=list(handles), title=title, loc="outside right center")


def top_legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    figure.legend(handles=list(handles), loc="outside upper center", ncols=len(handles), columnspacing=1.4)
