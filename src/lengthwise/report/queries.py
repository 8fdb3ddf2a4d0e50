"""The runs of a results folder, and queries on records, shared by tables, figures and the page."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

import polars as pl

from lengthwise.arithmetic import Domain
from lengthwise.recipes import TUNING_SEED, Recipe, compared, row_names
from lengthwise.records.analysis import dependence_of
from lengthwise.records.folder import notes, runs_below
from lengthwise.records.schema import TRUTH
from lengthwise.records.spec import RunSpec
from lengthwise.records.verdicts import Measured
from lengthwise.records.view import RunView
from lengthwise.report import group_by
from lengthwise.report.tables import percent_text, short_percent
from lengthwise.theory.hypotheses import Hypothesis

T = TypeVar("T")

RUN_NAME = re.compile(r".+-s\d+")
"""The names of recipes' runs; other runs may have any name."""

MEASURE = ("run", "metric", "domain", "reference", "mode")
"""Columns that identify a measurement within a step."""


@dataclass(frozen=True)
class Collection:
    """The content of a results folder: finished runs, and the notes of recipes."""

    folder: Path

    @cached_property
    def views(self) -> list[RunView]:
        """Finished runs of all seeds but the one used for tuning, sorted by name and seed."""
        return [view for view in self._reported if view.source.status() == "done"]

    @property
    def unfinished(self) -> dict[str, str]:
        """Runs that no table or figure shows, and their status."""
        found = {view.name: str(view.source.state()) for view in self._reported}
        return {name: status for name, status in found.items() if status != "done"}

    @cached_property
    def _reported(self) -> list[RunView]:
        # A run that has a folder and is also packed is read from its folder.
        runs = {run.name: run for run in reversed(runs_below(self.folder)) if RUN_NAME.fullmatch(run.name)}
        found = [view for view in map(RunView, runs.values()) if view.seed != TUNING_SEED]
        return sorted(found, key=lambda view: (view.row, view.seed))

    @cached_property
    def rows(self) -> dict[str, list[RunView]]:
        """The seeds of each row, by name. Not by `question`: a config of an earlier version may lack later
        keys."""
        return group_by(self.views, lambda view: view.row)

    @cached_property
    def notes(self) -> dict[str, dict[str, Any]]:
        """The note of each recipe, OUT/NAME.json."""
        return notes(self.folder)


def average(values: Sequence[float]) -> float:
    # Not fmean: printed digits would differ where the two round differently.
    return sum(values) / len(values)


