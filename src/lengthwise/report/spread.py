"""One measurement of several seeds: their mean, and from where to where they reach."""

from dataclasses import dataclass
from statistics import fmean

from lengthwise.report.tables import short_percent


@dataclass(frozen=True)
class Spread:
    """Percentages, one for each seed.

    >>> str(Spread((99.0, 100.0))), str(Spread((50.0,))), str(Spread(()))
    ('99.5 (99–100)', '50', '–')
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def lowest(self) -> float:
        return min(self.values)

    @property
    def highest(self) -> float:
        return max(self.values)

    def __str__(self) -> str:
        if not self.values:
            return "–"
        shown = [short_percent(value) for value in (self.mean, self.lowest, self.highest)]
        return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]}–{shown[2]})"
