"""How often a hypothesis is right, uniform over a domain, and by how much it errs: exactly, never from a sample.

>>> accuracy(Task.parse("add%151"), Hypothesis.parse("truncated:4"), Domain.parse("B6"))
Fraction(4, 675)

Corollary 2 of the paper: trained on D4, every longer sum is wrong by at least 10^4. On D_m it is 10^(m-1) or
more:

>>> truncation_error(Task.parse("add"), 4, Domain.parse("D6"))
TruncationError(least=100000, mean=Fraction(10990000, 11))
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.carries import count_shorter
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.residues import count_agreeing, count_cancelling, count_vanishing, len_big, shared_part

MOST_RESIDUES = 20_000
"""Products modulo p take q^2 steps, with q what is left of p: with this many about 15 seconds a domain."""


def within_reach(task: Task, hypothesis: Hypothesis) -> bool:
    """Whether `accuracy` answers, and in seconds."""
    if not hypothesis.is_counted(task):
        return False
    if task.operation != "mul" or task.modulus is None or hypothesis.kind != "truncated":
        return True
    assert hypothesis.size is not None
    return task.modulus // shared_part(task.modulus, task.base, hypothesis.size) <= MOST_RESIDUES


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
    if min(part.lengths) <= size:
        return _one_cut_right(task, size, part)
    unit = task.base**size
    count = _TRUNCATED[task.operation, task.modulus is not None]
    # Both operands are longer than what is kept, so the bounds of its intervals are multiples of base^n.
    return sum(count(task, size, _shrink(rows, unit), _shrink(columns, unit)) for rows, columns in part.rectangles)


def _one_cut_right(task: Task, size: int, part: Part) -> int:
    """One operand loses a multiple of base^n and the other stays whole: the loss, in a product times the other
    operand, must vanish."""
    ((rows, columns),) = part.rectangles
    cut, whole = (rows, columns) if part.lengths[0] > size else (columns, rows)
    unit = task.base**size
    high = _shrink(cut, unit)
    factor, free = (whole, 1) if task.operation == "mul" else (range(1, 2), len_big(whole))
    if task.modulus is None:
        vanishing = len_big(high) * (0 in factor)
    else:
        vanishing = count_vanishing(high, factor, task.modulus // shared_part(task.modulus, task.base, size))
    return vanishing * free * unit


def _shrink(interval: range, unit: int) -> range:
    return range(interval.start // unit, interval.stop // unit)


def _sum_right(task: Task, size: int, high_a: range, high_b: range) -> int:
    """Both high parts must be zero: else the error is at least base^n."""
    both_zero = 0 in high_a and 0 in high_b
    return both_zero * task.base ** (2 * size)


def _modular_sum_right(task: Task, size: int, high_a: range, high_b: range) -> int:
    """The high parts must sum to a multiple of p / gcd(p, base^n)."""
    assert task.modulus is not None
    rest = task.modulus // shared_part(task.modulus, task.base, size)
    return count_cancelling(high_a, high_b, rest) * task.base ** (2 * size)


def _product_right(task: Task, size: int, high_a: range, high_b: range) -> int:
    """Nothing may be lost: both high parts are zero, or one operand is zero altogether."""
    unit = task.base**size
    both_short = (0 in high_a and 0 in high_b) * unit**2
    a_zero = (0 in high_a) * (len_big(high_b) - (0 in high_b)) * unit
    b_zero = (0 in high_b) * (len_big(high_a) - (0 in high_a)) * unit
    return both_short + a_zero + b_zero


def _modular_product_right(task: Task, size: int, high_a: range, high_b: range) -> int:
    assert task.modulus is not None
    rest = task.modulus // shared_part(task.modulus, task.base, size)
    return count_agreeing(high_a, high_b, task.base**size, rest)


_TRUNCATED: dict[tuple[str, bool], Callable[[Task, int, range, range], int]] = {
    ("add", False): _sum_right,
    ("add", True): _modular_sum_right,
    ("mul", False): _product_right,
    ("mul", True): _modular_product_right,
}


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
        error = _of_means(task, rows, columns) - _of_means(task, _low(rows, unit), _low(columns, unit))
        total += len_big(rows) * len_big(columns) * error
    return total / part.size


def _low(interval: range, unit: int) -> range:
    """What is left of the numbers of an interval, each value equally often: bounds above the unit are multiples
    of it."""
    return interval if interval.stop <= unit else range(unit)


def _of_means(task: Task, rows: range, columns: range) -> Fraction:
    """The mean of a sum is the sum of means, and so for products of independent numbers."""
    a, b = (Fraction(interval.start + interval.stop - 1, 2) for interval in (rows, columns))
    return a + b if task.operation == "add" else a * b