class Point(NamedTuple):
    """The mean, the lowest and the highest over runs; of counts in percent.

    >>> str(Point.of([99.0, 100.0])), str(Point.of([50.0])), Point.of([99.0, 100.0]).text
    ('99.5 (99–100)', '50', '99.50 (99.00 to 100)')
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Point":
        return cls(fmean(values), min(values), max(values))

    @property
    def text(self) -> str:
        mean, low, high = map(percent_text, self)
        return mean if self.low == self.high else f"{mean} ({low} to {high})"

    def __str__(self) -> str:
        mean, low, high = map(short_percent, self)
        return mean if low == high else f"{mean} ({low}–{high})"


Points = dict[Any, Point]
"""Points by step, length or digit, or by pairs of these for a grid."""
Cells = dict[tuple[int, int], float]
Over = Callable[[Sequence[float]], float]
"""How several percentages of a run are combined: their mean, or the lowest."""


@dataclass(frozen=True)
class Seeds:
    """Runs that are shown together, usually those that differ only in their seed."""

    views: tuple[RunView, ...]

    @property
    def first(self) -> RunView:
        return self.views[0]

    def each(self) -> "list[Seeds]":
        """Every run separately."""
        return [Seeds((view,)) for view in self.views]

    def percent(
        self, counts: Callable[[RunView], Sequence[Measured | None]], over: Over = average
    ) -> Point | None:
        """The mean of each seed's counts, in percent, over the seeds that have any."""
        found = [[100 * own.share for own in counts(view) if own is not None] for view in self.views]
        seeds = [over(percents) for percents in found if percents]
        return Point.of(seeds) if seeds else None

    def exact_match(self, *domains: Domain, reference: str = TRUTH, over: Over = average) -> Point | None:
        """Exact match after training, on those domains that were compared with the reference."""
        return self.percent(lambda view: compared(view, domains, reference), over)

    @cached_property
    def learned(self) -> Point | None:
        """Accuracy on the training domain."""
        return self.exact_match(self.first.train)

    def beyond(self, reference: str = TRUTH, over: Over = average) -> Point | None:
        """Exact match over all longer lengths."""
        return self.exact_match(*self.first.spec.longer(), reference=reference, over=over)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Their records (records/frame.py), each measurement of a step once, with more columns:

        column     | of each record
        -----------|-----------------------------------------------------------------------------------
        kind, i, j | digit:3 has kind digit and i 3; pair:20:3 has kind pair, i 20 and j 3
        length     | of its test domain, where this has one length; null of others
        special    | the name of a special set, as carry for D20:carry; else empty
        """
        lengths = {str(domain): domain.length for view in self.views for domain in single_lengths(view)}
        place, metric = pl.col("domain"), pl.col("metric").str.split(":").list
        special = place.str.extract(":([a-z]+)$").fill_null("")
        length = place.str.strip_suffix(":" + special).replace_strict(lengths, default=None, return_dtype=pl.Int64)
        i, j = (metric.get(k, null_on_oob=True).cast(pl.Int64, strict=False) for k in (1, 2))
        records = pl.concat([view.frame for view in self.views])
        # Of two evaluations at one step the later one counts: that after training has more problems.
        once = records.unique([*MEASURE, "step"], keep="last", maintain_order=True)
        return once.with_columns(kind=metric.first(), i=i, j=j, length=length, special=special)

    def records(
        self, kind: str = "exact", reference: str = TRUTH, mode: str = "forced", **where: Any
    ) -> pl.DataFrame:
        """The records of a kind with these values in columns: `domain="D4"`, `i=3`."""
        return self.frame.filter(kind=kind, reference=reference, mode=mode, **where)

    def numbers(self, kind: str, **what: Any) -> list[int]:
        """The numbers k for which there are records of `kind:k`."""
        return self.records(kind, **what)["i"].drop_nulls().unique().sort().to_list()

    def at_end(self, kind: str = "exact", **what: Any) -> pl.DataFrame:
        """The last records of a kind."""
        return latest(self.records(kind, **what))

    def by_length(self, kind: str = "exact", *, special: str = "", **what: Any) -> Points:
        """Values after training, on test domains of one length each."""
        return spread(self.at_end(kind, special=special, **what), "length")

    def intervals(self, kind: str = "exact", **what: Any) -> Points:
        """Values of a single run after training, by length, with 95 % intervals."""
        rows = self.at_end(kind, **what).drop_nulls("length").sort("length").iter_rows(named=True)
        return {
            row["length"]: point([Measured(row["correct"], row["total"], row["selection"] == "enumerated")])
            for row in rows
        }

    def through_training(self, kind: str = "exact", **what: Any) -> Points:
        """Values by step, at the steps that all runs have."""
        return spread(everywhere(self.records(kind, **what)), "step")

    def domains_through_training(self, references: Mapping[str, str]) -> dict[str, Points]:
        """Exact match by domain and step, against the reference of each domain."""
        wanted = pl.DataFrame({"domain": [*references], "reference": [*references.values()]})
        exact = self.frame.filter(kind="exact", mode="forced").join(wanted, on=["domain", "reference"])
        return nested(spread(everywhere(exact, "domain"), "domain", "step"))

    def digits_through_training(self, domain: Domain) -> dict[int, Points]:
        """Accuracy of each answer digit by step."""
        found = self.records("digit", domain=str(domain))
        return nested(spread(everywhere(found, "i"), "i", "step"))

    def own_accuracy(self) -> Points:
        """Accuracy on the training domain by step."""
        return self.through_training(domain=str(self.first.train))


def rows_of(recipe: Recipe, collection: Collection) -> dict[str, Seeds]:
    """The finished runs of a recipe: the seeds of each row, sorted by name."""
    names = row_names(recipe.rows)
    return {row: Seeds(tuple(views)) for row, views in collection.rows.items() if row in names}


def best_first(groups: Mapping[str, Seeds]) -> dict[str, Seeds]:
    """Groups by their mean accuracy on longer lengths."""
    accuracy = {name: point.mean for name, seeds in groups.items() if (point := seeds.beyond())}
    return dict(sorted(groups.items(), key=lambda item: -accuracy.get(item[0], 0)))


def latest(found: pl.DataFrame) -> pl.DataFrame:
    """The last record of each measurement of each run."""
    return found.filter(pl.col("step") == pl.col("step").max().over(MEASURE))


def spread(found: pl.DataFrame, *by: str) -> Points:
    """The mean, lowest and highest over runs by one or several columns, sorted, without nulls in these."""
    share, value = pl.col("share"), pl.col("value")
    means = [
        pl.coalesce(100 * getattr(share, how)(), getattr(value, how)()).alias(how)
        for how in ("mean", "min", "max")
    ]
    rows = found.drop_nulls(by).group_by(by).agg(means).sort(by).rows()
    return {row[0] if len(by) == 1 else row[: len(by)]: Point(*row[len(by) :]) for row in rows}


def nested(points: Mapping[tuple[Any, Any], T]) -> dict[Any, dict[Any, T]]:
    """A mapping by two columns as a dict of dicts."""
    found: dict[Any, dict[Any, T]] = {}
    for (outer, inner), one in points.items():
        found.setdefault(outer, {})[inner] = one
    return found


def everywhere(found: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Records of the steps that all runs with records have."""
    run = pl.col("run").n_unique()
    return found.filter(run.over([*by, "step"]) == (run.over(by) if by else run))


