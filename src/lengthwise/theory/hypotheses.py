"""A hypothesis is a function that theory says a trained model computes.

>>> add = Task.parse("add")
>>> Hypothesis.parse("truncated:2")(add, 1999, 1001)
100
>>> Hypothesis.parse("windowed:2")(add, 1999, 1001)
2900
"""

import re
from dataclasses import dataclass
from typing import Self

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError

_FORM = re.compile(r"(?P<kind>truth|truncated|windowed)(?::(?P<size>\d+))?")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """`truth`, `truncated:n` (operands modulo base^n) or `windowed:w` (each digit from w columns alone)."""

    kind: str
    size: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        match = _FORM.fullmatch(text.strip())
        sized = match is not None and (match["kind"] == "truth") == (match["size"] is None)
        size = None if match is None or match["size"] is None else int(match["size"])
        if match is None or not sized or size == 0:
            raise InputError(f"unknown hypothesis {text!r}: allowed are truth, truncated:4, windowed:5")
        return cls(match["kind"], size)

    def __str__(self) -> str:
        return self.kind if self.size is None else f"{self.kind}:{self.size}"

    def __call__(self, task: Task, a: int, b: int) -> int:
        if self.kind == "truth":
            return task(a, b)
        assert self.size is not None
        if self.kind == "truncated":
            return task(a % task.base**self.size, b % task.base**self.size)
        self.check(task)
        return windowed_sum(a, b, self.size, task.base)

    def check(self, task: Task) -> None:
        """Refuse a task this hypothesis says nothing about."""
        if self.kind == "windowed" and (task.operation, task.modulus) != ("add", None):
            raise InputError(f"{self} is defined for the task add alone, not for {task}")


TRUTH = Hypothesis("truth")


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
