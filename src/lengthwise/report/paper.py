"""The paper's tables: every cell as measured, as predicted exactly, and as the paper printed it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from statistics import fmean
from typing import Any

import polars as pl

from lengthwise.recipes import RECIPES, Recipe, Setting
from lengthwise.records.schema import TRUTH
from lengthwise.records.spec import RunSpec
from lengthwise.report.queries import Collection, Seeds, by_lengths, rows_of, single_lengths
from lengthwise.report.tables import TextTable, short_percent, text_table

BOTH_LONG = "B4"
"""A row of the paper without a prediction, which is shown separately."""

CELL_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("table", "row", "trained_on", "test"), pl.String),
    **dict.fromkeys(("in_distribution", "counted"), pl.Boolean),
    **{"seeds": pl.List(pl.Int64), "percents": pl.List(pl.Float64)},
    **dict.fromkeys(("measured", "lowest", "highest", "exact", "paper", "deviation"), pl.Float64),
}
EVERY_SEED = ("coupled-1000", "multiplication-upward")
"""Recipes of long operands whose summary lists every seed."""

Place = tuple[str, str]
"""A cell: its row and the domain tested."""


def paper_recipes() -> list[Recipe]:
    return [recipe for recipe in RECIPES.values() if recipe.section == "Tables"]


@dataclass(frozen=True)
class PaperTable:
    recipe: Recipe
    truncated: bool
    """Whether answers are compared with those for truncated operands instead of truth."""
    cells: pl.DataFrame
    """A line for each cell, in percent: each seed, their mean, lowest and highest, and the deviation of the mean
    from the exact prediction. Rows of the paper with a prediction are `counted`."""
    missing: tuple[str, ...]
    """The paper's rows that no run has."""

    @property
    def name(self) -> str:
        return table_name(self.recipe, self.truncated)

    @property
    def title(self) -> str:
        return f"{self.recipe.title}, against {'truncated operands' if self.truncated else 'truth'}"

    @property
    def apart(self) -> list[str]:
        """The labels of rows that are not counted."""
        return self.cells.filter(counted=False)["row"].unique(maintain_order=True).to_list()

    def deviations(self, without: Sequence[Place] = ()) -> list[float]:
        """The deviation of the mean over seeds from exact theory, in each counted cell except those `without`."""
        found = self.cells.filter(counted=True).drop_nulls("deviation")["row", "test", "deviation"]
        return [deviation for row, test, deviation in found.iter_rows() if (row, test) not in without]

    def seed_deviations(self) -> dict[int, float]:
        """The mean deviation from exact theory of each seed that has every counted cell."""
        counted = self.cells.filter(counted=True).drop_nulls("exact")
        distance = (pl.col("percents") - pl.col("exact")).abs().mean().round(4)
        seeds = counted.explode("seeds", "percents").drop_nulls("seeds").group_by("seeds").agg(pl.len(), distance)
        whole = seeds.filter(pl.col("len") == len(counted)).sort("seeds")
        return dict(whole["seeds", "percents"].iter_rows())

    def reading(self) -> TextTable | None:
        """The table for readers: each row as measured, as predicted, and as printed, one below the other."""
        rows = self.cells.partition_by("row", maintain_order=True)
        lines = [line for row in rows for line in _reading_lines(row)]
        return text_table(self.title, lines, words=2, data=self.data())

    def data(self) -> TextTable | None:
        """The table for CSV: a line for each cell, with all digits."""
        lines = self.cells.drop("percents").to_dicts()
        return text_table(self.title, [{name: _data_text(x) for name, x in line.items()} for line in lines])


def paper_tables(collection: Collection) -> list[PaperTable]:
    both = (False, True)
    return [paper_table(collection, recipe, truncated) for recipe in paper_recipes() for truncated in both]


def table_name(recipe: Recipe, truncated: bool) -> str:
    """The name of one of a recipe's two tables, of which that against truth comes first."""
    return [*recipe.tables][truncated]


def paper_table(collection: Collection, recipe: Recipe, truncated: bool) -> PaperTable:
    """A table from the runs in a collection."""
    found = {row.removeprefix(f"{recipe.name}-"): seeds for row, seeds in rows_of(recipe, collection).items()}
    name, note = table_name(recipe, truncated), collection.notes.get(recipe.name)
    # Runs at another scale are not rows of the paper.
    printed = printed_tables()[name] if note is None or note["scale"] == "full" else {}
    shown = [row for row in printed if row != BOTH_LONG] + [BOTH_LONG, *sorted(found.keys() - {*printed})]
    lines: list[dict[str, Any]] = []
    for row in (row for row in shown if row in found):
        seeds, counted = found[row], row in printed and row != BOTH_LONG
        reference = f"truncated:{seeds.first.train.length}" if truncated else TRUTH
        for cell in theory_cells(seeds.first.spec, truncated, printed.get(row, [])):
            counts = {view.seed: view.final_counts.get((cell["test"], reference)) for view in seeds.views}
            percents = {seed: 100 * own.share for seed, own in counts.items() if own is not None}
            measured = {"seeds": [*percents], "percents": [*percents.values()]}
            lines.append({"table": name, "row": row, "counted": counted, **cell, **measured})
    percents, measured = pl.col("percents").list, pl.col("measured")
    cells = (
        pl.DataFrame(lines, CELL_COLUMNS)
        .with_columns(measured=percents.mean(), lowest=percents.min(), highest=percents.max())
        .with_columns(deviation=(measured - pl.col("exact")).abs())
    )
    return PaperTable(recipe, truncated, cells, tuple(row for row in printed if row not in found))


def against_truth(collection: Collection, recipe: Recipe) -> TextTable | None:
    return paper_table(collection, recipe, truncated=False).reading()


