"""The paper's tables anew: every cell as measured, as theory has it exactly, and as the paper printed it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean

from lengthwise.records.schema import TRUTH
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import Prediction

BOTH_LONG = "B4"
"""A row of the paper for which there is no theory, so it is shown apart."""


@dataclass(frozen=True)
class TableSpec:
    """A table of the paper: the recipe that makes it, and what its answers are compared with."""

    recipe: str
    title: str
    truncated: bool


TABLES: dict[str, TableSpec] = {
    "addition_true_acc": TableSpec("addition", "Addition, against truth", False),
    "addition_modular_acc": TableSpec("addition", "Addition, against truncated operands", True),
    "modular_addition_true_acc": TableSpec("modular-addition", "Modular addition, against truth", False),
    "modular_addition_modular_acc": TableSpec(
        "modular-addition", "Modular addition, against truncated operands", True
    ),
    "multiplication_true_acc": TableSpec("multiplication", "Multiplication, against truth", False),
    "multiplication_modular_acc": TableSpec("multiplication", "Multiplication, against truncated operands", True),
    "modular_multiplication_true_acc": TableSpec(
        "modular-multiplication", "Modular multiplication, against truth", False
    ),
    "modular_multiplication_modular_acc": TableSpec(
        "modular-multiplication", "Modular multiplication, against truncated operands", True
    ),
}


@dataclass(frozen=True)
class Cell:
    """Percentages of right answers on one test domain: one measured for each seed."""

    test: str
    measured: tuple[float, ...]
    exact: float | None
    paper: float | None
    in_distribution: bool

    @property
    def mean(self) -> float | None:
        return fmean(self.measured) if self.measured else None

    @property
    def deviation(self) -> float | None:
        """From the exact theory, in percentage points, the mean over seeds."""
        if self.exact is None or not self.measured:
            return None
        return fmean(abs(value - self.exact) for value in self.measured)


@dataclass(frozen=True)
class ComparedRow:
    label: str
    train: str
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Comparison:
    name: str
    spec: TableSpec
    rows: tuple[ComparedRow, ...]
    """Rows that the paper has and theory speaks of: these are what is counted."""
    apart: tuple[ComparedRow, ...]
    """Rows without theory, or that the paper's table does not have."""
    missing: tuple[str, ...]

    @property
    def deviations(self) -> list[float]:
        found = (cell.deviation for row in self.rows for cell in row.cells)
        return [deviation for deviation in found if deviation is not None]


@cache
def paper_tables() -> dict[str, dict[str, list[float]]]:
    return json.loads(files("lengthwise.report").joinpath("paper.json").read_text())["tables"]


def compare(collection: Collection, name: str) -> Comparison:
    """A table from the runs there are."""
    spec, printed = TABLES[name], printed_rows(collection, name)
    found = {
        row.removeprefix(f"{spec.recipe}-"): views
        for row, views in collection.rows.items()
        if row.startswith(f"{spec.recipe}-")
    }
    counted = [row for row in printed if row != BOTH_LONG]
    others = [BOTH_LONG, *sorted(found.keys() - {*printed})]

    def compared(rows: Sequence[str]) -> tuple[ComparedRow, ...]:
        return tuple(_compared(row, found[row], spec, printed.get(row, [])) for row in rows if row in found)

    missing = tuple(row for row in printed if row not in found)
    return Comparison(name, spec, compared(counted), compared(others), missing)


def printed_rows(collection: Collection, name: str) -> dict[str, list[float]]:
    """The paper's rows by our names for them; none where the runs are of another scale than the paper's."""
    note = collection.notes.get(TABLES[name].recipe)
    if note is not None and note["scale"] != "full":
        return {}
    return {row_label(label): values for label, values in paper_tables()[name].items()}


def row_label(label: str) -> str:
    """A row of the paper as this project names it.

    >>> [row_label(label) for label in ("D4", "D~4", "D2,3,4", "p=50")]
    ['D4', 'B4', 'D2+D3+D4', 'p50']
    """
    return label.replace("D~", "B").replace("=", "").replace(",", "+D")


def _compared(label: str, views: Sequence[RunView], spec: TableSpec, printed: Sequence[float]) -> ComparedRow:
    first = views[0]
    predictions = first.spec.predictions([domain for domain in first.tests if len(domain.parts) == 1])
    measured = [view.final_counts for view in views]
    reference = str(Hypothesis("truncated", first.train.length)) if spec.truncated else TRUTH

    def cell(prediction: Prediction) -> Cell:
        key, length = (str(prediction.domain), reference), prediction.domain.length
        return Cell(
            test=str(prediction.domain),
            measured=tuple(100 * counts[key].share for counts in measured if key in counts),
            exact=_exact(prediction, spec),
            paper=printed[length - 1] if length <= len(printed) else None,
            in_distribution=first.spec.case(prediction.domain).in_distribution,
        )

    cells = tuple(map(cell, predictions))
    return ComparedRow(label, str(first.train), tuple(view.seed for view in views), cells)


def _exact(prediction: Prediction, spec: TableSpec) -> float | None:
    """In percent. A model that computes what theory says agrees with it always."""
    if prediction.accuracy is None:
        return None
    return 100.0 if spec.truncated else float(100 * prediction.accuracy)
