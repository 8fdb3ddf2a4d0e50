"""Figures of the last evaluation, length by length: beside exact predictions, and the counterexample."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import Record
from lengthwise.records.verdicts import interval
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, by_training_set, grouped, row_label, share, single_lengths
from lengthwise.report.figures.style import (
    COLOURS,
    GREY,
    PALE,
    key,
    outer_labels,
    panels,
    percent_axis,
    side_legend,
    top_legend,
)
from lengthwise.theory.carries import digit_share


def accuracy_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each row of a table: what was measured, with 95 % intervals, and what theory says."""
    groups = grouped(views, row_label)
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=4, height=1.35)
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        percent_axis(ax)
        shade_trained(ax, seeds[0].view)
        draw_predictions(ax, seeds[0].view)
        for k, curves in enumerate(seeds):
            draw_measured(ax, curves, COLOURS[0], shift=0.2 * (k - (len(seeds) - 1) / 2))
        ax.set_title(label)
    outer_labels(figure, "length tested (grey: trained)", "right answers (%)")
    measured = "measured, 95 % interval" + (", a dot for each run" if len(views) > len(groups) else "")
    handles = [key(measured, COLOURS[0], "", "o"), key("exact prediction", COLOURS[1], "--")]
    top_legend(figure, handles)
    return figure


def counterexample(views: Sequence[RunView]) -> Figure | None:
    """Accuracy by length, and the accuracy of the one digit that training showed too little of."""
    groups = by_training_set(views)
    if not groups:
        return None
    top = 1 + min(seeds[0].view.train.length for seeds in groups.values())
    figure, (whole, single) = panels(2, columns=2, height=1.9)
    for k, seeds in enumerate(groups.values()):
        for curves in seeds:
            draw_measured(whole, curves, COLOURS[k], joined=True)
            draw_measured(single, curves, COLOURS[k], metric=f"digit:{top}", joined=True)
    _draw_always_one(single, single_lengths(next(iter(groups.values()))[0].view), top)
    for ax in (whole, single):
        percent_axis(ax)
        ax.set_xlabel("length tested")
    whole.set_title("whole answer")
    whole.set_ylabel("right (%)")
    single.set_title(f"digit {top} of the answer alone")
    handles = [key(f"trained on {label}", COLOURS[k], "-", "o") for k, label in enumerate(groups)]
    side_legend(figure, [*handles, key(f"if digit {top} were\nalways 1", GREY, ":")])
    return figure


def draw_measured(
    axes: Axes, curves: Curves, colour: str, *, metric: str = "exact", shift: float = 0.0, joined: bool = False
) -> None:
    found = [(domain.length, curves.last(metric, str(domain))) for domain in single_lengths(curves.view)]
    points = [(length + shift, *_with_interval(record)) for length, record in found if record is not None]
    if points:
        x, middle, below, above = zip(*points, strict=True)
        axes.errorbar(
            x,
            middle,
            yerr=(below, above),
            color=colour,
            marker="o",
            markersize=3,
            linestyle="-" if joined else "",
            linewidth=1,
            elinewidth=0.9,
        )
        _length_axis(axes, [length for length, _ in found])


def _length_axis(axes: Axes, lengths: Sequence[int]) -> None:
    axes.set_xlim(min(lengths) - 0.6, max(lengths) + 0.6)
    axes.set_xticks(lengths)


def draw_predictions(axes: Axes, view: RunView) -> None:
    rows = view.spec.predictions(single_lengths(view))
    known = [(row.domain.length, float(100 * row.accuracy)) for row in rows if row.accuracy is not None]
    if known:
        x, y = zip(*known, strict=True)
        axes.plot(x, y, color=COLOURS[1], linestyle="--", linewidth=0.7, marker="_", markersize=10, zorder=4)


def shade_trained(axes: Axes, view: RunView) -> None:
    for part in view.train.parts:
        axes.axvspan(part.length - 0.5, part.length + 0.5, color=PALE, linewidth=0, zorder=0)


def _with_interval(record: Record) -> tuple[float, float, float]:
    """Percent, and how far the interval reaches below and above."""
    assert record.correct is not None
    low, high = interval(record.correct, record.total, record.selection == "enumerated")
    middle = share(record)
    return 100 * middle, 100 * max(0.0, middle - low), 100 * max(0.0, high - middle)


def _draw_always_one(axes: Axes, domains: Sequence[Domain], position: int) -> None:
    """How often 1 is the right digit."""
    x = [domain.length for domain in domains]
    y = [float(100 * digit_share(1, domain, position)) for domain in domains]
    axes.plot(x, y, color=GREY, linestyle=":", zorder=3)
