"""Where accuracy stands still while training goes on.

Accuracy stands still over three or more evaluations in a row that all lie within two standard errors of their
mean, below the 99 % from which a domain counts as learned.

>>> standstills({0: 0.0, 10: 0.62, 20: 0.63, 30: 0.62, 40: 0.97}, problems=1000)
[Standstill(first=10, last=30, accuracy=0.6233333333333334)]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from lengthwise.records.learning_order import LEARNED

FEWEST = 3
"""Evaluations."""


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
