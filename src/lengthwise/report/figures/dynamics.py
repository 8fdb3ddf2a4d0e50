"""Figures of single digits through training: how well two features explain them, together and in which order."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import StatisticsError, correlation, fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lengthwise.errors import InputError
from lengthwise.records.analysis import LEARNED, LearningOrder, learning_order
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, Series, by_training_set
from lengthwise.report.figures.style import (
    COLOURS,
    GREY,
    PALE,
    key,
    ordered_colours,
    outer_labels,
    panels,
    side_legend,
    theory_line,
    top_legend,
)
from lengthwise.report.figures.through_training import draw_band
from lengthwise.theory.carries import r2_ceiling


def digit_dynamics(views: Sequence[RunView]) -> Figure | None:
    """A panel for each training set: R2 of each digit, and the ceiling that a perfect adder reaches."""
    groups = _with_dynamics(views)
    if not groups:
        return None
    digits = _shown_digits(groups)
    colours = dict(zip(digits, ordered_colours(len(digits)), strict=True))
    figure, axes = panels(len(groups), columns=3, height=2.0)
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        for digit in digits:
            draw_band(ax, [curves.values(f"r2:{digit}") for curves in seeds], colours[digit])
            theory_line(ax, float(r2_ceiling(seeds[0].view.train, digit)), colours[digit])
        ax.set_ylim(-0.12, 1.04)
        ax.set_title(f"trained on {label}")
        ax.set_xlabel("step")
    axes[0].set_ylabel("share explained ($R^2$)")
    side_legend(figure, [*(key(f"digit {d}", colours[d]) for d in digits), key("ceiling", GREY, ":")])
    return figure


def digit_correlation(views: Sequence[RunView]) -> Figure | None:
    """A panel for each training set and reference digit: correlation of its R2 with every other digit's."""
    groups = _with_dynamics(views)
    if not groups:
        return None
    digits = _shown_digits(groups)
    cases = [(label, seeds, part.length) for label, seeds in groups.items() for part in seeds[0].view.train.parts]
    figure, axes = panels(len(cases), columns=2, height=1.5)
    for ax, (label, seeds, reference) in zip(axes, cases, strict=True):
        for curves in seeds:
            _draw_stems(ax, correlations(curves, reference, digits), COLOURS[0], -0.12)
            _draw_stems(ax, correlations(curves, reference, digits, changes=True), COLOURS[1], 0.12)
        ax.axhline(0, color=GREY, linewidth=0.6)
        ax.set_ylim(-1.1, 1.1)
        ax.set_title(f"trained on {label}: with digit {reference}")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    outer_labels(figure, "other digit", "correlation over checkpoints")
    changes = "of its change from one checkpoint to the next"
    top_legend(figure, [key("of $R^2$", COLOURS[0], "-", "o"), key(changes, COLOURS[1], "-", "o")])
    return figure


def learning_steps(views: Sequence[RunView]) -> Figure | None:
    """A panel for each training set: from which step each digit is right, with the top positions shaded."""
    groups = {label: _orders(seeds) for label, seeds in by_training_set(views).items()}
    groups = {label: orders for label, orders in groups.items() if orders}
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=3, height=1.8)
    for ax, (label, orders) in zip(axes, groups.items(), strict=True):
        _draw_order(ax, orders)
        ax.set_title(f"trained on {label}")
        ax.set_xlabel("digit of the answer (1 = units)")
    axes[0].set_ylim(0, 1.15 * _slowest(groups.values()))
    axes[0].set_ylabel(f"steps until right {100 * LEARNED:g} %\nof the time")
    never = key("never in training", COLOURS[1], "", "^")
    top_legend(figure, [key("learned", COLOURS[0], "-", "o"), never, key("hardest in theory", PALE, "", "s")])
    return figure


def correlations(curves: Curves, reference: int, digits: Sequence[int], *, changes: bool = False) -> Series:
    """How each other digit's R2 goes along with the reference digit's; none where one of them is constant."""
    ours, found = curves.values(f"r2:{reference}"), {}
    for digit in digits:
        theirs = curves.values(f"r2:{digit}")
        pairs = [(ours[step], theirs[step]) for step in sorted(ours.keys() & theirs.keys())]
        if changes:
            pairs = [(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in pairwise(pairs)]
        if digit != reference and len(pairs) > 2:
            with suppress(StatisticsError):
                found[digit] = correlation(*zip(*pairs, strict=True))
    return found


def _with_dynamics(views: Sequence[RunView]) -> dict[str, list[Curves]]:
    return {label: seeds for label, seeds in by_training_set(views).items() if seeds[0].numbered("r2")}


def _shown_digits(groups: dict[str, list[Curves]]) -> list[int]:
    """Up to where the longest trained sums reach; above, a trained model writes a constant."""
    longest = 1 + max(seeds[0].view.train.length for seeds in groups.values())
    measured = {digit for seeds in groups.values() for digit in seeds[0].numbered("r2")}
    return sorted(digit for digit in measured if digit <= longest)


def _draw_stems(axes: Axes, heights: Series, colour: str, shift: float) -> None:
    x = [digit + shift for digit in heights]
    axes.plot(x, list(heights.values()), "o", color=colour, markersize=3.5)
    axes.vlines(x, 0, list(heights.values()), color=colour, linewidth=1)


def _orders(seeds: Sequence[Curves]) -> list[LearningOrder]:
    found: list[LearningOrder] = []
    for curves in seeds:
        with suppress(InputError):
            found.append(learning_order(curves.view.records, curves.view.train))
    return found


def _slowest(groups: Iterable[Sequence[LearningOrder]]) -> int:
    steps = [step for orders in groups for order in orders for step in order.steps.values() if step is not None]
    return max(steps, default=1)


def _draw_order(axes: Axes, orders: Sequence[LearningOrder]) -> None:
    top = orders[0].top
    axes.axvspan(top[0] - 0.5, top[-1] + 0.5, color=PALE, linewidth=0, zorder=0)
    digits = [digit for digit in orders[0].steps if digit <= top[-1]]
    axes.set_xticks(digits)
    middle: dict[int, float] = {}
    for digit in digits:
        times = [step for order in orders if (step := order.steps[digit]) is not None]
        if times:
            middle[digit] = fmean(times)
            axes.vlines(digit, min(times), max(times), color=COLOURS[0], linewidth=2.5, alpha=0.4)
        if len(times) < len(orders):
            axes.plot(digit, 1, "^", color=COLOURS[1], transform=axes.get_xaxis_transform(), clip_on=False)
    axes.plot(list(middle), list(middle.values()), "o-", color=COLOURS[0], markersize=3.5)
