"""Figures of relative positions: sums upward by length and by carry chain, and longer products."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.beyond import chains
from lengthwise.report.figures.by_length import shade_trained
from lengthwise.report.figures.curves import Curves, grouped, share, single_lengths
from lengthwise.report.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    LineStyle,
    key,
    outer_labels,
    panels,
    percent_axis,
    side_legend,
    top_legend,
)
from lengthwise.theory.accuracy import accuracy
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.paper import window_bound

ENCODING_COLOURS = (*COLOURS, BLACK)
NAMES = ("right", "as windowed:n", "as windowed:n+1")
LINES: tuple[tuple[str, LineStyle], ...] = ((COLOURS[0], "-"), (COLOURS[1], ":"), (COLOURS[2], "--"))
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
            points = {domain.length: _percents(seeds, str(domain), reference) for domain in domains}
            draw_spread(ax, points, colour, style)
            lowest = min([lowest, *(value for values in points.values() for value in values)])
        _draw_bounds(ax, view, [domain for domain in domains if domain.length > n])
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
        ax.set_title(label)
    outer_labels(figure, "longest carry chain of a sum longer than trained", "right answers (%)")
    handles = [key("measured", COLOURS[0], "-", "o"), key("windowed:n+1", GREY, "--")]
    top_legend(figure, [*handles, key("windowed:n", COLOURS[1], ":")])
    return figure


def five_to_twenty(views: Sequence[RunView]) -> Figure | None:
    """A panel for each training set: right answers by length, a line for each encoding."""
    sets = grouped(views, lambda view: f"trained on {view.train}")
    if not sets:
        return None
    colours = _colours(views)
    figure, axes = panels(len(sets), columns=2, height=1.9)
    for ax, (label, runs) in zip(axes, sets.items(), strict=True):
        shade_trained(ax, runs[0].view)
        for encoding, seeds in grouped([c.view for c in runs], lambda view: view.encoding).items():
            domains = single_lengths(seeds[0].view)
            draw_spread(ax, {d.length: _percents(seeds, str(d)) for d in domains}, colours[encoding])
        percent_axis(ax)
        ax.set_title(label)
    outer_labels(figure, "length tested (grey: trained)", "right answers (%)")
    side_legend(figure, [key(encoding, colour, "-", "o") for encoding, colour in colours.items()])
    return figure


def products_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: right products by length, answered at once and with sums and carries written."""
    groups = grouped(views, lambda view: view.encoding)
    if not groups:
        return None
    trained = list(dict.fromkeys(str(view.train) for view in views))
    styles: dict[str, LineStyle] = dict(zip(trained, ("-", "--", ":"), strict=False))
    figure, axes = panels(len(groups), columns=4, height=1.35)
    for ax, (label, runs) in zip(axes, groups.items(), strict=True):
        for seeds in grouped([c.view for c in runs], lambda view: f"{view.layout} {view.train}").values():
            view = seeds[0].view
            colour = COLOURS[1] if view.layout == "scratchpad" else COLOURS[0]
            points = {d.length: _percents(seeds, str(d)) for d in single_lengths(view)}
            draw_spread(ax, points, colour, styles[str(view.train)])
        percent_axis(ax)
        ax.set_title(label)
    outer_labels(figure, "length tested", "right answers (%)")
    handles = [key("at once", COLOURS[0], "-", "o"), key("with sums and carries", COLOURS[1], "-", "o")]
    top_legend(figure, [*handles, *(key(f"trained on {name}", GREY, style) for name, style in styles.items())])
    return figure


def draw_spread(axes: Axes, points: Mapping[int, Sequence[float]], colour: str, style: LineStyle = "-") -> None:
    """The mean of seeds, with a band from the lowest to the highest."""
    there = {x: values for x, values in sorted(points.items()) if values}
    x = list(there)
    axes.plot(x, [fmean(v) for v in there.values()], color=colour, linestyle=style, marker="o", markersize=2.5)
    low, high = ([pick(v) for v in there.values()] for pick in (min, max))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _percents(seeds: Sequence[Curves], domain: str, reference: str = TRUTH) -> list[float]:
    found = (curves.last("exact", domain, reference) for curves in seeds)
    return [100 * share(record) for record in found if record is not None]


def _chain_percents(seeds: Sequence[Curves], chain: int) -> list[float]:
    found = (chains(curves.view, [chain]) for curves in seeds)
    return [100 * measured.share for measured in found if measured is not None]


def _encoding_and_domain(view: RunView) -> str:
    return f"{view.encoding}, {view.train}"


def _colours(views: Sequence[RunView]) -> dict[str, str]:
    return dict(zip(dict.fromkeys(view.encoding for view in views), ENCODING_COLOURS, strict=False))
