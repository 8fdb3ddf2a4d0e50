"""A hypothesis is a function that theory says a trained model computes.

>>> add = Task.parse("add")
>>> Hypothesis.parse("truncated:2")(add, 1999, 1001)
100
>>> Hypothesis.parse("windowed:2")(add, 1999, 1001)
2900
>>> Hypothesis.parse("leading:2")(add, 1999, 101), Hypothesis.parse("folded:2")(add, 1999, 101)
(20, 120)

*The local rule of addition.* Answers are written from the lowest digit. A carry leaves a column exactly if its
digits sum to more than the digit written there, so the next digit needs no columns further down:

>>> local_sum(58271, 41769, 10), local_sum(999_999, 1, 10)
(100040, 1000000)
"""

import re
from dataclasses import dataclass
from typing import Self

from lengthwise.arithmetic import Task, digit_count
from lengthwise.arithmetic.domain import MAX_LENGTH
from lengthwise.errors import InputError

_FORM = re.compile(
    r"(?P<whole>truth|local)|(?P<kind>truncated|windowed|leading|folded):(?P<size>0*[1-9]\d*)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A function that a model may compute. The paper's theory predicts truth, truncated and windowed; local has
    its own premise; the others are candidates for a search.

    truth       | the task itself
    local       | the sum, each digit from two columns and the digit just written: equal to truth
    truncated:n | the task on operands modulo base^n
    windowed:w  | the sum, each digit from only w columns; modulo p, the residue of that sum
    leading:n   | the task on the first n columns, counted from the top digit of the longer operand
    folded:n    | the task on operands whose blocks of n digits are added up: columns n apart count the same,
                | and with n = 1 the positions of digits do not matter
    """

    kind: str
    size: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        match = _FORM.fullmatch(text.strip())
        if match is None:
            known = "truth, local, truncated:4, windowed:5, leading:4, folded:4"
            raise InputError(f"unknown hypothesis {text!r} (choose from {known})")
        if match["whole"]:
            return cls(match["whole"])
        size = int(match["size"])
        if size > MAX_LENGTH:
            raise InputError(f"size {size} in {match['kind']} is out of range (1 to {MAX_LENGTH})")
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
        """Raise an InputError where the hypothesis is not defined for the task."""
        if self.kind == "windowed" and not task.op.has_carries:
            raise InputError(f"{self} is defined only for sums, not for {task}")
        if self.kind == "local" and not task.plain_sum:
            raise InputError(f"{self} is defined for sums without a modulus, not for {task}")

    def is_counted(self, task: Task) -> bool:
        """Whether its exact accuracy can be counted; that of a candidate that no rule predicts cannot."""
        if self.kind == "truncated":
            return task.op.theory is not None
        return self.kind in ("truth", "local") or (self.kind == "windowed" and task.modulus is None)


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
    total = 0
    for column in range(digit_count(max(a, b), base) + 1):
        low, place = base ** max(0, column - window + 1), base**column
        inside = a % (place * base) // low + b % (place * base) // low
        total += inside // (place // low) % base * place
    return total


def local_sum(a: int, b: int, base: int) -> int:
    """The sum by the local rule, which reads each carry off the column below and the digit written there."""
    total, place, carry = 0, 1, False
    while a or b or carry:
        (a, x), (b, y) = divmod(a, base), divmod(b, base)
        written = (x + y + carry) % base
        total, place, carry = total + place * written, place * base, x + y > written
    return total
