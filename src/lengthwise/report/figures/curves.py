"""The numbers that figures draw, from the records of runs: a measurement through training, and seeds together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from lengthwise.arithmetic import Domain
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.view import RunView

Series = dict[int, float]
"""A number for each step."""


@dataclass(frozen=True)
class Band:
    """Runs that differ by their seed: the mean, and the lowest and highest, at the steps they all have."""

    steps: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


class Curves:
    """A run whose records are found by what they measure."""

    def __init__(self, view: RunView) -> None:
        self.view = view

    @property
    def own_domain(self) -> str:
        return str(self.view.train)

    def percent(self, metric: str, domain: str, reference: str = TRUTH) -> Series:
        """A count through training, in percent."""
        return {step: 100 * share(record) for step, record in self.view.history(metric, domain, reference).items()}

    def values(self, metric: str) -> Series:
        """A measurement that is made on one domain alone, such as the training loss."""
        found = (records for measure, records in self.view.by_measure.items() if measure.metric == metric)
        return {step: r.value for step, r in next(found, {}).items() if r.value is not None}

    def last(self, metric: str, domain: str, reference: str = TRUTH) -> Record | None:
        """The record of the last evaluation that has it."""
        found = self.view.history(metric, domain, reference)
        return found[max(found)] if found else None

    def numbered(self, metric: str) -> list[int]:
        """The numbers k for which there are records of `metric:k`."""
        return sorted(
            {int(name.split(":")[1]) for name, *_ in self.view.by_measure if name.startswith(f"{metric}:")}
        )


def share(record: Record) -> float:
    assert record.correct is not None, record.metric
    return record.correct / record.total


def grouped(views: Iterable[RunView], label: Callable[[RunView], str]) -> dict[str, list[Curves]]:
    """Runs of one label are seeds of one setting; runs without a record are left out."""
    groups: dict[str, list[Curves]] = {}
    for view in views:
        if view.records:
            groups.setdefault(label(view), []).append(Curves(view))
    return groups


def by_training_set(views: Iterable[RunView]) -> dict[str, list[Curves]]:
    return grouped(views, lambda view: str(view.train))


def row_label(view: RunView) -> str:
    """What tells the rows of a table apart: the modulus and the training set."""
    modulus = view.task.modulus
    return f"trained on {view.train}" if modulus is None else f"modulo {modulus}, {view.train}"


def band(series: Sequence[Series]) -> Band:
    common = sorted(set[int].intersection(*(set(one) for one in series))) if series else []
    at = [[one[step] for one in series] for step in common]
    return Band(common, [fmean(v) for v in at], [min(v) for v in at], [max(v) for v in at])


def single_lengths(view: RunView) -> list[Domain]:
    """The test domains of one length each, in order."""
    return sorted((d for d in view.tests if len(d.parts) == 1), key=lambda domain: domain.length)
