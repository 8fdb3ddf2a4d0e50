"""Figures of accuracy through training: by length, and by digit."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lengthwise.arithmetic import Domain
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import (
    Curves,
    Series,
    band,
    by_training_set,
    grouped,
    row_label,
    single_lengths,
)
from lengthwise.report.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    LineStyle,
    key,
    ordered_colours,
    outer_labels,
    paired_panels,
    panels,
    percent_axis,
    side_legend,
    step_axis,
    theory_line,
    top_legend,
)
from lengthwise.theory.carries import digit_accuracy as exact_digit_accuracy

DIGITS = range(1, 10)
"""The nine panels of the paper, as far as answers are that long."""


def accuracy_by_domain(views: Sequence[RunView]) -> Figure | None:
    """For each training set: above, right answers on each length; below, agreement with theory's function."""
    groups = by_training_set(views)
    if not groups:
        return None
    figure, pairs = paired_panels(len(groups), columns=3, height=1.7)
    tested = dict.fromkeys(str(d) for seeds in groups.values() for d in single_lengths(seeds[0].view))
    colours = dict(zip(tested, ordered_colours(len(tested)), strict=True))
    for (above, below), (label, seeds) in zip(pairs, groups.items(), strict=True):
        for row in seeds[0].view.spec.predictions(single_lengths(seeds[0].view)):
            domain, colour = str(row.domain), colours[str(row.domain)]
            style: LineStyle = "-" if row.domain.length <= seeds[0].view.train.length else "--"
            draw_band(above, [curves.percent("exact", domain) for curves in seeds], colour, style)
            if row.hypothesis is not None and row.accuracy is not None:
                reference = str(row.hypothesis)
                draw_band(below, [curves.percent("exact", domain, reference) for curves in seeds], colour, style)
                theory_line(above, float(100 * row.accuracy))
                theory_line(below, 100)
        percent_axis(above)
        percent_axis(below)
        above.set_title(f"trained on {label}")
    outer_labels(figure, "step", "")
    pairs[0][0].set_ylabel("right answers (%)")
    pairs[0][1].set_ylabel("answers that theory\nsays it gives (%)")
    handles = [key(domain, colour) for domain, colour in colours.items()]
    handles += [key("trained length\nor shorter"), key("longer", GREY, "--"), key("theory's end", GREY, ":")]
    side_legend(figure, handles, "tested on")
    return figure


def digit_accuracy(views: Sequence[RunView]) -> Figure | None:
    """A panel for each digit of a sum, on one sample of all lengths; dotted, where theory says it ends."""
    groups = by_training_set(view for view in views if _all_lengths(view) is not None)
    measured = {digit for seeds in groups.values() for digit in seeds[0].numbered("digit")}
    digits = [digit for digit in DIGITS if digit in measured]
    if not digits:
        return None
    figure, axes = panels(len(digits), columns=3, height=1.25)
    for ax, digit in zip(axes, digits, strict=True):
        for k, seeds in enumerate(groups.values()):
            sample = str(_all_lengths(seeds[0].view))
            draw_band(ax, [curves.percent(f"digit:{digit}", sample) for curves in seeds], COLOURS[k])
            _draw_digit_theory(ax, seeds[0].view, digit, COLOURS[k])
        percent_axis(ax)
        ax.set_title(f"digit {digit}")
    outer_labels(figure, "step", "right digits (%)")
    handles = [key(f"trained on {label}", COLOURS[k]) for k, label in enumerate(groups)]
    top_legend(figure, [*handles, key("theory's end", GREY, ":")])
    return figure


def own_digit_accuracy(views: Sequence[RunView]) -> Figure | None:
    """A panel for each row of a table: every digit, and the whole answer, on the training domain."""
    groups = {label: seeds for label, seeds in grouped(views, row_label).items() if _own_digits(seeds[0])}
    if not groups:
        return None
    colours = ordered_colours(max(max(_own_digits(seeds[0])) for seeds in groups.values()))
    figure, axes = panels(len(groups), columns=4, height=1.4)
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        for digit in _own_digits(seeds[0]):
            lines = [curves.percent(f"digit:{digit}", curves.own_domain) for curves in seeds]
            draw_band(ax, lines, colours[digit - 1])
        draw_band(ax, [curves.percent("exact", curves.own_domain) for curves in seeds], BLACK, "--")
        percent_axis(ax)
        ax.set_title(label)
    outer_labels(figure, "step", "right (%)")
    handles = [key(f"digit {k + 1}", colour) for k, colour in enumerate(colours)]
    side_legend(figure, [*handles, key("whole answer", BLACK, "--")])
    return figure


def draw_band(axes: Axes, series: Sequence[Series], colour: str, style: LineStyle = "-") -> None:
    """Seeds as their mean, with a band from the lowest to the highest."""
    one = band([s for s in series if s])
    axes.plot(one.steps, one.mean, color=colour, linestyle=style)
    step_axis(axes)
    if len(series) > 1:
        axes.fill_between(one.steps, one.low, one.high, color=colour, alpha=0.12, linewidth=0)


def _all_lengths(view: RunView) -> Domain | None:
    """The test domain that mixes lengths: the paper's D<=9."""
    return next((domain for domain in view.tests if len(domain.parts) > 1), None)


def _draw_digit_theory(axes: Axes, view: RunView, digit: int, colour: str) -> None:
    sample = _all_lengths(view)
    assert sample is not None
    (row,) = view.spec.predictions([sample])
    sums = (view.task.operation, view.task.modulus) == ("add", None)
    if sums and row.hypothesis is not None and row.hypothesis.kind != "windowed":
        theory_line(axes, float(100 * exact_digit_accuracy(row.hypothesis, sample, digit)), colour)


def _own_digits(curves: Curves) -> list[int]:
    """Digits that answers have in the training domain; above them is padding."""
    longest = curves.view.task.answer_digits(curves.view.train.length)
    return [digit for digit in curves.numbered("digit") if digit <= longest]
