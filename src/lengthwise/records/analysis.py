"""Analyses of a run's records besides verdicts: the order of learning, plateaus, dependence on digits.

- A digit counts as *learned* from the first evaluation after which its accuracy stays at 99 % or more. The *top*
  positions are those from the shortest trained length to one above the longest: 4 and 5 for D4, 4 to 6 for D4+D5.
  The paper's remark on Theorem 1 says that they are learned last, its appendix that they are learned first.
- Accuracy *stands still* (a plateau) over three or more evaluations in a row that are all within two standard
errors
  of their mean, below the 99 % from which a domain counts as learned.
- *Dependence* is how often replacing an operand digit changes an answer digit, with the exact share of theory.

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
from lengthwise.theory.accuracy import Matrix, dependence_matrix
from lengthwise.theory.hypotheses import Hypothesis

LEARNED = 0.99
FEWEST = 3
"""Fewest evaluations of a standstill."""


@dataclass(frozen=True, slots=True)
class LearningOrder:
    steps: dict[int, int | None]
    """The step at which each position was learned; None if it was not."""
    top: tuple[int, ...]

    @property
    def top_last(self) -> str | None:
        """The paper's remark: no top position is learned before a lower one. `undecided` if both are learned at
        the same evaluation, None if one side has no position."""
        return _all_before(self._times(range(1, self.top[0])), self._times(self.top))

    @property
    def top_first(self) -> str | None:
        """The paper's appendix: no lower position is learned before a top one."""
        return _all_before(self._times(self.top), self._times(range(1, self.top[0])))

    def _times(self, positions: Sequence[int]) -> list[float]:
        """The steps at which these positions were learned."""
        return [inf if step is None else step for position, step in self.steps.items() if position in positions]


def _all_before(earlier: Sequence[float], later: Sequence[float]) -> str | None:
    if not earlier or not later:
        return None
    if max(earlier) == min(later):
        return UNDECIDED
    return HOLDS if max(earlier) < min(later) else FAILS


def learning_order(records: Iterable[Record], train: Domain, domain: str | None = None) -> LearningOrder:
    """The order of learning from the records of one run, on the training domain or a test domain."""
    where = str(train) if domain is None else domain
    curves: dict[int, dict[int, float]] = {}
    for record in records:
        kind, _, position = record.metric.partition(":")
        if kind == "digit" and record.domain == where and record.reference == TRUTH:
            assert record.correct is not None
            curves.setdefault(int(position), {})[record.step] = record.correct / record.total
    if not any(len(curve) > 1 for curve in curves.values()):
        raise InputError(f"the records have no digits of {where} during training; train with --evaluation.digits")
    lengths = [part.length for part in train.parts]
    top = tuple(range(min(lengths), max(lengths) + 2))
    return LearningOrder({position: learned_at(curves[position]) for position in sorted(curves)}, top)


def learned_at(accuracies: dict[int, float]) -> int | None:
    """The first step from which accuracy stays at LEARNED or more.

    >>> learned_at({0: 0.1, 10: 0.995, 20: 0.98, 30: 0.99, 40: 1.0}), learned_at({0: 1.0, 10: 0.5})
    (30, None)
    """
    learned = takewhile(lambda step: accuracies[step] >= LEARNED, sorted(accuracies, reverse=True))
    return min(learned, default=None)


@dataclass(frozen=True, slots=True)
class Standstill:
    """A plateau from the first to the last step; `accuracy` is the mean over its evaluations."""

    first: int
    last: int
    accuracy: float

    def is_at(self, height: float, problems: int) -> bool:
        """Whether a predicted accuracy is within two standard errors of it."""
        return abs(height - self.accuracy) <= _tolerance(self.accuracy, problems)


def standstills(accuracies: Mapping[int, float], problems: int) -> list[Standstill]:
    """The standstills of a curve, in order, each as long as possible; the evaluation before training does not
    count.

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
    """Two standard errors; where no or all answers are right, as if one were not."""
    share = min(max(mean, 1 / problems), 1 - 1 / problems)
    return 2 * sqrt(share * (1 - share) / problems)


@dataclass(frozen=True, slots=True)
class Dependence:
    """Dependence of answer digits (row i - 1 is digit i) on digits of operand a (column j - 1 is digit j)."""

    hypothesis: Hypothesis | None
    measured: list[list[Measured]]
    """The number of answers that changed."""
    exact: Matrix
    """The exact share of the hypothesis; None if there is none, or it is not derived."""

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
    """The dependence from the records of one run at one step."""
    counts: dict[tuple[int, int], Measured] = {}
    for record in records:
        kind, _, place = record.metric.partition(":")
        if kind == "depends":
            assert record.correct is not None
            i, j = map(int, place.split(":"))
            counts[i, j] = Measured(record.correct, record.total, enumerated=False)
    if not counts:
        raise InputError(
            "the records have no dependence; train with --evaluation.dependence, or evaluate with --dependence"
        )
    rows, length = map(max, zip(*counts, strict=True))
    measured = [[counts[i, j] for j in range(1, length + 1)] for i in range(1, rows + 1)]
    return Dependence(hypothesis, measured, _exact(task, hypothesis, length, rows))


def _exact(task: Task, hypothesis: Hypothesis | None, length: int, rows: int) -> Matrix:
    """The exact matrix, with zeros for answer digits beyond those of operands of this length."""
    if hypothesis is None:
        return [[None] * length for _ in range(rows)]
    matrix = dependence_matrix(task, hypothesis, length)
    return matrix + [[Fraction()] * length for _ in range(rows - len(matrix))]
