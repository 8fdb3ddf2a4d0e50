"""Measured points of figures by length: a share on each test domain, with how far off it may be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.arithmetic import Domain
from lengthwise.records.verdicts import Measured, Verdict
from lengthwise.report.page.figure import colour, symbol
from lengthwise.report.page.runs import ShownRun
from lengthwise.report.tables import percent

Pick = Callable[[Verdict], Measured | None]
"""Which number of a verdict is shown."""


@dataclass(frozen=True)
class Point:
    """A share with the interval of one run, or with the range over several."""

    share: float
    low: float
    high: float

    @property
    def text(self) -> str:
        if self.low == self.high:
            return percent(self.share)
        return f"{percent(self.share)} ({percent(self.low)} to {percent(self.high)})"


@dataclass(frozen=True)
class Column:
    """What some runs measured, domain by domain; nothing where they were not tested."""

    name: str
    points: dict[Domain, Point | None]

    @classmethod
    def of(cls, name: str, runs: Sequence[ShownRun], domains: Sequence[Domain], pick: Pick) -> "Column":
        return cls(name, {domain: _point(runs, domain, pick) for domain in domains})

    @property
    def measured(self) -> dict[Domain, Point]:
        return {domain: point for domain, point in self.points.items() if point is not None}

    def text(self, domain: Domain) -> str:
        point = self.points[domain]
        return "–" if point is None else point.text

    def trace(self, index: int, count: int) -> dict[str, Any]:
        """As column `index` of `count`: they stand side by side, as equal points would hide each other."""
        offset = (index - (count - 1) / 2) * min(0.12, 0.7 / count)
        places = {domain: round(i + offset, 3) for i, domain in enumerate(self.points)}
        points = self.measured.values()
        return {
            "type": "scatter",
            "mode": "markers",
            "name": self.name,
            "x": [places[domain] for domain in self.measured],
            "y": [_rounded(point.share) for point in points],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [_rounded(point.high - point.share) for point in points],
                "arrayminus": [_rounded(point.share - point.low) for point in points],
                "thickness": 1.5,
                "width": 4,
            },
            "marker": {"color": colour(index), "symbol": symbol(index), "size": 9},
            "text": [f"{domain}: {point.text} %" for domain, point in self.measured.items()],
            "hovertemplate": "%{text}<extra></extra>",
        }


def traces(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [column.trace(index, len(columns)) for index, column in enumerate(columns)]


def lowest(columns: Sequence[Column]) -> str:
    """The lowest point in words, for those who cannot see the others."""
    found = [(point.share, str(d), column.name) for column in columns for d, point in column.measured.items()]
    share, domain, name = min(found)
    return f"The lowest is {percent(share)} %, on {domain} ({name})."


def _point(runs: Sequence[ShownRun], domain: Domain, pick: Pick) -> Point | None:
    found = [pick(row) for run in runs for row in run.verdicts if row.prediction.domain == domain]
    measured = [value for value in found if value is not None]
    if not measured:
        return None
    shares = [value.share for value in measured]
    if len(measured) > 1:
        return Point(sum(shares) / len(shares), min(shares), max(shares))
    return Point(shares[0], *measured[0].interval)


def _rounded(share: float) -> float:
    return round(100 * max(share, 0.0), 4)
