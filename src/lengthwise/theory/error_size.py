"""By how much a sum or product of truncated operands falls short of the true one: at least, and on average.

Corollary 2 of the paper: trained on D4, every longer sum is wrong by at least 10^4. On D_m it is 10^(m-1) or
more:

>>> truncation_error(Task.parse("add"), 4, Domain.parse("D6"))
TruncationError(least=100000, mean=Fraction(10990000, 11))
"""

from fractions import Fraction
from typing import NamedTuple

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.residues import len_big


class TruncationError(NamedTuple):
    """Of f(a, b) - f(a mod base^n, b mod base^n), which is never negative, over a domain."""

    least: int
    mean: Fraction


def truncation_error(task: Task, digits: int, domain: Domain) -> TruncationError:
    """The error of `truncated:digits` without a modulus. It grows with a and with b, so it is least where both
    are; and a and b are independent within a rectangle, so its mean follows from theirs."""
    if task.modulus is not None:
        raise InputError(f"the size of an error is derived for tasks without a modulus, not for {task}")
    unit = task.base**digits
    least: list[int] = []
    mean = Fraction()
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        for rows, columns in part.rectangles:
            a, b = rows.start, columns.start
            least.append(task(a, b) - task(a % unit, b % unit))
            share = weight * Fraction(len_big(rows) * len_big(columns), part.size)
            mean += share * (
                _of_means(task, rows, columns) - _of_means(task, _low(rows, unit), _low(columns, unit))
            )
    return TruncationError(min(least), mean)


def _low(interval: range, unit: int) -> range:
    """What is left of the numbers of an interval, each value equally often: bounds above the unit are multiples
    of it."""
    return interval if interval.stop <= unit else range(unit)


def _of_means(task: Task, rows: range, columns: range) -> Fraction:
    """The mean of a sum is the sum of means, and so for products of independent numbers."""
    a, b = (Fraction(interval.start + interval.stop - 1, 2) for interval in (rows, columns))
    return a + b if task.operation == "add" else a * b
