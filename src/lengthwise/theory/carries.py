"""Carry chains: how far a carry travels in a random sum, exactly.

A chain starts at a column whose digits sum to the base or more, and goes on through the columns right above
it that sum to base - 1, each of which hands the carry on. Its length counts all of these columns.

>>> part = Domain.parse("B2").parts[0]
>>> chain_counts(part)  # of 90 x 90 pairs: no carry, chains of 1 and of 2
[1980, 5760, 360]
"""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from lengthwise.arithmetic import Domain, Part


class Columns(NamedTuple):
    """How many digit pairs stop a carry, hand it on, or make one."""

    stop: int
    pass_on: int
    make: int

    @classmethod
    def of(cls, pairs: list[tuple[int, int]], base: int) -> "Columns":
        sums = [x + y for x, y in pairs]
        passing, making = sums.count(base - 1), sum(s >= base for s in sums)
        return cls(len(sums) - passing - making, passing, making)

    @classmethod
    def free(cls, base: int) -> "Columns":
        half = base * (base - 1) // 2
        return cls(half, base, half)


def longest_chain(a: int, b: int, base: int) -> int:
    """
    >>> longest_chain(999, 1, 10), longest_chain(95, 15, 10), longest_chain(12, 34, 10)
    (3, 1, 0)
    """
    longest = run = 0
    while a or b:
        column = a % base + b % base
        handed_on = run + 1 if run and column == base - 1 else 0
        run = 1 if column >= base else handed_on
        longest = max(longest, run)
        a, b = a // base, b // base
    return longest


def count_shorter(part: Part, limit: int) -> int:
    """How many pairs of the part have no carry chain of `limit` columns or more."""
    if limit <= 0:
        return 0
    runs = [1] + [0] * (limit - 1)  # pairs by the length of the chain that reaches the current column
    for columns in _columns(part):
        every = sum(runs)
        made = [columns.make * every] if limit > 1 else []
        handed_on = [columns.pass_on * count for count in runs[1 : limit - 1]]
        runs = [columns.stop * every + columns.pass_on * runs[0], *made, *handed_on]
    return sum(runs)


def _columns(part: Part) -> list[Columns]:
    """From the lowest one up; below the top digit of the shorter operand all are free."""
    short, long = sorted(part.lengths)
    upper = [Columns.of(part.column(position), part.base) for position in range(short, long + 1)]
    return [Columns.free(part.base)] * (short - 1) + upper


def chain_counts(part: Part) -> list[int]:
    """How many pairs have a longest chain of exactly 0, 1, ..., length columns."""
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
    """That a carry enters a column. Two uniform numbers below N sum to N or more with chance (N - 1) / 2N."""
    if position > part.length + 1:
        return Fraction()
    free = part.base ** (min(position, *part.lengths) - 1)
    entering = Fraction(free - 1, 2 * free)
    for below in range(min(part.lengths), position):
        columns = Columns.of(part.column(below), part.base)
        entering = (columns.make + entering * columns.pass_on) / sum(columns)
    return entering
