"""Figures of operands far longer than trained: accuracy by length, and by both operand lengths."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.far import pair_shares
from lengthwise.report.figures.curves import Curves, band, grouped, share, single_lengths
from lengthwise.report.figures.grids import add_scale
from lengthwise.report.figures.style import (
    BLACK,
    COLOURS,
    PALE,
    LineStyle,
    blues,
    key,
    panels,
    percent_axis,
    separate_panels,
    side_legend,
)

# A special set, and what its dots look like.
SETS = {"lopsided": "^", "carry": "s", "alternating": "D"}
STYLES: tuple[LineStyle, ...] = ("-", "--", ":")


def encoding_name(view: RunView) -> str:
    return view.encoding


def accuracy_far(views: Sequence[RunView]) -> Figure | None:
    """A line for each encoding over all tested lengths, with a band from the worst seed to the best."""
    groups = grouped(views, encoding_name)
    if not groups:
        return None
    figure, (axes,) = panels(1, columns=1, height=2.5)
    draw_trained(axes, next(iter(groups.values()))[0].view)
    handles = []
    for k, (label, seeds) in enumerate(groups.items()):
        colour, style = COLOURS[k % len(COLOURS)], STYLES[k // len(COLOURS)]
        _draw_lengths(axes, seeds, colour, style)
        handles.append(key(label, colour, style, "o"))
    special = [name for name in SETS if any(_of_set(seeds, name) for seeds in groups.values())]
    for k, seeds in enumerate(groups.values()):
        for name in special:
            found = _of_set(seeds, name)
            colour = COLOURS[k % len(COLOURS)]
            axes.plot(list(found), list(found.values()), SETS[name], color=colour, markersize=4, fillstyle="none")
    percent_axis(axes)
    axes.set_xlabel("digits of the longer operand (grey: trained)")
    axes.set_ylabel("right answers (%)")
    side_legend(figure, [*handles, *(key(name, BLACK, "", SETS[name]) for name in special)])
    return figure


def draw_trained(axes: Axes, view: RunView) -> None:
    """Lengths on a logarithmic axis, those of training shaded."""
    lengths = [domain.length for domain in single_lengths(view)]
    axes.set_xscale("log")
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    first = min(lengths) / 1.35
    axes.set_xlim(first, max(lengths) * 1.2)
    axes.axvspan(first, view.train.length, color=PALE, linewidth=0, zorder=0)


def pair_map(views: Sequence[RunView]) -> Figure | None:
    """For each task a map over both operand lengths, the trained square outlined."""
    groups = {label: seeds for label, seeds in grouped(views, _task).items() if pair_shares(seeds[0].view)}
    if not groups:
        return None
    figure, axes = separate_panels(len(groups), height=2.9)
    image = None
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        lengths, cells = pair_cells([curves.view for curves in seeds])
        edges = [0, *lengths]
        image = ax.pcolormesh(edges, edges, cells, cmap=blues(), vmin=0, vmax=100)
        trained = seeds[0].view.train.length
        ax.add_patch(Rectangle((0, 0), trained, trained, fill=False, edgecolor=COLOURS[1], linewidth=1.5))
        ax.set(title=label, xlim=(0, lengths[-1]), ylim=(0, lengths[-1]), aspect="equal")
        ax.set_xlabel("digits of b")
        ax.set_ylabel("digits of a")
    add_scale(figure, image, axes, "right answers (%)")
    return figure


def pair_cells(views: Sequence[RunView]) -> tuple[list[int], np.ndarray]:
    """The lengths, and percent by length of a (row) and of b: the mean over seeds. A cell reaches from the
    length below to its own."""
    shares = [pair_shares(view) for view in views]
    lengths = sorted({n for n, _ in shares[0]})
    cells = [[100 * fmean(own[n, m] for own in shares) for m in lengths] for n in lengths]
    return lengths, np.array(cells)


def _task(view: RunView) -> str:
    return f"{view.task} on {view.train}"


def _draw_lengths(axes: Axes, seeds: Sequence[Curves], colour: str, style: LineStyle) -> None:
    series = [
        {
            domain.length: 100 * share(record)
            for domain in single_lengths(curves.view)
            if (record := curves.last("exact", str(domain))) is not None
        }
        for curves in seeds
    ]
    # Lengths take the place of steps.
    spread = band(series)
    axes.plot(spread.steps, spread.mean, style, color=colour, marker="o", markersize=3)
    if len(seeds) > 1:
        axes.fill_between(spread.steps, spread.low, spread.high, color=colour, alpha=0.2, linewidth=0)


def _of_set(seeds: Sequence[Curves], name: str) -> dict[int, float]:
    """Percent by length on a special set, the mean over seeds."""
    found: dict[int, list[float]] = {}
    for curves in seeds:
        for domain in single_lengths(curves.view):
            record = curves.last("exact", f"D{domain.length}:{name}", TRUTH)
            if record is not None:
                found.setdefault(domain.length, []).append(100 * share(record))
    return {length: fmean(values) for length, values in found.items()}
