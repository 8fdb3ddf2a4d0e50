"""Figures of why long answers are right or wrong: first wrong digit, margin and attention by length."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

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

COLUMNS = 4
TENTHS = 10
END = TENTHS + 1
"""Where a first wrong token is drawn that is no digit."""

SHARES: tuple[tuple[str, str, LineStyle, str], ...] = (
    ("on_column", "on digits needed", "-", "o"),
    ("attention", "largest weight", "--", "x"),
)
"""Measurements of a head: metric, name, and how they are drawn."""

HEADS = 4
"""So many of a layer, those with most attention on the digits needed: more lines would hide one another."""
FAIR = 0.2
"""A layer is drawn where one of its heads has this share on the digits needed, at the shortest length."""


class Head(NamedTuple):
    curves: Curves
    layer: int
    number: int
    """From 1 on, as the layer."""
    needed: float
    """The share of its attention on the digits needed, at the shortest length tested."""


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
    """A panel for each run and layer that looks there, a colour for each head: how much of its attention lies on
    the digits needed, and the largest weight on any token.

    What one seed's head 1 does, head 3 of another may do: no two runs are averaged, and colours go by rank.
    """
    groups = _with(views, lambda curves, domain: curves.last("on_column:1:1", str(domain)) is not None)
    if not groups:
        return None
    shown = [panel for label, seeds in groups.items() for panel in _titled_heads(label, seeds)]
    colours = COLOURS[: max(len(heads) for _, heads in shown)]
    figure, axes = _panels(len(shown))
    for ax, (title, heads) in zip(axes, shown, strict=True):
        draw_trained(ax, heads[0].curves.view)
        for rank, head in enumerate(heads):
            # Where heads do alike, the thinner line shows on the wider one.
            look = {"scale": 100, "width": 1 + 0.3 * (len(heads) - 1 - rank)}
            for metric, _, style, marker in SHARES:
                name = f"{metric}:{head.layer}:{head.number}"
                _draw_value(ax, [head.curves], name, colours[rank], style, marker=marker, **look)
        percent_axis(ax)
        ax.set_title(title)
    outer_labels(figure, "digits of the longer operand (grey: trained)", "share of attention (%)")
    ranks = [key(_rank_name(rank), colour) for rank, colour in enumerate(colours, start=1)]
    top_legend(figure, [*(key(name, GREY, style, marker) for _, name, style, marker in SHARES), *ranks])
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    return panels(count, columns=COLUMNS, height=2.2 if count <= COLUMNS else 1.4)


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


def _titled_heads(label: str, seeds: Sequence[Curves]) -> Iterator[tuple[str, list[Head]]]:
    """For each run of an encoding and each layer that is drawn, what tells it apart and its heads."""
    for curves in seeds:
        layers = [ranked_heads(curves, layer) for layer in curves.numbered("on_column")]
        for heads in _looking(layers):
            seed = [f"seed {curves.view.seed}"] if len(seeds) > 1 else []
            its_layer = [f"layer {heads[0].layer}"] if len(layers) > 1 else []
            yield "\n".join(filter(None, (label, ", ".join(seed + its_layer)))), heads[:HEADS]


def _looking(layers: Sequence[list[Head]]) -> list[list[Head]]:
    """Those in which a head looks at the digits needed; where none does, the one that comes closest."""
    fair = [heads for heads in layers if heads[0].needed >= FAIR]
    return fair or [max(layers, key=lambda heads: heads[0].needed)]


def ranked_heads(curves: Curves, layer: int) -> list[Head]:
    """First the one that has the most attention on the digits needed, at the shortest length tested."""
    shortest = str(single_lengths(curves.view)[0])
    found: list[Head] = []
    while (record := curves.last(f"on_column:{layer}:{len(found) + 1}", shortest)) is not None:
        assert record.value is not None
        found.append(Head(curves, layer, len(found) + 1, record.value))
    return sorted(found, key=lambda head: -head.needed)


def _rank_name(rank: int) -> str:
    return {1: "head with most there", 2: "2nd", 3: "3rd"}.get(rank, f"{rank}th")


def _draw_value(
    axes: Axes,
    seeds: Sequence[Curves],
    metric: str,
    colour: str,
    style: LineStyle = "-",
    *,
    scale: float = 1,
    marker: str = "o",
    width: float = 1,
) -> None:
    """The mean over seeds, by length."""
    points: list[tuple[int, float]] = []
    for domain in single_lengths(seeds[0].view):
        records = [curves.last(metric, str(domain)) for curves in seeds]
        values = [scale * record.value for record in records if record is not None and record.value is not None]
        if values:
            points.append((domain.length, fmean(values)))
    if points:
        look = {"marker": marker, "markersize": 2 + width, "linewidth": width}
        axes.plot(*zip(*points, strict=True), color=colour, linestyle=style, **look)
