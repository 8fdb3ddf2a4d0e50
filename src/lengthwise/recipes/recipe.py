"""What a recipe is: the rows it trains, and the tables, figures and claims that their runs fill and decide.

A run belongs to a recipe by its row, ROW-sSEED. What is said of a recipe, and which functions of the report make
its tables and figures, is in catalogue.toml: they are found when needed, so that recipes import no torch, no
matplotlib and no polars.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from lengthwise.errors import InputError
from lengthwise.recipes.claims import Decide
from lengthwise.recipes.presets import SCALES, Setting
from lengthwise.records.view import RunView
from lengthwise.runs.config import RunConfig

TUNING_SEED = 0
FRESH_SEED, FRESH_SEEDS = 101, 3
"""The paper's tables are reported on seeds that nothing was tuned on: 101 to 103 (docs/protocol.md)."""

Rows = dict[str, RunConfig]
"""What each row of a table or curve of a figure is called, and its config but for the seed."""
RowsOf = Callable[[Setting], Rows]
Claims = Mapping[str, Decide]
"""Where something is said, and how runs decide it."""


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
    """The function of report/figures that draws it, as `lengths.counterexample`."""
    of: str
    """The recipe whose rows it shows."""


@dataclass(frozen=True)
class Recipe:
    name: str
    rows: RowsOf
    seeds: int = 1
    """How many at full scale, where none are asked for; in small, one."""
    first_seed: int = 1
    """Where lower ones were looked at in tuning too."""
    theorems: Claims = field(default_factory=dict[str, Decide])
    claims: Claims = field(default_factory=dict[str, Decide])
    claim_rows: RowsOf | None = None
    """Where runs of other rows than its own decide."""

    @property
    def words(self) -> dict[str, Any]:
        """What the catalogue says of it."""
        return catalogue()["recipes"][self.name]

    @property
    def purpose(self) -> str:
        return self.words["purpose"]

    @property
    def title(self) -> str:
        """Of its part of the page of results."""
        return self.words.get("title", f"`{self.name}`: {self.purpose}")

    @property
    def section(self) -> str | None:
        """Of the page of results, where its tables are shown."""
        return self.words.get("section")

    @property
    def tables(self) -> dict[str, str]:
        """By the name of their files, the functions of report that make them, as `recipe_tables.by_length`."""
        return self.words.get("tables", {})

    @property
    def figures(self) -> list[Figure]:
        return [figure for owner, figure in _figures() if owner == self.name]

    def usual_seeds(self, setting: Setting) -> int:
        return 1 if setting.laptop else self.seeds

    def runs(self, setting: Setting, seeds: int, only: Sequence[str] = ()) -> Rows:
        """Every row with `seeds` seeds from the first; 0 stands for the seed that is tuned on, alone."""
        rows = self.rows(setting)
        for name in only:
            if name not in rows:
                raise InputError(f"recipe {self.name!r} has no row {name!r} (choose from {', '.join(rows)})")
        numbers = range(self.first_seed, self.first_seed + seeds) if seeds else (TUNING_SEED,)
        return {f"{name}-s{seed}": rows[name].changed(seed=seed) for name in only or rows for seed in numbers}


@cache
def catalogue() -> dict[str, Any]:
    return tomllib.loads(files("lengthwise.recipes").joinpath("catalogue.toml").read_text())


@cache
def _figures() -> list[tuple[str, Figure]]:
    """Every figure, with the recipe that it belongs to."""
    found: list[tuple[str, Figure]] = []
    for entry in catalogue()["figures"]:
        for of, words in entry["of"].items():
            texts = {key: entry[key].format(recipe=of, words=words) for key in ("name", "title", "caption", "alt")}
            found.append((entry.get("recipe", of), Figure(**texts, drawn_by=entry["drawn_by"], of=of)))
    return found


@cache
def row_names(rows: RowsOf) -> frozenset[str]:
    """At every scale."""
    return frozenset(name for scale in SCALES for name in rows(Setting(scale=scale)))


def of_rows(rows: RowsOf, runs: Iterable[RunView]) -> list[RunView]:
    """The runs of these rows, in their order."""
    names = row_names(rows)
    return [run for run in runs if run.row in names]