def against_truncated(collection: Collection, recipe: Recipe) -> TextTable | None:
    return paper_table(collection, recipe, truncated=True).reading()


def theory_cells(spec: RunSpec, truncated: bool, printed: Sequence[float]) -> Iterator[dict[str, Any]]:
    """The prediction and the paper's number for each cell of a row, in percent. Predicted agreement with truncated
    operands is always 100."""
    for prediction in spec.predictions(single_lengths(spec)):
        domain, exact = prediction.domain, prediction.accuracy
        yield {
            "trained_on": str(spec.train),
            "test": str(domain),
            "in_distribution": spec.case(domain).in_distribution,
            "exact": None if exact is None else 100.0 if truncated else float(100 * exact),
            "paper": printed[domain.length - 1] if domain.length <= len(printed) else None,
        }


def _reading_lines(row: pl.DataFrame) -> Iterator[dict[str, str]]:
    label, train = row["row"][0], row["trained_on"][0]
    marks = ["†" if trained else "" for trained in row["in_distribution"]]
    ends = zip(row["lowest"], row["highest"], strict=True)
    spread = ["" if low == high else f"{short_percent(low)}–{short_percent(high)}" for low, high in ends]
    found = {
        "measured": [short_percent(x) + mark for x, mark in zip(row["measured"], marks, strict=True)],
        "spread": spread if len(row["seeds"][0]) > 1 else [],
        "exact": [*map(short_percent, row["exact"])],
        "paper": [*map(short_percent, row["paper"])] if row["paper"].null_count() < len(row) else [],
    }
    for what, cells in found.items():
        name = "" if what != "measured" else label if label == train else f"{label}, {train}"
        if any(cells):
            yield {"trained on": name, "": what, **dict(zip(row["test"], cells, strict=True))}


def _data_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(map(str, value)) if isinstance(value, list) else value or ""


@cache
def printed_tables() -> dict[str, dict[str, list[float]]]:
    """The paper's numbers, by table and row."""
    return json.loads(files("lengthwise.report").joinpath("paper.json").read_text())["tables"]


def paper_deviations(recipe: Recipe, truncated: bool, without: Sequence[Place] = ()) -> list[float]:
    """The deviation of each number in the paper from exact theory; the tenth number of a row is the paper's own
    theory."""
    rows, printed = recipe.rows(Setting()), printed_tables()[table_name(recipe, truncated)]
    return [
        abs(cell["paper"] - cell["exact"])
        for row in printed
        if row != BOTH_LONG
        for cell in theory_cells(rows[f"{recipe.name}-{row}"].spec, truncated, printed[row])
        if (row, cell["test"]) not in without and cell["exact"] is not None
    ]


def summary(collection: Collection) -> dict[str, Any]:
    """Mean absolute deviations from exact theory in percentage points, ours and the paper's, over all cells with a
    prediction; and the accuracy on long operands."""
    tables = paper_tables(collection)
    return {
        **_distances(tables),
        "tables": {table.name: _table_summary(collection, table) for table in tables},
        **far_summary(collection),
    }


def _distances(tables: Sequence[PaperTable], without: Sequence[Place] = ()) -> dict[str, Any]:
    ours = [one for table in tables for one in table.deviations(without)]
    theirs = [one for table in tables for one in paper_deviations(table.recipe, table.truncated, without)]
    means = {"mean_abs_deviation": ours, "paper_mean_abs_deviation": theirs}
    return {"cells": len(ours), **{name: round(fmean(own), 4) if own else None for name, own in means.items()}}


def _table_summary(collection: Collection, table: PaperTable) -> dict[str, Any]:
    """The summary of a table. `seeds` is the number in the row with fewest; `spread` is the range of the seeds'
    mean deviations."""
    note = collection.notes.get(table.recipe.name)
    without = [(row, test) for row, test in table.recipe.without]
    by_seed, counts = table.seed_deviations(), {*table.cells.filter(counted=True)["seeds"].list.len()}
    worst = max(by_seed, key=lambda seed: by_seed[seed], default=None)
    found = {
        **_distances([table]),
        "spread": [min(by_seed.values()), max(by_seed.values())] if by_seed else None,
        "worst_seed": None if worst is None else {"seed": worst, "mean_abs_deviation": by_seed[worst]},
        "seeds": min(counts, default=0),
        "seeds_differ": len(counts) > 1,
        "wall_seconds": None if note is None else note["wall_seconds"],
    }
    if without:
        found["without"] = {"named": [f"{row} on {test}" for row, test in without], **_distances([table], without)}
    return found


def far_summary(collection: Collection) -> dict[str, Any]:
    """Accuracy on long operands, if there are runs: of every seed by tested length, and the mean over pairs of
    lengths outside the trained ones."""
    found: dict[str, Any] = {}
    for recipe in EVERY_SEED:
        for seeds in rows_of(RECIPES[recipe], collection).values():
            found[recipe] = {
                str(test.length): [
                    round(100 * view.final_counts[str(test), TRUTH].share, 4) for view in seeds.views
                ]
                for test in sorted(seeds.first.tests, key=lambda domain: domain.length)
            }
    outside: list[float] = []
    for view in collection.rows.get("abacus-100-add", []):
        if cells := by_lengths(Seeds((view,))):
            # A measured length represents all lengths from the one below, so that short lengths, which are
            # measured more densely, do not count more.
            stands_for = {n: n - below for below, n in pairwise([0, *sorted({n for n, _ in cells})])}
            longer = [(n, m) for n, m in cells if max(n, m) > view.train.length]
            weights = [stands_for[n] * stands_for[m] for n, m in longer]
            outside.append(fmean([cells[pair] for pair in longer], weights))
    if outside:
        found["abacus-100"] = {"outside": round(fmean(outside), 4)}
    return found