def point(measured: Sequence[Measured]) -> Point:
    """A point of one run with its 95 % interval, or of several with their range."""
    shares = [100 * one.share for one in measured]
    if len(measured) == 1:
        return Point(shares[0], *(100 * end for end in measured[0].interval))
    return Point.of(shares)


def grouped(views: Iterable[RunView], label: Callable[[RunView], str]) -> dict[str, Seeds]:
    """Runs by label; those without records are left out."""
    groups = group_by((view for view in views if not view.frame.is_empty()), label)
    return {name: Seeds(tuple(group)) for name, group in groups.items()}


def having(groups: Mapping[str, Seeds], kind: str, **what: Any) -> dict[str, Seeds]:
    """The groups that have records of a kind."""
    return {name: seeds for name, seeds in groups.items() if not seeds.records(kind, **what).is_empty()}


def row_label(view: RunView) -> str:
    """The label of a row in a table: its modulus and training domain."""
    modulus = view.task.modulus
    return f"trained on {view.train}" if modulus is None else f"modulo {modulus}, {view.train}"


def encoding_name(view: RunView) -> str:
    return view.spec.positions


def single_lengths(run: RunView | RunSpec) -> list[Domain]:
    """The test domains of one length each, in order."""
    return sorted((d for d in run.tests if len(d.parts) == 1), key=lambda domain: domain.length)


def by_training_set(views: Iterable[RunView]) -> dict[str, Seeds]:
    return grouped(views, lambda view: f"trained on {view.train}")


def by_chain(seeds: Seeds) -> Points:
    """Accuracy on problems longer than in training by their longest carry chain, over all lengths."""
    longer = seeds.at_end("chain").filter(pl.col("length") > seeds.first.train.length)
    counts = longer.group_by("run", "i").agg(pl.col("correct").sum(), pl.col("total").sum())
    return spread(counts.with_columns(share=pl.col("correct") / pl.col("total"), value=None), "i")


def failures(seeds: Seeds) -> dict[str, dict[str | int, float]]:
    """Decoded answers in percent, by domain and outcome: exact, malformed, wrong_length, or the number of the
    first wrong digit."""
    ways = pl.col("kind").is_in(["exact", "malformed", "wrong_length", "first_wrong"])
    found = latest(seeds.frame.filter(ways, mode="decoded", reference=TRUTH))
    counts = found.group_by("domain", "kind", "i", maintain_order=True).agg(pl.col("correct").sum())
    share = 100 * pl.col("correct") / pl.col("correct").sum().over("domain")
    rows = counts.select("domain", "kind", "i", share).rows()
    return nested({(domain, kind if digit is None else digit): share for domain, kind, digit, share in rows})


def by_lengths(seeds: Seeds) -> Cells:
    """Accuracy in percent by the lengths of a and b."""
    return {place: found.mean for place, found in spread(seeds.at_end("pair"), "i", "j").items()}


def dependence_cells(seeds: Seeds) -> tuple[Cells, Cells, Hypothesis | None] | None:
    """How often answer digit i changes with digit j of a, in percent: as measured, and exactly for the predicted
    function, where that is derived; and this function. None if no run measured it."""
    found = seeds.at_end("depends", mode="decoded")
    if found.is_empty():
        return None
    view = next(view for view in seeds.views if view.name == found["run"][0])
    hypothesis = view.spec.predicted_hypothesis(max(view.tests, key=lambda domain: domain.length))
    matrix = dependence_of(view.records, view.task, hypothesis).exact
    cells = {(i, j): share for i, row in enumerate(matrix, 1) for j, share in enumerate(row, 1)}
    exact = {place: 100 * float(share) for place, share in cells.items() if share is not None}
    return {place: own.mean for place, own in spread(found, "i", "j").items()}, exact, hypothesis


def unmoved(view: RunView) -> list[Measured]:
    """How often an answer digit stays as it is when an operand's digit above the trained ones is replaced: for
    each pair of the two."""
    found = Seeds((view,)).at_end("depends", mode="decoded").filter(pl.col("j") > view.train.length)
    return [Measured(total - changed, total, False) for changed, total in found.select("correct", "total").rows()]
