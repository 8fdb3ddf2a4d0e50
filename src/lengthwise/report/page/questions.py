"""Runs by what they ask: the same task, training domain, encoding and layout; within it, by setting and seed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from lengthwise.arithmetic import Domain, Task
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.report.page.runs import ShownRun
from lengthwise.report.words import positions_label
from lengthwise.theory.predict import Prediction

T = TypeVar("T")

# What says how a run is watched, not how it is trained.
WATCHING = ("seed", "test", "evaluation", "training.evaluate_every", "training.checkpoint_every")
NO_PREDICTION = "no prediction"
COUNTED = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NO_PREDICTION: "without prediction"}
"""Verdicts after a number: 18 hold."""


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seeds alone."""

    runs: tuple[ShownRun, ...]
    name: str
    """What sets it apart from the question's other settings; empty where it is the only one."""

    @property
    def seeds(self) -> str:
        seeds = sorted({run.view.seed for run in self.runs})
        again = f", {len(self.runs)} runs" if len(self.runs) > len(seeds) else ""
        return f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}{again}"

    @property
    def label(self) -> str:
        return f"{self.name} ({self.seeds})" if self.name else self.seeds

    @property
    def steps(self) -> list[int]:
        """Where all of them were evaluated."""
        every = [{record.step for record in run.view.records} for run in self.runs]
        return sorted(set.intersection(*every))

    def mean(self, of: Callable[[ShownRun], dict[int, float]]) -> dict[int, float]:
        """The mean over the runs at every step that all of them have."""
        found = [of(run) for run in self.runs]
        common = sorted(set.intersection(*(set(values) for values in found)))
        return {step: sum(values[step] for values in found) / len(found) for step in common}


@dataclass(frozen=True)
class Question:
    number: int
    settings: tuple[Setting, ...]

    @property
    def runs(self) -> list[ShownRun]:
        return [run for setting in self.settings for run in setting.runs]

    @property
    def task(self) -> Task:
        return self.runs[0].view.task

    @property
    def train(self) -> Domain:
        return self.runs[0].view.train

    @property
    def encoding(self) -> str:
        return self.runs[0].view.encoding

    @property
    def layout(self) -> str:
        return self.runs[0].view.layout

    @property
    def positions(self) -> str:
        return positions_label(self.encoding, self.layout)

    @cached_property
    def predictions(self) -> dict[Domain, Prediction]:
        """Of every test domain that any of the runs has, the most tested list first."""
        rows = sorted(self.runs, key=lambda run: -len(run.predictions))
        return {row.domain: row for run in rows for row in run.predictions}

    @property
    def domains(self) -> list[Domain]:
        return list(self.predictions)

    @property
    def predicted(self) -> bool:
        """Whether theory says something of any domain."""
        return any(row.hypothesis is not None for row in self.predictions.values())

    def in_training(self, domain: Domain) -> bool:
        return self.runs[0].view.spec.case(domain).in_distribution

    @property
    def counts(self) -> dict[str, int]:
        return verdict_counts(self.runs)


def verdict_counts(runs: Iterable[ShownRun]) -> dict[str, int]:
    words = [row.word or NO_PREDICTION for run in runs for row in run.verdicts]
    return {word: words.count(word) for word in COUNTED}


def questions(runs: Sequence[ShownRun]) -> list[Question]:
    groups = _grouped(sorted(runs, key=_order), _asked)
    return [Question(number, _settings(group)) for number, group in enumerate(groups, start=1)]


def _order(run: ShownRun) -> tuple[Any, ...]:
    view = run.view
    task = (view.task.operation, view.task.modulus or 0, view.task.base)
    return (*task, view.train.length, str(view.train), view.encoding, view.layout, view.seed, run.label)


def _asked(run: ShownRun) -> tuple[Any, ...]:
    view = run.view
    return (view.task, view.train, view.encoding, view.layout)


def _settings(runs: Sequence[ShownRun]) -> tuple[Setting, ...]:
    flat = [_flat(run.view.config) for run in runs]
    # A config of an earlier version lacks what came later; what only some have cannot be compared.
    shared = [key for key in flat[0] if all(key in other for other in flat) and not key.startswith(WATCHING)]
    differing = [key for key in shared if any(other[key] != flat[0][key] for other in flat)]
    values = {run.label: {key: other[key] for key in differing} for run, other in zip(runs, flat, strict=True)}
    groups = _grouped(runs, lambda run: repr(values[run.label]))
    return tuple(Setting(tuple(group), _setting_name(values[group[0].label])) for group in groups)


def _setting_name(values: dict[str, Any]) -> str:
    return ", ".join(f"{key.rpartition('.')[2].replace('_', ' ')} {value}" for key, value in values.items())


def _flat(content: dict[str, Any], place: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in content.items():
        name = f"{place}{key}"
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _grouped(items: Iterable[T], key: Callable[[T], Any]) -> list[list[T]]:
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
