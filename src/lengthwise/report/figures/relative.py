"""Figures of relative positions: sums upward by length and by carry chain, and longer products."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from lengthwise.arithmetic import Domain
from lengthwise.recipes.claims import chains
from lengthwise.recipes.relative import has_steps
from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.figures.by_length import shade_trained
from lengthwise.report.figures.curves import Curves, grouped, single_lengths
from lengthwise.report.figures.seeds import draw_spread, encoding_name, last_percents
from lengthwise.report.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    LineStyle,
    key,
    outer_labels,
    panels,
    percent_axis,
    top_legend,
)
from lengthwise.theory.accuracy import accuracy
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.paper import window_bound

NAMES = ("right", "as windowed:n", "as windowed:n+1")
Look = tuple[str, LineStyle]
"""Colour and style of a line."""
LINES: tuple[Look, ...] = ((COLOURS[0], "-"), (COLOURS[1], ":"), (COLOURS[2], "--"))
"""Lines that mostly lie on each other: each can be seen through the gaps of the next."""


def sums_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding and training length: right answers, and agreement with both windows."""
    groups = grouped(views, _encoding_and_domain)
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=4, height=1.35)
    lowest = 100.0
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        view = seeds[0].view
        n, domains = view.train.length, single_lengths(view)
        shade_trained(ax, view)
        for reference, (colour, style) in zip((TRUTH, f"windowed:{n}", f"windowed:{n + 1}"), LINES, strict=True):
            points = {domain.length: last_percents(seeds, str(domain), reference) for domain in domains}
            draw_spread(ax, points, colour, style)
            lowest = min([lowest, *(value for values in points.values() for value in values)])
        _draw_bounds(ax, view, [domain for domain in domains if domain.length > n])
        _length_axis(ax)
        ax.set_title(label)
    for ax in axes:
        ax.set_ylim(max(-4.0, lowest - 3), 101)
    outer_labels(figure, "length tested (grey: trained)", "answers (%)")
    top_legend(
        figure,
        [
            *(key(name, *line, "o") for name, line in zip(NAMES, LINES, strict=True)),
            key("exact, windowed:n+1", GREY, "--"),
            key("the paper's bound", BLACK, ":"),
        ],
    )
    return figure


def _draw_bounds(axes: Axes, view: RunView, longer: Sequence[Domain]) -> None:
    """How often the rule's window is right, and how often the paper says a model is at least."""
    n, lengths = view.train.length, [domain.length for domain in longer]
    window = Hypothesis("windowed", n + 1)
    axes.plot(lengths, [float(100 * accuracy(view.task, window, d)) for d in longer], color=GREY, linestyle="--")
    bound = float(100 * (1 - window_bound(view.task.base, n)))
    axes.plot(lengths, [bound] * len(lengths), color=BLACK, linestyle=":", linewidth=1)


def sums_by_chain(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding and training length: right answers to longer sums, by longest carry chain."""
    groups = {
        label: seeds for label, seeds in grouped(views, _encoding_and_domain).items() if seeds[0].numbered("chain")
    }
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=4, height=1.35)
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        n, lengths = seeds[0].view.train.length, seeds[0].numbered("chain")
        draw_spread(ax, {k: _chain_percents(seeds, k) for k in lengths}, COLOURS[0])
        for window, colour, style in ((n + 1, GREY, "--"), (n, COLOURS[1], ":")):
            cliff = [100 * (k < window) for k in lengths]
            ax.step(lengths, cliff, where="mid", color=colour, linestyle=style, linewidth=1)
        percent_axis(ax)
        _length_axis(ax)
        ax.set_title(label)
    outer_labels(figure, "longest carry chain of a sum longer than trained", "right answers (%)")
    handles = [key("measured", COLOURS[0], "-", "o"), key("windowed:n+1", GREY, "--")]
    top_legend(figure, [*handles, key("windowed:n", COLOURS[1], ":")])
    return figure


def five_to_twenty(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: right sums by length, a line for each training set."""
    looks: dict[str, Look] = dict(zip(_trained_on(views), ((COLOURS[0], "-"), (COLOURS[1], "--")), strict=False))
    return _by_encoding(
        views,
        lambda view: looks[str(view.train)],
        [key(f"trained on {name}", *look, "o") for name, look in looks.items()],
    )


def products_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: right products by length, answered at once and with sums and carries written."""
    styles: dict[str, LineStyle] = dict(zip(_trained_on(views), ("-", "--", ":"), strict=False))
    ways = {"at once": COLOURS[0], "with sums and carries": COLOURS[1]}
    at_once, with_steps = ways.values()
    return _by_encoding(
        views,
        lambda view: (with_steps if has_steps(view) else at_once, styles[str(view.train)]),
        [
            *(key(name, colour, "-", "o") for name, colour in ways.items()),
            *(key(f"trained on {name}", GREY, style) for name, style in styles.items()),
        ],
    )


def _by_encoding(
    views: Sequence[RunView], look: Callable[[RunView], Look], legend: Sequence[Line2D]
) -> Figure | None:
    """A panel for each encoding: right answers by length, a line for runs that look alike."""
    groups = grouped(views, encoding_name)
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=4, height=1.35)
    for ax, (label, runs) in zip(axes, groups.items(), strict=True):
        for seeds in grouped([curves.view for curves in runs], lambda view: str(look(view))).values():
            points = {d.length: last_percents(seeds, str(d)) for d in single_lengths(seeds[0].view)}
            draw_spread(ax, points, *look(seeds[0].view))
        percent_axis(ax)
        _length_axis(ax)
        ax.set_title(label)
    outer_labels(figure, "length tested", "right answers (%)")
    top_legend(figure, legend)
    return figure


def _trained_on(views: Sequence[RunView]) -> list[str]:
    return list(dict.fromkeys(str(view.train) for view in views))


def _length_axis(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _chain_percents(seeds: Sequence[Curves], chain: int) -> list[float]:
    found = (chains(curves.view, [chain]) for curves in seeds)
    return [100 * measured.share for measured in found if measured is not None]


def _encoding_and_domain(view: RunView) -> str:
    return f"{view.spec.positions}, {view.train}"
