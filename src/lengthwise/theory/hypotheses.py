"""A hypothesis is a function that theory says a trained model computes.

>>> add = Task.parse("add")
>>> Hypothesis.parse("truncated:2")(add, 1999, 1001)
100
>>> Hypothesis.parse("windowed:2")(add, 1999, 1001)
2900
>>> Hypothesis.parse("leading:2")(add, 1999, 101), Hypothesis.parse("folded:2")(add, 1999, 101)
(20, 120)
"""

import re
from dataclasses import dataclass
from typing import Self

from lengthwise.arithmetic import Task, digit_count
from lengthwise.errors import InputError
from lengthwise.theory.local import local_sum

_FORM = re.compile(r"(?P<kind>truth|local|truncated|windowed|leading|folded)(?::(?P<size>\d+))?")
_WITHOUT_SIZE = ("truth", "local")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What a model may compute: theory predicts truth, truncated and windowed, under a premise of its own local;
    the others are candidates to search.

    truth       | the task itself
    local       | the sum, each digit from two columns and the digit just written: equal to truth
    truncated:n | the task on operands modulo base^n
    windowed:w  | the sum, each digit from w columns alone; modulo p, the residue of that sum
    leading:n   | the task on the first n columns, counted from the top digit of the longer operand
    folded:n    | the task on operands whose blocks of n digits are summed up: columns n apart count alike,
                | and with n = 1 digits alone count, not their places
    """

    kind: str
    size: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        match = _FORM.fullmatch(text.strip())
        sized = match is not None and (match["kind"] in _WITHOUT_SIZE) == (match["size"] is None)
        size = None if match is None or match["size"] is None else int(match["size"])
        if match is None or not sized or size == 0:
            raise InputError(
                f"unknown hypothesis {text!r}: "
                "allowed are truth, local, truncated:4, windowed:5, leading:4, folded:4"
            )
        return cls(match["kind"], size)

    def __str__(self) -> str:
        return self.kind if self.size is None else f"{self.kind}:{self.size}"

    def __call__(self, task: Task, a: int, b: int) -> int:
        if self.kind == "truth":
            return task(a, b)
        self.check(task)
        if self.kind == "local":
            return local_sum(a, b, task.base)
        assert self.size is not None
        if self.kind == "windowed":
            total = windowed_sum(a, b, self.size, task.base)
            return total if task.modulus is None else total % task.modulus
        unit = task.base**self.size
        if self.kind == "truncated":
            return task(a % unit, b % unit)
        if self.kind == "folded":
            return task(_folded(a, unit), _folded(b, unit))
        dropped = task.base ** max(0, digit_count(max(a, b), task.base) - self.size)
        return task(a // dropped, b // dropped)

    def check(self, task: Task) -> None:
        """Refuse a task this hypothesis says nothing about."""
        if self.kind == "windowed" and task.operation != "add":
            raise InputError(f"{self} is defined for sums alone, not for {task}")
        if self.kind == "local" and (task.operation, task.modulus) != ("add", None):
            raise InputError(f"{self} is defined for sums without a modulus, not for {task}")

    def is_counted(self, task: Task) -> bool:
        """Whether theory has its exact accuracy; a candidate that no rule predicts has none."""
        return self.kind in ("truth", "local", "truncated") or (self.kind == "windowed" and task.modulus is None)


TRUTH, LOCAL = Hypothesis("truth"), Hypothesis("local")


def _folded(number: int, unit: int) -> int:
    """
    >>> _folded(987654, 1000), _folded(987654, 10)
    (1641, 39)
    """
    total = 0
    while number:
        number, block = divmod(number, unit)
        total += block
    return total


def windowed_sum(a: int, b: int, window: int, base: int) -> int:
    """The sum as seen through a window: digit i from columns i-window+1 .. i, with no carry entering them.

    >>> windowed_sum(999, 1, 4, 10), windowed_sum(999, 1, 2, 10)
    (1000, 900)
    """
    total, place = 0, 1
    column = 0
    while column == 0 or max(a, b) >= base ** (column - 1):
        low = base ** max(0, column - window + 1)
        high = base ** (column + 1)
        inside = a % high // low + b % high // low
        total += inside // (base**column // low) % base * place
        place *= base
        column += 1
    return total
