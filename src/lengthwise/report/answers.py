"""Answers after training as one frame: exact match of every run by domain and reference; the tables query it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from lengthwise.recipes import Recipe, of_rows
from lengthwise.records.frame import records_frame
from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.tables import short_percent

TRAINED, SHORTER, LONGER = "trained", "shorter", "longer"
ASKED: dict[str, type[pl.DataType]] = {
    "run": pl.String,
    "domain": pl.String,
    "part": pl.String,
    "hypothesis": pl.String,
}


def answers(views: Sequence[RunView]) -> pl.DataFrame:
    """Exact match after the last evaluation, scored in one pass: a line for each run, domain and reference.

    Beside the columns of records_frame: `percent`; `part`, whether the domain is that of training or has shorter
    or longer operands; `hypothesis`, what theory says the run computes there.
    """
    asked = [line for view in views for line in _asked(view)]
    exact = pl.col("last") & (pl.col("metric") == "exact") & (pl.col("mode") == "forced")
    found = records_frame(views).filter(exact & pl.col("correct").is_not_null())
    return (
        found.unique(["run", "domain", "reference"], keep="last", maintain_order=True)
        .with_columns((100 * pl.col("share")).alias("percent"))
        .join(pl.DataFrame(asked, ASKED, orient="row"), on=["run", "domain"], maintain_order="left")
    )


def _asked(view: RunView) -> Iterator[tuple[str, ...]]:
    spec = view.spec
    for domain in spec.measured_domains():
        part = TRAINED if domain == spec.train else LONGER if domain.length > spec.train.length else SHORTER
        yield view.name, str(domain), part, str(spec.predicted_hypothesis(domain))


def rows_of(recipe: Recipe, collection: Collection) -> dict[str, list[RunView]]:
    """The finished runs of a recipe: the seeds of each row together, in the order of names."""
    found: dict[str, list[RunView]] = {}
    for view in of_rows(recipe.rows, collection.views):
        found.setdefault(view.row, []).append(view)
    return found


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


class Spreads(dict[tuple[str, ...], Spread]):
    """Of groups of answers: a percentage for each seed, the mean of its lines. What is not there has none."""

    def __init__(self, frame: pl.DataFrame, *by: str) -> None:
        seeds = frame.group_by(*by, "run", maintain_order=True).agg("percent")
        groups = seeds.group_by(*by, maintain_order=True).agg("percent")
        super().__init__({(*key,): Spread(tuple(map(_mean, runs))) for *key, runs in groups.iter_rows()})

    def __missing__(self, key: tuple[str, ...]) -> Spread:
        return Spread(())


def _mean(percents: Sequence[float]) -> float:
    return sum(percents) / len(percents)


def right(found: pl.DataFrame, part: str | None = None) -> pl.DataFrame:
    """Those compared with truth, on one part of the domains or on all."""
    wanted = found.filter(reference=TRUTH)
    return wanted if part is None else wanted.filter(part=part)
