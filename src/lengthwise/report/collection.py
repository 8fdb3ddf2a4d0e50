"""Runs and how they are grouped: those of a results folder, and those that a report shows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.recipes import TUNING_SEED
from lengthwise.recipes.configure import one_level
from lengthwise.records.files import printable
from lengthwise.records.folder import RunSource, is_packed, notes, runs_below
from lengthwise.records.spec import RunSpec
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Verdict
from lengthwise.records.view import RunView
from lengthwise.theory.predict import Prediction

T = TypeVar("T")

RUN_NAME = re.compile(r".+-s\d+")
"""The names of recipes' runs; other runs may have any name."""

RUN_PLACES = "a run folder, packed results such as results/addition.json, or a folder that contains them"
UNFINISHED = ("running", "stopped", "interrupted", "failed")

# Options that say how a run is evaluated, not how it is trained.
WATCHING = ("seed", "test", "evaluation", "training.evaluate_every", "training.checkpoint_every")

NO_PREDICTION = "no prediction"
COUNTED = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NO_PREDICTION: "without prediction"}
"""Verdicts as words after a number: 18 hold."""


def group_by(items: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """Items by key, in order."""
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


@dataclass(frozen=True)
class Collection:
    """The content of a results folder: finished runs, and the notes of recipes."""

    folder: Path

    @cached_property
    def views(self) -> list[RunView]:
        """Finished runs of reported seeds (nothing was tuned on them), sorted by name and seed."""
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


# What a report shows -------------------------------------------------------------------------------------------


class ShownRun(NamedTuple):
    view: RunView
    label: str
    step: int
    """The step of the last complete evaluation, which is shown."""
    verdicts: list[Verdict]
    standing: str
    """Why its numbers are not final; empty for a finished run."""
    environment: Any


def find_runs(paths: Sequence[Path]) -> tuple[list[ShownRun], dict[str, str]]:
    """The runs at these paths and inside these folders, and why others there cannot be shown."""
    if not paths:
        raise InputError(f"no run given (name {RUN_PLACES})")
    found = {run.path: run for path in paths for run in _runs(path)}
    places = sorted(found)
    shown: list[ShownRun] = []
    left_out: dict[str, str] = {}
    for place, name in zip(places, _labels(places), strict=True):
        try:
            shown.append(_shown(RunView(found[place]), name))
        except (InputError, OSError) as error:
            # The page may be sent to others, so it must not contain paths of this machine.
            left_out[name] = str(error).replace(f"{place}/", "")
    if not shown:
        raise InputError(f"nothing to report: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    return shown, left_out


def _runs(path: Path) -> list[RunSource]:
    try:
        if not path.exists() and not is_packed(path.parent):
            raise InputError(f"no folder {path} (name {RUN_PLACES})")
        found = runs_below(path.resolve())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if not found:
        raise InputError(f"no run in {path} (a run folder has config.json and records.jsonl)")
    return found


def _shown(view: RunView, label: str) -> ShownRun:
    _ = view.spec
    if not view.records:
        raise InputError("it has no records yet")
    step, verdicts = view.last_whole()
    status, standing = view.source.state(), ""
    if status in UNFINISHED or step < view.last_step:
        why = status if status in UNFINISHED else "last evaluation incomplete"
        standing = f"{why}, shown as of step {step:,}"
    return ShownRun(view, label, step, verdicts, standing, view.source.environment())


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with as many parent folders as needed to make them unique.

    >>> _labels([Path("/x/a/s1"), Path("/x/b/s1"), Path("/x/b/s2")])
    ['a/s1', 'b/s1', 'b/s2']
    """
    depth = 1
    while len({folder.parts[-depth:] for folder in folders}) < len(folders):
        depth += 1
    return [printable("/".join(folder.parts[-depth:])) for folder in folders]


@dataclass(frozen=True)
class Setting:
    """Runs that were trained alike, but for the seed."""

    runs: tuple[ShownRun, ...]
    name: str
    """What sets it apart from the question's other settings; empty where it is the only one."""

    @property
    def label(self) -> str:
        seeds = sorted({run.view.seed for run in self.runs})
        again = f", {len(self.runs)} runs" if len(self.runs) > len(seeds) else ""
        named = f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}{again}"
        return f"{self.name} ({named})" if self.name else named


@dataclass(frozen=True)
class Question:
    """Runs of one task, training domain, encoding and layout."""

    number: int
    settings: tuple[Setting, ...]

    @property
    def runs(self) -> list[ShownRun]:
        return [run for setting in self.settings for run in setting.runs]

    @property
    def spec(self) -> RunSpec:
        return self.runs[0].view.spec

    @cached_property
    def predictions(self) -> dict[Domain, Prediction]:
        """Of every test domain that any of the runs has, the most tested list first."""
        specs = sorted((run.view.spec for run in self.runs), key=lambda spec: -len(spec.tests))
        return {row.domain: row for spec in specs for row in spec.predictions()}

    @property
    def domains(self) -> list[Domain]:
        return list(self.predictions)

    @property
    def predicted(self) -> bool:
        """Whether there is a prediction for any domain."""
        return any(row.hypothesis is not None for row in self.predictions.values())

    def in_training(self, domain: Domain) -> bool:
        return self.spec.case(domain).in_distribution

    @property
    def counts(self) -> dict[str, int]:
        return verdict_counts(self.runs)


def verdict_counts(runs: Iterable[ShownRun]) -> dict[str, int]:
    words = [row.word or NO_PREDICTION for run in runs for row in run.verdicts]
    return {word: words.count(word) for word in COUNTED}


def questions(runs: Sequence[ShownRun]) -> list[Question]:
    groups = group_by(sorted(runs, key=_order), lambda run: _order(run)[:-2])
    return [Question(number, _settings(group)) for number, group in enumerate(groups.values(), start=1)]


def _order(run: ShownRun) -> tuple[Any, ...]:
    """A key that sorts by question, seed and name."""
    spec, task = run.view.spec, run.view.spec.task
    asked = (task.operation, task.modulus or 0, task.base, spec.train.length, str(spec.train))
    return (*asked, spec.encoding, spec.layout, spec.seed, run.label)


def _settings(runs: Sequence[ShownRun]) -> tuple[Setting, ...]:
    names = told_apart({run.label: run.view.config for run in runs})
    groups = group_by(runs, lambda run: names[run.label])
    return tuple(Setting(tuple(group), name) for name, group in groups.items())


def told_apart(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """For each run of one question, how its training differs from the others: empty if all were trained in the
    same way, equal for runs that differ only in their seed."""
    flat = {label: one_level(config) for label, config in configs.items()}
    first, *others = flat.values()
    # A config of an earlier version lacks later keys; only keys that all have can be compared.
    shared = [key for key in first if all(key in other for other in others) and not key.startswith(WATCHING)]
    differing = [key for key in shared if any(other[key] != first[key] for other in others)]
    return {label: ", ".join(_named(key, config[key]) for key in differing) for label, config in flat.items()}


def _named(key: str, value: Any) -> str:
    return f"{key.rpartition('.')[2].replace('_', ' ')} {'–' if value is None else value}"
