"""The paper's tables anew: every cell as measured, as theory has it exactly, and as the paper printed it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Any

import polars as pl

from lengthwise.recipes import RECIPES, Recipe, Setting
from lengthwise.records.schema import TRUTH
from lengthwise.records.spec import RunSpec
from lengthwise.report.answers import answers, rows_of
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable
from lengthwise.report.recipe_tables import outside_share, pair_shares
from lengthwise.report.tables import short_percent
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import Prediction

BOTH_LONG = "B4"
"""A row of the paper for which there is no theory, so it is shown apart."""

THEORY_COLUMNS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("table", "row", "trained_on", "test", "reference"), pl.String),
    **dict.fromkeys(("in_distribution", "counted"), pl.Boolean),
    **dict.fromkeys(("exact", "paper"), pl.Float64),
}
DATA_COLUMNS = (
    *("table", "row", "trained_on", "test", "in_distribution", "counted", "seeds"),
    *("measured", "lowest", "highest", "exact", "paper", "deviation"),
)
EVERY_SEED = ("coupled-1000", "multiplication-upward")
"""Recipes of long operands whose claim is about every seed."""

Place = tuple[str, str]
"""A cell: its row and the domain tested."""


def paper_recipes() -> list[Recipe]:
    return [recipe for recipe in RECIPES.values() if recipe.section == "Tables"]


@dataclass(frozen=True)
class PaperTable:
    recipe: Recipe
    truncated: bool
    """Whether answers are compared with those on truncated operands, instead of truth."""
    seeds: pl.DataFrame
    """A line for each cell and seed. Rows that the paper has and theory speaks of are `counted`."""
    missing: tuple[str, ...]
    """The paper's rows that no run has."""

    @property
    def name(self) -> str:
        return table_name(self.recipe, self.truncated)

    @property
    def title(self) -> str:
        return f"{self.recipe.title}, against {'truncated operands' if self.truncated else 'truth'}"

    @property
    def cells(self) -> pl.DataFrame:
        """A line for each cell, in percent: the mean over seeds, its distance from exact theory, and the lowest
        and highest seed."""
        percent = pl.col("percent")
        place = [column for column in DATA_COLUMNS if column in self.seeds.columns]
        means = self.seeds.group_by(place, maintain_order=True).agg(
            pl.col("seed").drop_nulls().alias("seeds"),
            percent.mean().alias("measured"),
            percent.min().alias("lowest"),
            percent.max().alias("highest"),
        )
        return means.with_columns((pl.col("measured") - pl.col("exact")).abs().alias("deviation")).select(
            DATA_COLUMNS
        )

    @property
    def apart(self) -> list[str]:
        """The labels of rows that are not counted."""
        return self.cells.filter(~pl.col("counted"))["row"].unique(maintain_order=True).to_list()

    def deviations(self, without: Sequence[Place] = ()) -> list[float]:
        """How far the mean over seeds is from exact theory, in each cell that counts but for those named."""
        return _counted(self.cells, without)["deviation"].drop_nulls().to_list()

    @property
    def mean_deviation(self) -> float | None:
        return fmean(self.deviations()) if self.deviations() else None

    def seed_deviations(self) -> dict[int, float]:
        """The mean distance from exact theory of each seed alone."""
        distance = (pl.col("percent") - pl.col("exact")).abs().mean().round(4)
        seeds = _counted(self.seeds).drop_nulls(["seed", "exact"])
        return dict(seeds.group_by("seed").agg(distance).sort("seed").iter_rows())

    def seed_counts(self) -> list[int]:
        """How many seeds each row has, each number once."""
        return sorted({len(seeds) for seeds in _counted(self.cells)["seeds"]})

    def reading(self) -> TextTable | None:
        """Each row as measured, as theory has it, and as the paper has it, below one another."""
        rows = self.cells.partition_by("row", maintain_order=True)
        lines = [line for row in rows for line in _reading_lines(row)]
        columns = ("trained on", "", *(rows[0]["test"].to_list() if rows else []))
        return TextTable(self.title, columns, tuple(lines), words=2) if rows else None

    def data(self) -> TextTable | None:
        """A line for each cell, with all digits."""
        lines = tuple(tuple(map(_data_text, line)) for line in self.cells.iter_rows())
        return TextTable(self.title, DATA_COLUMNS, lines) if lines else None


