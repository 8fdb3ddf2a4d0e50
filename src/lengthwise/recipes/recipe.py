"""What a recipe is: the rows it trains, and the tables, figures and claims that their runs fill and decide.

A run belongs to a recipe by its row, ROW-sSEED. Functions that draw figures and make tables are named here and
found by the report when it needs them, so that recipes import no torch, no matplotlib and no polars.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from lengthwise.errors import InputError
from lengthwise.experiments.config import RunConfig
from lengthwise.recipes.claims import Decide
from lengthwise.recipes.presets import Setting
from lengthwise.records.view import RunView

TUNING_SEED = 0
FRESH_SEED, FRESH_SEEDS = 101, 3
"""The paper's tables are reported on seeds that nothing was tuned on: 101 to 103 (docs/protocol.md)."""

Rows = dict[str, RunConfig]
"""What each row of a table or curve of a figure is called, and its config but for the seed."""
RowsOf = Callable[[Setting], Rows]

TABLES, CONTROLS, RELATIVE, FAR = "Tables", "Controls", "Relative positions", "Far beyond training"
"""Sections of the page of results."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    name: str
    """Of its files, results/figures/NAME.svg."""
    title: str
    caption: str
    """Two sentences that a student understands: what is drawn, and what to see in it."""
    alt: str
    """For those who cannot see it."""
    drawn_by: str
    """The function of report/figures that draws it, as `by_length.counterexample`."""
    rows: RowsOf


@dataclass(frozen=True)
class Table:
    name: str
    """Of its files, results/tables/NAME.md."""
    made_by: str
    """The function of report that makes it, as `recipe_tables.by_length`."""
    data_by: str | None = None
    """The one that makes the table which programs read, where that is another."""
    truncated: bool = False
    """Of the paper's: whether answers are compared with those on truncated operands instead of truth."""
    without: tuple[tuple[str, str], ...] = ()
    """Of the paper's: cells (row, test domain) without which its deviation from theory is given too."""


@dataclass(frozen=True)
class Claim:
    """A theorem, or something else that is said, and how runs decide it."""

    source: str
    says: str
    decide: Decide
    rows: RowsOf | None = None
    """Where runs of other rows than the recipe's decide."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    name: str
    purpose: str
    rows: RowsOf
    seeds: int = 1
    """How many at full scale, where none are asked for; in small, one."""
    first_seed: int = 1
    """Where lower ones were looked at in tuning too."""
    section: str | None = None
    """Where the page of results shows its tables."""
    title: str = ""
    words: str = ""
    """A few sentences: what was asked, and how to read the tables."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    theorems: tuple[Claim, ...] = ()
    claims: tuple[Claim, ...] = ()

    def usual_seeds(self, setting: Setting) -> int:
        return 1 if setting.laptop else self.seeds

    def runs(self, setting: Setting, seeds: int, only: Sequence[str] = ()) -> Rows:
        """Every row with `seeds` seeds from the first; 0 stands for the seed that is tuned on, alone."""
        rows = self.rows(setting)
        for name in only:
            if name not in rows:
                raise InputError(f"recipe {self.name!r} has no row {name!r}: allowed are {', '.join(rows)}")
        numbers = range(self.first_seed, self.first_seed + seeds) if seeds else (TUNING_SEED,)
        return {f"{name}-s{seed}": rows[name].changed(seed=seed) for name in only or rows for seed in numbers}


@cache
def row_names(rows: RowsOf) -> frozenset[str]:
    """At every scale."""
    return frozenset(name for scale in ("full", "laptop") for name in rows(Setting(scale=scale)))


def of_rows(rows: RowsOf, runs: Iterable[RunView]) -> list[RunView]:
    """The runs of these rows, in their order."""
    names = row_names(rows)
    return [run for run in runs if run.row in names]
