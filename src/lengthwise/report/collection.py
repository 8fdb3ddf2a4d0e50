"""What a results folder holds: finished runs by row and seed, and the notes that recipes left."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.records.packed import notes, runs_below
from lengthwise.records.view import RunView

if TYPE_CHECKING:
    import polars as pl

TUNING_SEED = 0
"""Tables show seeds that nothing was tuned on."""

RUN_NAME = re.compile(r".+-s\d+")
"""Runs of recipes; a run may have any other name."""


@dataclass(frozen=True)
class Collection:
    folder: Path

    @cached_property
    def views(self) -> list[RunView]:
        """Finished runs of seeds that are reported, by name, seeds in order."""
        return [view for view in self._reported if view.source.status() == "done"]

    @property
    def unfinished(self) -> dict[str, str]:
        """Runs that no table or figure shows, and their status."""
        found = {view.name: str(view.source.status()) for view in self._reported}
        return {name: status for name, status in found.items() if status != "done"}

    @cached_property
    def _reported(self) -> list[RunView]:
        # A run that is live and packed at once is read from its folder.
        runs = {run.name: run for run in reversed(runs_below(self.folder)) if RUN_NAME.fullmatch(run.name)}
        found = [view for view in map(RunView, runs.values()) if view.seed != TUNING_SEED]
        return sorted(found, key=lambda view: (view.row, view.seed))

    @cached_property
    def rows(self) -> dict[str, list[RunView]]:
        """Seeds of one row, under the name they share. Not by `question`: the config of a seed that an earlier
        version trained may lack what came later."""
        grouped: dict[str, list[RunView]] = {}
        for view in self.views:
            grouped.setdefault(view.row, []).append(view)
        return grouped

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """All records of these runs, with what each run asked (records/frame.py)."""
        from lengthwise.records.frame import records_frame  # noqa: PLC0415

        recipes = {name: recipe for recipe, note in reversed(self.notes.items()) for name in note["runs"]}
        return records_frame(self.views, recipes)

    @cached_property
    def notes(self) -> dict[str, dict[str, Any]]:
        """What each recipe took: OUT/NAME.json."""
        return notes(self.folder)
