"""Figures of operands far longer than trained: accuracy by length, and by both operand lengths."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, grouped, single_lengths
from lengthwise.report.figures.grids import add_scale
from lengthwise.report.figures.seeds import draw_spread, encoding_name, last_percents
from lengthwise.report.figures.style import (
    COLOURS,
    PALE,
    blues,
    key,
    nested_widths,
    outer_labels,
    panels,
    percent_axis,
    side_legend,
    square_panels,
    top_legend,
)
from lengthwise.report.recipe_tables import pair_shares

ANSWERS = {"add": "sums", "mul": "products"}
KINDS = {"random operands": "", **{name: f":{name}" for name in ("lopsided", "carry", "alternating")}}
"""Of problems, and how the domains of their records end."""
CLOSEST = 1.3
"""Of lengths on a logarithmic axis whose quotient is less, one alone is named: the names would touch."""
NAME_WIDTH = 18
"""Characters of a line: the name of an encoding that is longer goes on below, and leaves the panels their room."""


def accuracy_far(views: Sequence[RunView]) -> Figure | None:
    """Lines over all tested lengths, of random operands and of each special set: a panel for each of these, or, of
    several encodings, a panel for each encoding. Those that fail alike would hide one another in one panel."""
    groups = grouped(views, encoding_name)
    if not groups:
        return None
    kinds = [kind for kind in KINDS if any(_has_some(_by_length(seeds, kind)) for seeds in groups.values())]
    figure = _panel_each_encoding(groups, kinds) if len(groups) > 1 else _panel_each_kind(groups, kinds)
    outer_labels(figure, "digits of the longer operand (grey: trained)", "right answers (%)")
    return figure


def _panel_each_kind(groups: Mapping[str, Sequence[Curves]], kinds: Sequence[str]) -> Figure:
    ((label, seeds),) = groups.items()
    figure, axes = panels(len(kinds), columns=2, height=2.5 if len(kinds) == 1 else 1.7)
    for ax, kind in zip(axes, kinds, strict=True):
        draw_trained(ax, seeds[0].view)
        draw_spread(ax, _by_length(seeds, kind), COLOURS[0])
        percent_axis(ax)
        ax.set_title(kind)
    side_legend(figure, [key(fill(label, NAME_WIDTH), COLOURS[0], "-", "o")])
    return figure


def _panel_each_encoding(groups: Mapping[str, Sequence[Curves]], kinds: Sequence[str]) -> Figure:
    figure, axes = panels(len(groups), columns=4, height=1.5)
    looks = list(zip(kinds, COLOURS, nested_widths(len(kinds)), strict=False))
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        draw_trained(ax, seeds[0].view)
        for kind, colour, width in looks:
            draw_spread(ax, _by_length(seeds, kind), colour, width=width)
        percent_axis(ax)
        ax.set_title(fill(label, NAME_WIDTH))
    top_legend(figure, [key(kind, colour, "-", "o", width=width) for kind, colour, width in looks])
    return figure


def _by_length(seeds: Sequence[Curves], kind: str) -> dict[int, list[float]]:
    return {d.length: last_percents(seeds, f"{d}{KINDS[kind]}") for d in single_lengths(seeds[0].view)}


def _has_some(points: Mapping[int, Sequence[float]]) -> bool:
    return any(points.values())


def draw_trained(axes: Axes, view: RunView) -> None:
    """Lengths on a logarithmic axis, those of training shaded."""
    lengths = [domain.length for domain in single_lengths(view)]
    axes.set_xscale("log")
    axes.set_xticks(lengths, [str(length) if length in _named(lengths) else "" for length in lengths])
    axes.xaxis.set_minor_locator(NullLocator())
    first = min(lengths) / 1.35
    axes.set_xlim(first, max(lengths) * 1.2)
    axes.axvspan(first, view.train.length, color=PALE, linewidth=0, zorder=0)


def _named(lengths: Sequence[int]) -> list[int]:
    """From the longest down, those that are far enough from the one named before.

    >>> _named([20, 30, 40, 50, 100])
    [100, 50, 30, 20]
    """
    named = [lengths[-1]]
    for length in reversed(lengths):
        if named[-1] / length >= CLOSEST:
            named.append(length)
    return named


def pair_map(views: Sequence[RunView]) -> Figure | None:
    """For each task a map over both operand lengths, the trained square outlined."""
    groups = {label: seeds for label, seeds in grouped(views, _task).items() if pair_shares(seeds[0].view)}
    if not groups:
        return None
    figure, axes = square_panels(len(groups), side=2.55)
    image = None
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        lengths, cells = pair_cells([curves.view for curves in seeds])
        edges = [0, *lengths]
        image = ax.pcolormesh(edges, edges, cells, cmap=blues(), vmin=0, vmax=100)
        _outline(ax, seeds[0].view.train.length)
        ax.set(title=label, xlim=(0, lengths[-1]), ylim=(0, lengths[-1]))
        ax.set_xlabel("digits of b")
        ax.set_ylabel("digits of a")
    add_scale(figure, image, axes, "right answers (%)")
    return figure


def _outline(axes: Axes, length: int) -> None:
    """The trained square, all of it: its lower and left edges lie on the axes."""
    square = Rectangle((0, 0), length, length, fill=False, edgecolor=COLOURS[1], linewidth=1.5)
    square.set(clip_on=False, zorder=3)
    axes.add_patch(square)


def pair_cells(views: Sequence[RunView]) -> tuple[list[int], np.ndarray]:
    """The lengths, and percent by length of a (row) and of b: the mean over seeds. A cell reaches from the
    length below to its own."""
    shares = [pair_shares(view) for view in views]
    lengths = sorted({n for n, _ in shares[0]})
    cells = [[100 * fmean(own[n, m] for own in shares) for m in lengths] for n in lengths]
    return lengths, np.array(cells)


def _task(view: RunView) -> str:
    return f"{ANSWERS[view.task.operation]}, trained on up to {view.train.length} digits"
