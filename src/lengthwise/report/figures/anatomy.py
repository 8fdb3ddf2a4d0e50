"""Figures of why long answers are right or wrong: first wrong digit, margin and attention by length."""

from collections.abc import Callable, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lengthwise.arithmetic import Domain
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, grouped, share, single_lengths
from lengthwise.report.figures.far import draw_trained
from lengthwise.report.figures.seeds import encoding_name
from lengthwise.report.figures.style import (
    COLOURS,
    GREY,
    LineStyle,
    key,
    ordered_colours,
    outer_labels,
    panels,
    percent_axis,
    side_legend,
    theory_line,
    top_legend,
)

TENTHS = 10
END = TENTHS + 1
"""Where a first wrong token is drawn that is no digit."""

HEAD_STYLES: tuple[LineStyle, ...] = ("-", "--", ":")


def first_wrong(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding, a line for each length: in which tenth of the answer the first wrong digit is."""
    groups = _with(views, lambda curves, domain: _tenths(curves, domain) is not None)
    if not groups:
        return None
    lengths = sorted({d.length for seeds in groups.values() for d in single_lengths(seeds[0].view)})
    colours = dict(zip(lengths, ordered_colours(len(lengths)), strict=True))
    figure, axes = _panels(len(groups))
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        for domain in single_lengths(seeds[0].view):
            found = [tenths for curves in seeds if (tenths := _tenths(curves, domain))]
            if found:
                mean = [fmean(column) for column in zip(*found, strict=True)]
                ax.plot(range(1, END + 1), mean, color=colours[domain.length], marker="o", markersize=2)
        percent_axis(ax)
        ax.set_xticks([1, 5, END], ["1", "5", "end"])
        ax.set_title(label)
    outer_labels(figure, "tenth of the answer, from the digit written first", "of wrong answers (%)")
    side_legend(figure, [key(f"{n} digits", colours[n], "-", "o") for n in lengths])
    return figure


def margin_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: the smallest margin along an answer, on average and in the lowest tenth."""
    groups = _with(views, lambda curves, domain: curves.last("margin_mean", str(domain)) is not None)
    if not groups:
        return None
    figure, axes = _panels(len(groups))
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        draw_trained(ax, seeds[0].view)
        theory_line(ax, 0)
        for metric, colour in (("margin_mean", COLOURS[0]), ("margin_low", COLOURS[1])):
            _draw_value(ax, seeds, metric, colour)
        ax.set_title(label)
    outer_labels(figure, "digits of the longer operand (grey: trained)", "smallest margin of an answer")
    top_legend(figure, [key("mean", COLOURS[0], "-", "o"), key("lowest tenth of answers", COLOURS[1], "-", "o")])
    return figure


def attention_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding, a line for each head: how much of its attention lies on the digits needed, and
    the largest weight on any token."""
    groups = _with(views, lambda curves, domain: bool(_heads(curves, domain)))
    if not groups:
        return None
    figure, axes = _panels(len(groups))
    shown: dict[tuple[int, int], tuple[str, LineStyle]] = {}
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        draw_trained(ax, seeds[0].view)
        for layer, head in _heads(seeds[0], single_lengths(seeds[0].view)[0]):
            style = COLOURS[(layer - 1) % len(COLOURS)], HEAD_STYLES[(head - 1) % len(HEAD_STYLES)]
            shown[layer, head] = style
            _draw_value(ax, seeds, f"on_column:{layer}:{head}", *style, scale=100, marker="o")
            _draw_value(ax, seeds, f"attention:{layer}:{head}", *style, scale=100, marker="x")
        percent_axis(ax)
        ax.set_title(label)
    outer_labels(figure, "digits of the longer operand (grey: trained)", "share of attention (%)")
    heads = [key(f"layer {layer}, head {head}", *style) for (layer, head), style in sorted(shown.items())]
    side_legend(figure, [*heads, key("on digits needed", GREY, "", "o"), key("largest weight", GREY, "", "x")])
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    return panels(count, columns=4, height=2.2 if count == 1 else 1.4)


def _with(views: Sequence[RunView], holds: Callable[[Curves, Domain], bool]) -> dict[str, list[Curves]]:
    """Encodings whose runs hold what is shown."""
    found: dict[str, list[Curves]] = {}
    for label, seeds in grouped(views, encoding_name).items():
        those = [curves for curves in seeds if any(holds(curves, d) for d in single_lengths(curves.view))]
        if those:
            found[label] = those
    return found


def _tenths(curves: Curves, domain: Domain) -> list[float] | None:
    """Percent of wrong answers by where the first wrong token is; None where no answer is wrong."""
    metrics = [*(f"first_wrong_tenth:{tenth}" for tenth in range(1, END)), "wrong_end"]
    found = [curves.last(metric, str(domain)) for metric in metrics]
    return None if found[0] is None else [100 * share(record) for record in found if record is not None]


def _heads(curves: Curves, domain: Domain) -> list[tuple[int, int]]:
    """Layers and heads that are told, both from 1 on."""
    found: list[tuple[int, int]] = []
    layer = head = 1
    while curves.last(f"attention:{layer}:{head}", str(domain)) is not None:
        while curves.last(f"attention:{layer}:{head}", str(domain)) is not None:
            found.append((layer, head))
            head += 1
        layer, head = layer + 1, 1
    return found


def _draw_value(
    axes: Axes,
    seeds: Sequence[Curves],
    metric: str,
    colour: str,
    style: LineStyle = "-",
    *,
    scale: float = 1,
    marker: str = "o",
) -> None:
    """The mean over seeds, by length."""
    points: list[tuple[int, float]] = []
    for domain in single_lengths(seeds[0].view):
        records = [curves.last(metric, str(domain)) for curves in seeds]
        values = [scale * record.value for record in records if record is not None and record.value is not None]
        if values:
            points.append((domain.length, fmean(values)))
    if points:
        axes.plot(
            *zip(*points, strict=True), color=colour, linestyle=style, marker=marker, markersize=3, linewidth=1
        )
