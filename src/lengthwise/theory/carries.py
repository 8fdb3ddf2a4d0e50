"""Carries of random sums: the exact distribution of carry chains, and of each digit.

A carry chain starts at a column whose digits sum to the base or more and continues through the columns directly
above it that sum to base - 1, each of which passes the carry on. Its length counts all of these columns.

>>> part = Domain.parse("B2").parts[0]
>>> chain_counts(part)  # of 90 x 90 pairs: no carry, chains of 1 and of 2
[1980, 5760, 360]

*Digit by digit.* Trained on four digits, a model that truncates writes 0 at position 6, and on D5 that is right
where no carry leaves the fifth column:

>>> digit_accuracy(Hypothesis("truncated", 4), Domain.parse("D5"), 6)
Fraction(10889, 22000)
"""

from fractions import Fraction
from itertools import pairwise

from lengthwise.arithmetic import Domain, Part
from lengthwise.arithmetic.domain import by_carry, free_columns
from lengthwise.errors import InputError
from lengthwise.theory.hypotheses import Hypothesis


def count_shorter(part: Part, limit: int) -> int:
    """The number of pairs of the part without a carry chain of `limit` columns or more."""
    if limit <= 0:
        return 0
    runs = [1] + [0] * (limit - 1)  # pairs by the length of the chain that reaches the current column
    for stop, make, pass_on in _columns(part):
        every, handed_on = sum(runs), [pass_on * count for count in runs]
        runs = [stop * every + handed_on[0], make * every, *handed_on[1:]][:limit]
    return sum(runs)


def _columns(part: Part) -> list[list[int]]:
    """For each column from the lowest, how many digit pairs stop a carry, make one, or pass it on. Digits below
    the top digit of the shorter operand are free."""
    short, long = sorted(part.lengths)
    free = [free_columns(part.base)] * (short - 1)
    upper = [by_carry(part.column(position), part.base) for position in range(short, long + 1)]
    return [[len(pairs) for pairs in kinds] for kinds in free + upper]


def chain_counts(part: Part) -> list[int]:
    """The number of pairs whose longest chain has exactly 0, 1, ..., length columns."""
    below = [count_shorter(part, limit) for limit in range(part.length + 2)]
    return [more - fewer for fewer, more in pairwise(below)]


def chain_distribution(domain: Domain) -> list[Fraction]:
    """The probability of each longest chain, 0 to the domain's length."""
    result = [Fraction()] * (domain.length + 1)
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        for length, count in enumerate(chain_counts(part)):
            result[length] += weight * Fraction(count, part.size)
    return result


def carry_probability(part: Part, position: int) -> Fraction:
    """The probability that a carry enters a column. Two uniform numbers below N sum to N or more with probability
    (N - 1) / 2N."""
    if position > part.length + 1:
        return Fraction()
    free = part.base ** (min(position, *part.lengths) - 1)
    entering = Fraction(free - 1, 2 * free)
    for below in range(min(part.lengths), position):
        stop, make, pass_on = map(len, by_carry(part.column(below), part.base))
        entering = (make + entering * pass_on) / (stop + make + pass_on)
    return entering


def digit_accuracy(hypothesis: Hypothesis, domain: Domain, position: int) -> Fraction:
    """The share of sums for which the hypothesis gives the right digit at a position (1 is the lowest)."""
    if hypothesis.kind == "windowed":
        raise InputError(f"digit accuracy is derived for truth and truncated:n, not for {hypothesis}")
    return domain.mean(lambda part: _digit_accuracy(hypothesis.size, part, position))


def digit_share(digit: int, domain: Domain, position: int) -> Fraction:
    """The share of sums that have this digit at a position."""
    return domain.mean(lambda part: _digit_share(digit, part, position))


def _digit_accuracy(size: int | None, part: Part, position: int) -> Fraction:
    if size is None or position <= size:
        return Fraction(1)
    if position > size + 1:
        return _digit_share(0, part, position)
    # At position size + 1 the truncated sum has the carry from below and lacks only this column's digits.
    column = part.column(position)
    return Fraction(sum((x + y) % part.base == 0 for x, y in column), len(column))


def _digit_share(digit: int, part: Part, position: int) -> Fraction:
    column, carry = part.column(position), carry_probability(part, position)
    sums = [(x + y) % part.base for x, y in column]
    without, with_carry = sums.count(digit), sums.count((digit - 1) % part.base)
    return ((1 - carry) * without + carry * with_carry) / len(sums)


def r2_ceiling(domain: Domain, position: int) -> Fraction:
    """The best possible R2 of a sum's digit predicted from its own column and the carry made by the column below.

    The paper follows training by fitting a decision tree from x = (a_i + b_i) mod base and y = (a_{i-1} + b_{i-1})
    div base to the model's digit i. Not even a perfect adder reaches R2 = 1: where y = 0 a carry may still come
    in, through a column i-1 that sums to base - 1. With q the chance that a carry enters column i-1,

        r = 2 q / (base + 1)   is the chance of a carry where y = 0, and   R2 <= 1 - 6 r (1 - r) / base.

    Problems are those of the domain with the digits of columns i-1 to i+1 drawn anew, so x is uniform and
    independent of all below it. Given y = 0 the digit is x with chance 1 - r and x + 1 else, which is 0 where
    x = base - 1; given y = 1 it is certain. The mean variance left is therefore
    (base + 1) / (2 base) r (1 - r) (base - 1), out of (base^2 - 1) / 12.

    >>> [round(float(r2_ceiling(Domain.parse("D4"), position)), 4) for position in range(1, 8)]
    [1.0, 1.0, 0.9549, 0.9509, 0.9505, 0.95, 1.0]
    """
    below = max(1, position - 1)  # nothing comes into the lowest column
    unseen = 2 * domain.mean(lambda part: carry_probability(part, below)) / (domain.base + 1)
    return 1 - 6 * unseen * (1 - unseen) / domain.base
