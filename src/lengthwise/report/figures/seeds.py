"""Seeds drawn together by length: the mean, and a band from the lowest to the highest."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes

from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.figures.curves import Curves, share
from lengthwise.report.figures.style import LINE, LineStyle, marker_size


def draw_spread(
    axes: Axes,
    points: Mapping[int, Sequence[float]],
    colour: str,
    style: LineStyle = "-",
    *,
    width: float = LINE,
) -> None:
    """The numbers of all seeds at each length; lengths without any are left out."""
    there = {x: values for x, values in sorted(points.items()) if values}
    x = list(there)
    look = {"marker": "o", "markersize": marker_size(width), "linewidth": width}
    axes.plot(x, [fmean(v) for v in there.values()], color=colour, linestyle=style, **look)
    low, high = ([pick(v) for v in there.values()] for pick in (min, max))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def last_percents(seeds: Sequence[Curves], domain: str, reference: str = TRUTH) -> list[float]:
    """Exact match after training, of each seed that has it."""
    found = (curves.last("exact", domain, reference) for curves in seeds)
    return [100 * share(record) for record in found if record is not None]


def encoding_name(view: RunView) -> str:
    return view.spec.positions
