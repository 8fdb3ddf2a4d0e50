"""What a figure of the report is: a plot, words for those who cannot see it, and its numbers as a table.

Plots are plain plotly descriptions. INK stands for the colour of text and HEAT for the scale of heat maps:
both depend on the reader's light or dark page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.report.tables import percent

INK = "INK"
HEAT = "HEAT"
# Okabe and Ito: told apart by colour-blind readers. Yellow comes last, as it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
SYMBOLS = ("circle", "square", "triangle-up", "cross", "diamond", "x", "star")
GLYPHS = dict(zip((*SYMBOLS, "diamond-open"), "●■▲✚◆✖★◇", strict=True))
SHADE = "rgba(86,180,233,0.18)"

MOST_COLUMNS, MOST_POINTS = 24, 40
MOST_TICKS = 14


@dataclass(frozen=True)
class DataTable:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    title: str
    note: str
    alt: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    table: DataTable

    @property
    def legend(self) -> list[tuple[str, str, str]]:
        """Name, colour and sign of each curve, where there are several."""
        if len(self.data) < 2:
            return []
        marks = [trace["marker"] for trace in self.data]
        colours = [mark["color"].replace(INK, "var(--ink)") for mark in marks]
        signs = [GLYPHS[mark.get("symbol", "square")] for mark in marks]
        return list(zip([trace["name"] for trace in self.data], colours, signs, strict=True))


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def symbol(index: int) -> str:
    """Shapes go on where colours begin again."""
    return SYMBOLS[(index + index // len(COLOURS)) % len(SYMBOLS)]


def percents(shares: Sequence[float | None]) -> list[float | None]:
    return [None if share is None else round(100 * share, 3) for share in shares]


def thinned(steps: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly, the first and the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]


def axis_title(text: str) -> dict[str, Any]:
    """Far enough from the ticks that margins are made for both."""
    return {"text": text, "standoff": 12}


def percent_axis(title: str, lowest: float = 0) -> dict[str, Any]:
    """From `lowest` to 100 %, with room for the marks at both ends."""
    room = (100 - lowest) / 25
    return {"title": axis_title(title), "range": [lowest - room, 100 + room], "ticksuffix": " %"}


def named_axis(names: Sequence[str], title: str) -> dict[str, Any]:
    """An axis with a name at each whole number; too many names are thinned."""
    every = -(-len(names) // MOST_TICKS)
    ticks = range(0, len(names), every)
    return {
        "title": axis_title(title),
        "tickvals": list(ticks),
        "ticktext": [names[i] for i in ticks],
        "range": [-0.6, len(names) - 0.4],
    }


@dataclass(frozen=True)
class Grid:
    """Named rows and columns of shares; None where nothing was measured."""

    rows: Sequence[str]
    columns: Sequence[str]
    shares: Sequence[Sequence[float | None]]


def heat_map(grid: Grid, *, title: str, note: str, alt: str, x: str, y: str, corner: str) -> Figure:
    """Rows from the top down, as in a table."""
    names = {"x": f"{x} %{{x}}", "y": f"{y} %{{y}}"}
    trace = {
        "type": "heatmap",
        "x": list(grid.columns),
        "y": list(grid.rows),
        "z": [percents(row) for row in grid.shares],
        "zmin": 0,
        "zmax": 100,
        "colorscale": HEAT,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"ticksuffix": " %", "thickness": 10, "outlinewidth": 0},
        "hovertemplate": f"{names['y']}, {names['x']}: %{{z:.2f}} %<extra></extra>",
    }
    layout = {
        "xaxis": {
            "title": axis_title(x),
            "type": "category",
            "nticks": 8 if max(map(len, grid.columns)) > 2 else MOST_TICKS,
            "showgrid": False,
        },
        "yaxis": {"title": axis_title(y), "type": "category", "autorange": "reversed", "showgrid": False},
        "height": 150 + 26 * max(4, len(grid.rows)),
    }
    rows = [(name, *map(percent, shares)) for name, shares in zip(grid.rows, grid.shares, strict=True)]
    return Figure(title, note, alt, [trace], layout, DataTable((corner, *grid.columns), rows))
