"""What the records of a run tell besides verdicts: the order of learning, standstills, dependence on digits.

- A digit counts as *learned* from the first evaluation on from which it is right 99 % of the time or more, at that
  evaluation and at every later one. The *top* positions are those from the shortest trained length to one above
  the longest: 4 and 5 for D4, 4 to 6 for D4+D5. The paper's remark on Theorem 1 says that they come last, its
  appendix that they come first.
- Accuracy *stands still* over three or more evaluations in a row that all lie within two standard errors of their
  mean, below the 99 % from which a domain counts as learned.
- *Dependence* is how often an answer digit changes where an operand digit does, beside what theory says exactly.

>>> standstills({0: 0.0, 10: 0.62, 20: 0.63, 30: 0.62, 40: 0.97}, problems=1000)
[Standstill(first=10, last=30, accuracy=0.6233333333333334)]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from math import inf, sqrt
from statistics import fmean
from typing import Any

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED, Measured
from lengthwise.theory.dependence import Matrix, dependence_matrix
from lengthwise.theory.hypotheses import Hypothesis

LEARNED = 0.99
FEWEST = 3
"""Evaluations that make a standstill."""


@dataclass(frozen=True, slots=True)
class LearningOrder:
    steps: dict[int, int | None]
    """When each position was learned; None where it was not."""
    top: tuple[int, ...]

    @property
    def top_last(self) -> str | None:
        """The remark: no top position before any position below. `undecided` where an evaluation shows both, None
        where one side has no position."""
        return _all_before(self._times(range(1, self.top[0])), self._times(self.top))

    @property
    def top_first(self) -> str | None:
        """The appendix: no position below before any top one."""
        return _all_before(self._times(self.top), self._times(range(1, self.top[0])))

    def _times(self, positions: Sequence[int]) -> list[float]:
        """When these positions were learned; those above the top, which hold no digit, are never asked for."""
        return [inf if step is None else step for position, step in self.steps.items() if position in positions]


def _all_before(earlier: Sequence[float], later: Sequence[float]) -> str | None:
    if not earlier or not later:
        return None
    if max(earlier) == min(later):
        return UNDECIDED
    return HOLDS if max(earlier) < min(later) else FAILS


def learning_order(records: Iterable[Record], train: Domain, domain: str | None = None) -> LearningOrder:
    """From the records of one run, on the training domain or another one that was tested."""
    where = str(train) if domain is None else domain
    curves: dict[int, dict[int, float]] = {}
    for record in records:
        kind, _, position = record.metric.partition(":")
        if kind == "digit" and record.domain == where and record.reference == TRUTH:
            assert record.correct is not None
            curves.setdefault(int(position), {})[record.step] = record.correct / record.total
    if not any(len(curve) > 1 for curve in curves.values()):
        raise InputError(f"the records tell no digits of {where} through training: train with --evaluation.digits")
    lengths = [part.length for part in train.parts]
    top = tuple(range(min(lengths), max(lengths) + 2))
    return LearningOrder({position: learned_at(curves[position]) for position in sorted(curves)}, top)


def learned_at(accuracies: dict[int, float]) -> int | None:
    """The first step from which the accuracy stays.

    >>> learned_at({0: 0.1, 10: 0.995, 20: 0.98, 30: 0.99, 40: 1.0}), learned_at({0: 1.0, 10: 0.5})
    (30, None)
    """
    learned = takewhile(lambda step: accuracies[step] >= LEARNED, sorted(accuracies, reverse=True))
    return min(learned, default=None)


@dataclass(frozen=True, slots=True)
class Standstill:
    """From the first to the last step; `accuracy` is the mean over its evaluations."""

    first: int
    last: int
    accuracy: float

    def is_at(self, height: float, problems: int) -> bool:
        """Whether a predicted accuracy lies within two standard errors of it."""
        return abs(height - self.accuracy) <= _tolerance(self.accuracy, problems)


def standstills(accuracies: Mapping[int, float], problems: int) -> list[Standstill]:
    """From left to right, each as long as can be; what is measured before training starts does not count.

    `problems` is the number of problems of one evaluation.
    """
    steps = sorted(step for step in accuracies if step > 0)
    found: list[Standstill] = []
    start = 0
    while start < len(steps):
        end = start
        while end < len(steps) and _stands([accuracies[step] for step in steps[start : end + 1]], problems):
            end += 1
        mean = fmean(accuracies[step] for step in steps[start:end])
        if end - start < FEWEST:
            start += 1
        else:
            if mean < LEARNED:
                found.append(Standstill(steps[start], steps[end - 1], mean))
            start = end
    return found


def _stands(accuracies: Sequence[float], problems: int) -> bool:
    mean = fmean(accuracies)
    return all(abs(one - mean) <= _tolerance(mean, problems) for one in accuracies)


def _tolerance(mean: float, problems: int) -> float:
    """Two standard errors; where nothing or everything is right, those of one problem."""
    share = min(max(mean, 1 / problems), 1 - 1 / problems)
    return 2 * sqrt(share * (1 - share) / problems)


@dataclass(frozen=True, slots=True)
class Dependence:
    """Row i - 1 is answer digit i, column j - 1 is digit j of operand a."""

    hypothesis: Hypothesis | None
    measured: list[list[Measured]]
    """How many answers changed."""
    exact: Matrix
    """The share that the hypothesis changes; None where there is none, or none is derived."""

    def as_json(self) -> dict[str, Any]:
        cells = [
            {
                "answer_digit": i + 1,
                "operand_digit": j + 1,
                "changed": measured.correct,
                "total": measured.total,
                "exact": None if (share := self.exact[i][j]) is None else str(share),
            }
            for i, row in enumerate(self.measured)
            for j, measured in enumerate(row)
        ]
        return {"hypothesis": None if self.hypothesis is None else str(self.hypothesis), "cells": cells}


def dependence_of(records: Iterable[Record], task: Task, hypothesis: Hypothesis | None) -> Dependence:
    """From the records of one run at one step."""
    counts: dict[tuple[int, int], Measured] = {}
    for record in records:
        kind, _, place = record.metric.partition(":")
        if kind == "depends":
            assert record.correct is not None
            i, j = map(int, place.split(":"))
            counts[i, j] = Measured(record.correct, record.total, enumerated=False)
    if not counts:
        raise InputError("the records tell no dependence: train or evaluate with dependence")
    rows, length = map(max, zip(*counts, strict=True))
    measured = [[counts[i, j] for j in range(1, length + 1)] for i in range(1, rows + 1)]
    return Dependence(hypothesis, measured, _exact(task, hypothesis, length, rows))


def _exact(task: Task, hypothesis: Hypothesis | None, length: int, rows: int) -> Matrix:
    """Answers may be written wider than operands of this length need: there no digit ever changes."""
    if hypothesis is None:
        return [[None] * length for _ in range(rows)]
    matrix = dependence_matrix(task, hypothesis, length)
    return matrix + [[Fraction()] * length for _ in range(rows - len(matrix))]
