"""The paper's tables anew: every cell as measured, as theory has it exactly, and as the paper printed it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Any

import polars as pl

from lengthwise.records.schema import TRUTH
from lengthwise.records.spec import RunSpec
from lengthwise.report.collection import Collection
from lengthwise.report.far import far_summary
from lengthwise.report.formats import TextTable
from lengthwise.report.tables import short_percent
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import Prediction, predict

BOTH_LONG = "B4"
"""A row of the paper for which there is no theory, so it is shown apart."""

LEGEND = (
    "Percent of right answers. measured: the mean over seeds, and their spread where there are several. "
    "exact: what theory says, computed, not approximated. paper: what the paper printed. "
    "†: the length was in the training domain. –: no number."
)

OPERATIONS = {"addition": "add", "multiplication": "mul"}
PAPER_MODULAR_DOMAIN = {"add": "D4", "mul": "D3"}

THEORY_COLUMNS: dict[str, type[pl.DataType]] = {
    "table": pl.String,
    "row": pl.String,
    "trained_on": pl.String,
    "test": pl.String,
    "in_distribution": pl.Boolean,
    "counted": pl.Boolean,
    "reference": pl.String,
    "exact": pl.Float64,
    "paper": pl.Float64,
}
DATA_COLUMNS = (
    *("table", "row", "trained_on", "test", "in_distribution", "counted", "seeds"),
    *("measured", "lowest", "highest", "exact", "paper", "deviation"),
)


@dataclass(frozen=True)
class TableSpec:
    """A table of the paper: the recipe that makes it, and what its answers are compared with."""

    recipe: str
    title: str
    truncated: bool


def _pair(recipe: str, words: str) -> dict[str, TableSpec]:
    name = recipe.replace("-", "_")
    return {
        f"{name}_true_acc": TableSpec(recipe, f"{words}, against truth", False),
        f"{name}_modular_acc": TableSpec(recipe, f"{words}, against truncated operands", True),
    }


TABLES: dict[str, TableSpec] = {
    **_pair("addition", "Addition"),
    **_pair("modular-addition", "Modular addition"),
    **_pair("multiplication", "Multiplication"),
    **_pair("modular-multiplication", "Modular multiplication"),
}


@dataclass(frozen=True)
class PaperTable:
    name: str
    cells: pl.DataFrame
    """A line for each cell, with the columns of DATA_COLUMNS, in percent; `deviation` is the mean distance of its
    seeds from exact theory. Rows that the paper has and theory speaks of are `counted`, others are shown apart."""
    missing: tuple[str, ...]
    """The paper's rows that no run has."""

    @property
    def spec(self) -> TableSpec:
        return TABLES[self.name]

    @property
    def deviations(self) -> list[float]:
        return self.cells.filter("counted")["deviation"].drop_nulls().to_list()

    @property
    def apart(self) -> list[str]:
        """The labels of rows that are not counted."""
        return self.cells.filter(~pl.col("counted"))["row"].unique(maintain_order=True).to_list()

    def reading(self) -> TextTable:
        """Each row as measured, as theory has it, and as the paper has it, below one another."""
        rows = self.cells.partition_by("row", maintain_order=True)
        columns = rows[0]["test"].to_list() if rows else []
        lines = [line for row in rows for line in _reading_lines(row)]
        return TextTable(self.spec.title, ("trained on", "", *columns), tuple(lines), words=2)

    def data(self) -> TextTable:
        """A line for each cell, with all digits."""
        lines = tuple(tuple(map(_data_text, line)) for line in self.cells.select(DATA_COLUMNS).iter_rows())
        return TextTable(self.spec.title, DATA_COLUMNS, lines)


def paper_table(collection: Collection, name: str) -> PaperTable:
    """A table from the runs there are."""
    prefix, printed = f"{TABLES[name].recipe}-", printed_rows(collection, name)
    found = {
        row.removeprefix(prefix): views[0].spec for row, views in collection.rows.items() if row.startswith(prefix)
    }
    shown = [row for row in printed if row != BOTH_LONG] + [BOTH_LONG, *sorted(found.keys() - {*printed})]
    theory = [
        line
        for row in shown
        if row in found
        for line in _theory_lines(name, row, found[row], printed.get(row, []), row in printed and row != BOTH_LONG)
    ]
    missing = tuple(row for row in printed if row not in found)
    return PaperTable(name, _measured(collection, prefix, theory), missing)


