"""What a results folder holds: finished runs by row and seed, and the notes that recipes left."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lengthwise.records.packed import notes, runs_below
from lengthwise.records.view import RunView

TUNING_SEED = 0
"""Tables show seeds that nothing was tuned on."""

RUN_NAME = re.compile(r"(?P<row>.+)-s(?P<seed>\d+)")


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
        found: list[tuple[str, int, RunView]] = []
        # A run that is live and packed at once is read from its folder.
        runs = {run.name: run for run in reversed(runs_below(self.folder))}
        for name, run in runs.items():
            named = RUN_NAME.fullmatch(name)
            if named and int(named["seed"]) != TUNING_SEED:
                found.append((named["row"], int(named["seed"]), RunView(run)))
        return [view for *_, view in sorted(found, key=lambda entry: entry[:2])]

    @cached_property
    def rows(self) -> dict[str, list[RunView]]:
        """Runs that differ in seed alone, under the name they share."""
        grouped: dict[str, list[RunView]] = {}
        for view in self.views:
            grouped.setdefault(view.spec.question, []).append(view)
        return {row_name(views[0]): views for views in grouped.values()}

    @cached_property
    def notes(self) -> dict[str, dict[str, Any]]:
        """What each recipe took: OUT/NAME.json."""
        return notes(self.folder)


def row_name(view: RunView) -> str:
    named = RUN_NAME.fullmatch(view.name)
    assert named is not None, "a collection holds runs of recipes alone"
    return named["row"]
