"""How far everything is from exact theory, in one number: ours, and the paper's own."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from lengthwise.report.collection import Collection
from lengthwise.report.comparison import BOTH_LONG, TABLES, Comparison, paper_tables, row_label
from lengthwise.report.far import far_summary
from lengthwise.theory.predict import predict

OPERATIONS = {"addition": "add", "multiplication": "mul"}
PAPER_MODULAR_DOMAIN = {"add": "D4", "mul": "D3"}


def summary(collection: Collection, comparisons: Iterable[Comparison]) -> dict[str, Any]:
    """Mean absolute deviations in percentage points, over all cells that theory speaks of."""
    compared = list(comparisons)
    ours = [deviation for comparison in compared for deviation in comparison.deviations]
    theirs = [deviation for name in TABLES for deviation in paper_deviations(name)]
    return {
        "cells": len(ours),
        "mean_abs_deviation": _mean(ours),
        "paper_mean_abs_deviation": _mean(theirs),
        "tables": {comparison.name: _table(collection, comparison) for comparison in compared},
        **far_summary(collection),
    }


def _table(collection: Collection, comparison: Comparison) -> dict[str, Any]:
    note = collection.notes.get(comparison.spec.recipe)
    return {
        "cells": len(comparison.deviations),
        "mean_abs_deviation": _mean(comparison.deviations),
        "paper_mean_abs_deviation": _mean(paper_deviations(comparison.name)),
        "wall_seconds": None if note is None else note["wall_seconds"],
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def paper_deviations(name: str) -> list[float]:
    """How far each number that the paper printed is from exact theory."""
    return [
        abs(printed - exact)
        for label, row in paper_tables()[name].items()
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
    rows = predict(task, train, test).rows
    if spec.truncated:
        return [100.0 for _ in rows]
    return [float(100 * row.accuracy) for row in rows if row.accuracy is not None]