def _theory_lines(
    name: str, row: str, spec: RunSpec, printed: Sequence[float], counted: bool
) -> Iterator[tuple[Any, ...]]:
    """What is known of a row's cells before anything is measured."""
    truncated = TABLES[name].truncated
    reference = str(Hypothesis("truncated", spec.train.length)) if truncated else TRUTH
    for prediction in spec.predictions([domain for domain in spec.tests if len(domain.parts) == 1]):
        domain = prediction.domain
        paper = printed[domain.length - 1] if domain.length <= len(printed) else None
        place = (name, row, str(spec.train), str(domain), spec.case(domain).in_distribution, counted)
        yield (*place, reference, _exact(prediction, truncated), paper)


def _exact(prediction: Prediction, truncated: bool) -> float | None:
    """In percent. A model that computes what theory says agrees with it always."""
    if prediction.accuracy is None:
        return None
    return 100.0 if truncated else float(100 * prediction.accuracy)


def _measured(collection: Collection, prefix: str, theory: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """The cells with what the seeds of each row have there."""
    cells = pl.DataFrame(theory, schema=THEORY_COLUMNS, orient="row")
    runs = collection.final.select(
        pl.col("row").str.strip_prefix(prefix), pl.col("domain").alias("test"), "reference", "seed", "percent"
    )
    seeds = runs.group_by("row").agg(pl.col("seed").unique().sort()).select("row", pl.col("seed").alias("seeds"))
    percent = pl.col("percent")
    measured = (
        cells.join(runs, on=["row", "test", "reference"], maintain_order="left_right")
        .group_by("row", "test", maintain_order=True)
        .agg(
            percent.mean().alias("measured"),
            percent.min().alias("lowest"),
            percent.max().alias("highest"),
            (percent - pl.col("exact")).abs().mean().alias("deviation"),
        )
    )
    joined = cells.join(seeds, on="row", how="left", maintain_order="left")
    return joined.join(measured, on=["row", "test"], how="left", maintain_order="left").select(DATA_COLUMNS)


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


def printed_rows(collection: Collection, name: str) -> dict[str, list[float]]:
    """The paper's rows by our names for them; none where the runs are of another scale than the paper's."""
    note = collection.notes.get(TABLES[name].recipe)
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


def summary(collection: Collection, tables: Iterable[PaperTable]) -> dict[str, Any]:
    """How far everything is from exact theory, ours and the paper's own: mean absolute deviations in percentage
    points, over all cells that theory speaks of."""
    found = list(tables)
    ours = [deviation for table in found for deviation in table.deviations]
    theirs = [deviation for name in TABLES for deviation in paper_deviations(name)]
    return {
        "cells": len(ours),
        "mean_abs_deviation": _mean(ours),
        "paper_mean_abs_deviation": _mean(theirs),
        "tables": {table.name: _table_summary(collection, table) for table in found},
        **far_summary(collection),
    }


def _table_summary(collection: Collection, table: PaperTable) -> dict[str, Any]:
    note = collection.notes.get(table.spec.recipe)
    return {
        "cells": len(table.deviations),
        "mean_abs_deviation": _mean(table.deviations),
        "paper_mean_abs_deviation": _mean(paper_deviations(table.name)),
        "wall_seconds": None if note is None else note["wall_seconds"],
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def paper_deviations(name: str) -> list[float]:
    """How far each number that the paper printed is from exact theory."""
    return [
        abs(printed - exact)
        for label, row in printed_tables()[name].items()
        if row_label(label) != BOTH_LONG
        for printed, exact in zip(row, _exact_row(name, row_label(label)), strict=False)
    ]


def _exact_row(name: str, label: str) -> list[float]:
    """Nine lengths; what the paper adds as a tenth number is its own theory."""
    spec = TABLES[name]
    modular = spec.recipe.startswith("modular-")
    operation = OPERATIONS[spec.recipe.removeprefix("modular-")]
    task = f"{operation}%{label.removeprefix('p')}" if modular else operation
    train, test = (PAPER_MODULAR_DOMAIN[operation], "B1..9") if modular else (label, "D1..9")
    found = (_exact(row, spec.truncated) for row in predict(task, train, test).rows)
    return [value for value in found if value is not None]
