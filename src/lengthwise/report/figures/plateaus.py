"""Figure of accuracy that stands still in training, at heights that number theory predicts."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lengthwise.records.standstill import Standstill, standstills
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, grouped, row_label
from lengthwise.report.figures.style import (
    COLOURS,
    GREY,
    PALE,
    key,
    outer_labels,
    panels,
    step_axis,
    theory_line,
    top_legend,
)
from lengthwise.theory.plateaus import Plateau, plateaus

LOWEST = 1
"""Percent; the axis is logarithmic, since many heights are low."""
MET = COLOURS[1]


def accuracy_plateaus(views: Sequence[RunView]) -> Figure | None:
    """A panel for each row that was not learned at once: every seed's accuracy on the training domain, over the
    predicted heights."""
    rows = grouped((view for view in views if view.task.modulus is not None), row_label)
    groups = {label: seeds for label, seeds in rows.items() if any(map(stands, seeds))}
    if not groups:
        return None
    figure, axes = panels(len(groups), columns=3, height=1.9)
    for ax, (label, seeds) in zip(axes, groups.items(), strict=True):
        _draw_row(ax, seeds)
        ax.set_title(label)
        ax.set_yscale("log")
        ax.set_ylim(LOWEST, 110)
        ax.set_yticks([1, 10, 100], ["1", "10", "100"])
        ax.minorticks_off()
        step_axis(ax)
    outer_labels(figure, "step", "right answers on the training domain (%)")
    handles = [key("measured", COLOURS[0], "-", "o"), key("predicted height", PALE)]
    handles += [key("a curve stands still there", MET, ":"), key("nearest to a standstill", GREY, ":")]
    top_legend(figure, handles)
    return figure


def stands(curves: Curves) -> list[Standstill]:
    """Where accuracy on the training domain stands still."""
    accuracies = {step: value / 100 for step, value in _trained(curves).items()}
    return standstills(accuracies, _problems(curves))


def nearest_heights(seeds: Sequence[Curves], heights: Sequence[Plateau]) -> dict[Plateau, bool]:
    """The predicted height nearest to each standstill, and whether some seed stands at it, within its error."""
    found: dict[Plateau, bool] = {}
    for curves in seeds:
        for stand in stands(curves):
            nearest = min(heights, key=lambda plateau: abs(float(plateau.accuracy) - stand.accuracy))
            met = stand.is_at(float(nearest.accuracy), _problems(curves))
            found[nearest] = found.get(nearest, False) or met
    return found


def _draw_row(axes: Axes, seeds: Sequence[Curves]) -> None:
    view = seeds[0].view
    heights = plateaus(view.task, view.train)
    for plateau in heights:
        axes.axhline(float(100 * plateau.accuracy), color=PALE, linewidth=0.7, zorder=0)
    for curves in seeds:
        percents = {step: max(LOWEST, value) for step, value in _trained(curves).items()}
        axes.plot(list(percents), list(percents.values()), "o-", color=COLOURS[0], markersize=2.5)
    for plateau, met in nearest_heights(seeds, heights).items():
        _draw_height(axes, plateau, met)


def _draw_height(axes: Axes, plateau: Plateau, met: bool) -> None:
    """Its words stand under it where curves stand on it, and else above it."""
    height = float(100 * plateau.accuracy)
    theory_line(axes, height, MET if met else GREY)
    axes.annotate(
        f"{plateau.known}: {height:.1f}",
        (1, height),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, -2 if met else 1.5),
        textcoords="offset points",
        ha="right",
        va="top" if met else "bottom",
        fontsize=6,
        color=MET if met else GREY,
    )


def _problems(curves: Curves) -> int:
    """Of an evaluation during training."""
    return curves.view.config["evaluation"]["interim_problems"]


def _trained(curves: Curves) -> dict[int, float]:
    """Percent by step, without the untrained model."""
    return {step: value for step, value in curves.percent("exact", curves.own_domain).items() if step > 0}