def _counted(cells: pl.DataFrame, without: Sequence[Place] = ()) -> pl.DataFrame:
    named = pl.concat_list("row", "test").is_in([list(place) for place in without]) if without else pl.lit(False)
    return cells.filter(pl.col("counted") & ~named)


def paper_tables(collection: Collection) -> list[PaperTable]:
    return [
        paper_table(collection, recipe, truncated) for recipe in paper_recipes() for truncated in (False, True)
    ]


def table_name(recipe: Recipe, truncated: bool) -> str:
    """Of the two that a recipe has, truth's first."""
    return [*recipe.tables][truncated]


def against_truth(collection: Collection, recipe: Recipe) -> TextTable | None:
    return paper_table(collection, recipe, truncated=False).reading()


def against_truth_data(collection: Collection, recipe: Recipe) -> TextTable | None:
    return paper_table(collection, recipe, truncated=False).data()


def against_truncated(collection: Collection, recipe: Recipe) -> TextTable | None:
    return paper_table(collection, recipe, truncated=True).reading()


def against_truncated_data(collection: Collection, recipe: Recipe) -> TextTable | None:
    return paper_table(collection, recipe, truncated=True).data()


def paper_table(collection: Collection, recipe: Recipe, truncated: bool) -> PaperTable:
    """A table from the runs there are."""
    rows, start, name = rows_of(recipe, collection), f"{recipe.name}-", table_name(recipe, truncated)
    found = {row.removeprefix(start): views[0].spec for row, views in rows.items()}
    printed = _printed_here(collection, recipe, name)
    shown = [row for row in printed if row != BOTH_LONG] + [BOTH_LONG, *sorted(found.keys() - {*printed})]
    theory = [
        {"table": name, "row": row, "counted": row in printed and row != BOTH_LONG, **cell}
        for row in shown
        if row in found
        for cell in _theory(found[row], truncated, printed.get(row, []))
    ]
    measured = answers([view for views in rows.values() for view in views]).select(
        pl.col("row").str.strip_prefix(start), pl.col("domain").alias("test"), "reference", "seed", "percent"
    )
    cells = pl.DataFrame(theory, THEORY_COLUMNS)
    seeds = cells.join(measured, on=["row", "test", "reference"], how="left", maintain_order="left_right")
    return PaperTable(recipe, truncated, seeds, tuple(row for row in printed if row not in found))


def _theory(spec: RunSpec, truncated: bool, printed: Sequence[float]) -> Iterator[dict[str, Any]]:
    """What is known of a row's cells before anything is measured."""
    for prediction in spec.predictions([domain for domain in spec.tests if len(domain.parts) == 1]):
        domain = prediction.domain
        yield {
            "trained_on": str(spec.train),
            "test": str(domain),
            "reference": str(Hypothesis("truncated", spec.train.length)) if truncated else TRUTH,
            "in_distribution": spec.case(domain).in_distribution,
            "exact": _exact(prediction, truncated),
            "paper": printed[domain.length - 1] if domain.length <= len(printed) else None,
        }


def _exact(prediction: Prediction, truncated: bool) -> float | None:
    """In percent. A model that computes what theory says agrees with it always."""
    if prediction.accuracy is None:
        return None
    return 100.0 if truncated else float(100 * prediction.accuracy)


