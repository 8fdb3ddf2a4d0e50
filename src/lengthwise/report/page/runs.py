"""Which runs a report shows: the folders named, and those found inside folders that hold some."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.folder import RunSource
from lengthwise.records.packed import is_packed, runs_below
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import Measured, Verdict, measured
from lengthwise.records.view import Judged, RunView
from lengthwise.theory.predict import Prediction

DIGIT = "digit:"
UNFINISHED = ("running", "failed")
ALLOWED = "run folders, packed results such as results/addition.json, and folders that hold some"


@dataclass(frozen=True)
class ShownRun:
    view: RunView
    label: str

    @cached_property
    def predictions(self) -> list[Prediction]:
        return self.view.spec.predictions()

    @cached_property
    def _judged(self) -> Judged:
        return self.view.last_whole()

    @property
    def verdicts(self) -> list[Verdict]:
        return self._judged.verdicts

    @property
    def step(self) -> int:
        """The evaluation that is shown as the last."""
        return self._judged.step

    @cached_property
    def standing(self) -> str:
        """Why its numbers are not the last word; empty for a finished run."""
        status, as_of = self.view.source.status(), f"shown as of step {self.step:,}"
        if status in UNFINISHED:
            return f"{status}, {as_of}"
        return f"last evaluation cut short, {as_of}" if self.step < self.view.last_step else ""

    @cached_property
    def environment(self) -> Any:
        return self.view.source.environment()

    def shares(self, domain: Domain | str, reference: str = TRUTH, metric: str = "exact") -> dict[int, float]:
        """The share counted at each step."""
        history = self.view.history(metric, domain, reference)
        return {step: r.correct / r.total for step, r in history.items() if r.correct is not None}

    def digits(self, domain: Domain) -> set[int]:
        """The answer digits that were measured one by one on a domain."""
        measures = [measure for measure in self.view.by_measure if measure.domain == str(domain)]
        return {int(m.metric[len(DIGIT) :]) for m in measures if m.mode == "forced" and m.metric.startswith(DIGIT)}

    @property
    def trained(self) -> Measured:
        """Accuracy on the training domain, after the last evaluation."""
        return measured(self.view.history("exact", self.view.train)[self.step])

    @property
    def converged(self) -> bool:
        """Whether it passed the gate of verdicts at that evaluation."""
        return self.view.converged_at(self.step)

    @property
    def last_counts(self) -> list[Record]:
        """What was counted at the last evaluation, by forcing or by decoding."""
        return [record for record in self.view.at(self.step) if record.correct is not None]


class LeftOut(NamedTuple):
    """A folder that has a config.json, yet is no run that can be shown."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True)
class FoundRuns:
    runs: tuple[ShownRun, ...]
    left_out: tuple[LeftOut, ...]


def find_runs(paths: Sequence[Path]) -> FoundRuns:
    if not paths:
        raise InputError(f"no run given: allowed are {ALLOWED}")
    found = {run.path: run for path in paths for run in _runs(path)}
    places = sorted(found)
    shown: list[ShownRun] = []
    left_out: list[LeftOut] = []
    for place, name in zip(places, _labels(places), strict=True):
        try:
            shown.append(_readable(ShownRun(RunView(found[place]), name)))
        except (InputError, OSError) as error:
            # The page may be sent to others: it names no place on this machine.
            left_out.append(LeftOut(name, str(error).replace(f"{place}/", "")))
    if not shown:
        raise InputError(f"nothing to report: {'; '.join(map(str, left_out))}")
    return FoundRuns(tuple(shown), tuple(left_out))


def _runs(path: Path) -> list[RunSource]:
    if not path.exists() and not is_packed(path.parent):
        raise InputError(f"no folder {path}: allowed are {ALLOWED}")
    found = runs_below(path.resolve())
    if not found:
        raise InputError(f"no run in {path}: a run folder has config.json and records.jsonl")
    return found


def _readable(run: ShownRun) -> ShownRun:
    """The run, if everything that will be shown of it can be read."""
    _ = run.view.spec
    if not run.view.records:
        raise InputError("it has no records yet")
    _ = run.standing, run.environment
    return run


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with as many of the folders above as it takes to tell them apart.

    >>> _labels([Path("/x/a/s1"), Path("/x/b/s1"), Path("/x/b/s2")])
    ['a/s1', 'b/s1', 'b/s2']
    """
    depth = 1
    while len({folder.parts[-depth:] for folder in folders}) < len(folders):
        depth += 1
    return ["/".join(folder.parts[-depth:]) for folder in folders]
