"""Sums digit by digit: how likely each digit is at a position, and how often a hypothesis has it right.

Trained on four digits, a model that truncates writes 0 at position 6, and on D5 that is right where no carry
leaves the fifth column:

>>> digit_accuracy(Hypothesis("truncated", 4), Domain.parse("D5"), 6)
Fraction(10889, 22000)
"""

from fractions import Fraction

from lengthwise.arithmetic import Domain, Part
from lengthwise.errors import InputError
from lengthwise.theory.carries import carry_probability
from lengthwise.theory.hypotheses import Hypothesis


def digit_accuracy(hypothesis: Hypothesis, domain: Domain, position: int) -> Fraction:
    """The share of sums whose digit at a position (1 is the lowest) the hypothesis has right."""
    if hypothesis.kind == "windowed":
        raise InputError(f"digit accuracy is derived for truth and truncated:n, not for {hypothesis}")
    shares = zip(domain.weights, domain.parts, strict=True)
    return sum((weight * _accuracy(hypothesis.size, part, position) for weight, part in shares), Fraction())


def digit_share(digit: int, domain: Domain, position: int) -> Fraction:
    """The share of sums that have this digit at a position."""
    shares = zip(domain.weights, domain.parts, strict=True)
    return sum((weight * _share(digit, part, position) for weight, part in shares), Fraction())


def _accuracy(size: int | None, part: Part, position: int) -> Fraction:
    if size is None or position <= size:
        return Fraction(1)
    if position > size + 1:
        return _share(0, part, position)
    # Here the truncated sum still has the carry from below, and lacks only this column's own digits.
    column = part.column(position)
    return Fraction(sum((x + y) % part.base == 0 for x, y in column), len(column))


def _share(digit: int, part: Part, position: int) -> Fraction:
    column, carry = part.column(position), carry_probability(part, position)
    sums = [(x + y) % part.base for x, y in column]
    without, with_carry = sums.count(digit), sums.count((digit - 1) % part.base)
    return ((1 - carry) * without + carry * with_carry) / len(sums)