def _reading_lines(row: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    label, train = row["row"][0], row["trained_on"][0]
    marks = ["†" if trained else "" for trained in row["in_distribution"]]
    measured = (short_percent(value) + mark for value, mark in zip(row["measured"], marks, strict=True))
    yield (label if label == train else f"{label}, {train}", "measured", *measured)
    if len(row["seeds"][0]) > 1:
        yield ("", "spread", *map(_spread, row["lowest"], row["highest"]))
    yield ("", "exact", *map(short_percent, row["exact"]))
    if row["paper"].null_count() < len(row):
        yield ("", "paper", *map(short_percent, row["paper"]))


def _spread(lowest: float | None, highest: float | None) -> str:
    return "" if lowest == highest else f"{short_percent(lowest)}–{short_percent(highest)}"


def _data_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(map(str, value)) if isinstance(value, list) else value or ""


def _printed_here(collection: Collection, recipe: Recipe, name: str) -> dict[str, list[float]]:
    """The paper's rows by our names for them; none where the runs are of another scale than the paper's."""
    note = collection.notes.get(recipe.name)
    if note is not None and note["scale"] != "full":
        return {}
    return {row_label(label): values for label, values in printed_tables()[name].items()}


@cache
def printed_tables() -> dict[str, dict[str, list[float]]]:
    return json.loads(files("lengthwise.report").joinpath("paper.json").read_text())["tables"]


def row_label(label: str) -> str:
    """A row of the paper as this project names it.

    >>> [row_label(label) for label in ("D4", "D~4", "D2,3,4", "p=50")]
    ['D4', 'B4', 'D2+D3+D4', 'p50']
    """
    return label.replace("D~", "B").replace("=", "").replace(",", "+D")


def paper_deviations(recipe: Recipe, truncated: bool, without: Sequence[Place] = ()) -> list[float]:
    """How far each number that the paper printed is from exact theory; a tenth number is its own theory's."""
    rows = recipe.rows(Setting())
    return [
        abs(printed - exact)
        for label, numbers in printed_tables()[table_name(recipe, truncated)].items()
        if (row := row_label(label)) != BOTH_LONG
        for printed, prediction in zip(numbers, rows[f"{recipe.name}-{row}"].spec.predictions(), strict=False)
        if (row, str(prediction.domain)) not in without and (exact := _exact(prediction, truncated)) is not None
    ]


def summary(collection: Collection) -> dict[str, Any]:
    """How far everything is from exact theory, ours and the paper's own: mean absolute deviations in percentage
    points, over all cells that theory speaks of; and the right answers to long operands."""
    tables = paper_tables(collection)
    return {
        **_distances([one for table in tables for one in table.deviations()], tables),
        "tables": {table.name: _table_summary(collection, table) for table in tables},
        **far_summary(collection),
    }


def _distances(
    ours: Sequence[float], tables: Sequence[PaperTable], without: Sequence[Place] = ()
) -> dict[str, Any]:
    theirs = [one for table in tables for one in paper_deviations(table.recipe, table.truncated, without)]
    return {"cells": len(ours), "mean_abs_deviation": _mean(ours), "paper_mean_abs_deviation": _mean(theirs)}


def _table_summary(collection: Collection, table: PaperTable) -> dict[str, Any]:
    """`seeds` are those of the row with fewest; `spread` is that of the seeds' own mean deviations."""
    note = collection.notes.get(table.recipe.name)
    without = [(row, test) for row, test in table.recipe.words.get("without", [])]
    by_seed, counts = table.seed_deviations(), table.seed_counts()
    worst = max(by_seed, key=lambda seed: by_seed[seed], default=None)
    found = {
        **_distances(table.deviations(), [table]),
        "spread": [min(by_seed.values()), max(by_seed.values())] if by_seed else None,
        "worst_seed": None if worst is None else {"seed": worst, "mean_abs_deviation": by_seed[worst]},
        "seeds": min(counts, default=0),
        "seeds_differ": len(counts) > 1,
        "wall_seconds": None if note is None else note["wall_seconds"],
    }
    if without:
        named = [f"{row} on {test}" for row, test in without]
        found["without"] = {"named": named, **_distances(table.deviations(without), [table], without)}
    return found


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def far_summary(collection: Collection) -> dict[str, Any]:
    """The percentage of every seed by tested length, and the mean over pairs of lengths outside the trained ones;
    nothing of runs that are not there."""
    found: dict[str, Any] = {}
    for recipe in EVERY_SEED:
        for seeds in rows_of(RECIPES[recipe], collection).values():
            tests = sorted(seeds[0].tests, key=lambda domain: domain.length)
            counts = {test: [view.final_counts[str(test), TRUTH] for view in seeds] for test in tests}
            found[recipe] = {str(test.length): [round(100 * c.share, 4) for c in counts[test]] for test in tests}
    sums = (view for view in collection.views if view.row == "abacus-100-add")
    outside = [outside_share(view) for view in sums if pair_shares(view)]
    if outside:
        found["abacus-100"] = {"outside": round(100 * fmean(outside), 4)}
    return found
