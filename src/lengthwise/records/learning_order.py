"""Which answer digits are learned first, and what that says of the paper's two statements about it.

A digit counts as learned from the first evaluation on from which it is right 99 % of the time or more, at that
evaluation and at every later one. The *top* positions are those from the shortest trained length to one above
the longest: 4 and 5 for D4, 4 to 6 for D4+D5. The paper's remark on Theorem 1 says that they come last, its
appendix that they come first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.schema import TRUTH, Record
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED

LEARNED = 0.99


@dataclass(frozen=True, slots=True)
class LearningOrder:
    steps: dict[int, int | None]
    """When each position was learned; None where it was not."""
    top: tuple[int, ...]

    @property
    def top_last(self) -> str | None:
        """The remark: no top position before any position below. `undecided` where an evaluation shows both."""
        below, top = self._times(below_top=True), self._times(below_top=False)
        return _judge(max(below), min(top)) if below and top else None

    @property
    def top_first(self) -> str | None:
        """The appendix: no position below before any top one. None, as above, where one side has none."""
        below, top = self._times(below_top=True), self._times(below_top=False)
        return _judge(max(top), min(below)) if below and top else None

    def _times(self, *, below_top: bool) -> list[float]:
        """When the positions on one side were learned; those above the top, which hold no digit, are on none."""
        side = range(1, self.top[0]) if below_top else self.top
        return [inf if step is None else step for position, step in self.steps.items() if position in side]


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
    found = None
    for step in sorted(accuracies, reverse=True):
        if accuracies[step] < LEARNED:
            break
        found = step
    return found


def _judge(earlier: float, later: float) -> str:
    if earlier == later:
        return UNDECIDED
    return HOLDS if earlier < later else FAILS
