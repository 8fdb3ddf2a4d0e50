"""How often a hypothesis is right, uniform over a domain, and by how much it errs: exactly, never from a sample.

>>> accuracy(Task.parse("add%151"), Hypothesis.parse("truncated:4"), Domain.parse("B6"))
Fraction(4, 675)

Corollary 2 of the paper: trained on D4, every longer sum is wrong by at least 10^4. On D_m it is 10^(m-1) or
more:

>>> truncation_error(Task.parse("add"), 4, Domain.parse("D6"))
TruncationError(least=100000, mean=Fraction(10990000, 11))
"""

from fractions import Fraction
from typing import Any, NamedTuple

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.carries import count_shorter
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.residues import (
    count_agreeing,
    count_cancelling,
    count_vanishing,
    cut,
    len_big,
    open_modulus,
)

MOST_RESIDUES = 20_000
"""Products modulo p take up to q^2 steps, with q what is left of p: with this many, at worst some 20 seconds a
domain; most take less than one."""


def within_reach(task: Task, hypothesis: Hypothesis) -> bool:
    """Whether `accuracy` answers, and in seconds."""
    if not hypothesis.is_counted(task):
        return False
    if task.operation != "mul" or task.modulus is None or hypothesis.kind != "truncated":
        return True
    assert hypothesis.size is not None
    return open_modulus(task, hypothesis.size) <= MOST_RESIDUES


def accuracy_json(accuracy: Fraction | None) -> dict[str, Any]:
    """An accuracy as JSON has it: the exact fraction, and rounded."""
    if accuracy is None:
        return {"accuracy": None, "percent": None}
    return {"accuracy": str(accuracy), "percent": float(100 * accuracy)}


def accuracy(task: Task, hypothesis: Hypothesis, domain: Domain) -> Fraction:
    assert task.base == domain.base
    hypothesis.check(task)
    if not hypothesis.is_counted(task):
        raise InputError(f"the exact accuracy of {hypothesis} on {task} is not known")
    return domain.mean(lambda part: Fraction(_count_right(task, hypothesis, part), part.size))


def _count_right(task: Task, hypothesis: Hypothesis, part: Part) -> int:
    size = hypothesis.size
    if size is None or (hypothesis.kind == "truncated" and part.length <= size):
        return part.size
    if hypothesis.kind == "windowed":
        # A digit goes wrong exactly where a carry has come through the whole window below it.
        return count_shorter(part, size)
    return sum(_truncated_right(task, size, rows, columns) for rows, columns in part.rectangles)


def _truncated_right(task: Task, size: int, rows: range, columns: range) -> int:
    """Pairs of a rectangle that truncated operands answer right: what is lost is zero, or a multiple of p.

    A sum loses the high parts, times base^n; a product that is zero loses nothing.
    """
    unit = task.base**size
    (a_low, a_high), (b_low, b_high) = cut(rows, unit), cut(columns, unit)
    rest = None if task.modulus is None else open_modulus(task, size)
    if task.operation == "add":
        # Without a modulus only zero will do, as with one that no sum reaches.
        cancelling = count_cancelling(a_high, b_high, rest or a_high.stop + b_high.stop)
        return cancelling * len_big(a_low) * len_big(b_low)
    if rest is None:
        both_whole = (0 in a_high) * (0 in b_high) * len_big(a_low) * len_big(b_low)
        a_zero = (0 in rows) * (len_big(b_high) - (0 in b_high)) * len_big(b_low)
        b_zero = (0 in columns) * (len_big(a_high) - (0 in a_high)) * len_big(a_low)
        return both_whole + a_zero + b_zero
    if a_high == range(1):
        return count_vanishing(a_low, b_high, rest) * unit
    if b_high == range(1):
        return count_vanishing(a_high, b_low, rest) * unit
    return count_agreeing(a_high, b_high, unit, rest)


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
    lowest = [(rows.start, columns.start) for part in domain.parts for rows, columns in part.rectangles]
    least = min(task(a, b) - task(a % unit, b % unit) for a, b in lowest)
    return TruncationError(least, domain.mean(lambda part: _mean_error(task, unit, part)))


def _mean_error(task: Task, unit: int, part: Part) -> Fraction:
    total = Fraction()
    for rows, columns in part.rectangles:
        error = _of_means(task, rows, columns) - _of_means(task, cut(rows, unit)[0], cut(columns, unit)[0])
        total += len_big(rows) * len_big(columns) * error
    return total / part.size


def _of_means(task: Task, rows: range, columns: range) -> Fraction:
    """The mean of a sum is the sum of means, and so for products of independent numbers."""
    a, b = (Fraction(interval.start + interval.stop - 1, 2) for interval in (rows, columns))
    return a + b if task.operation == "add" else a * b
