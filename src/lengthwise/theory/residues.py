r"""Counts of residues in intervals, in their sums, and in products of truncated operands.

*Products.* Write a = A N + a0 and b = B N + b0 with N = base^n. The truncated product a0 b0 has the residue of
a b modulo p exactly if

    A b0 + B a0 + A B N  is divisible by  q = p / gcd(p, N).

Only the residues u = A mod q and x = B mod q matter, so the count is a sum over u and x, whatever the length
of the operands. For one (u, x), with d = gcd(u, q), m = q / d, u = d u', e = d / gcd(d, x), x = (d / e) z:

    a0 must be a multiple e j,   and then   b0 = -s j - x N  (mod m)   with   s = z / u'  (mod m).

All residues of an interval occur equally often, except for a few that occur once more. Over all x together the
count is a sum over the divisors of q, so only pairs of these few are left. A small number of pairs is counted one
by one: how many j have their b0 below N is a difference of two sums of floors, by Euclid's algorithm. Among many
pairs, several share a slope s: the multiples -s j mod m are listed once per slope, and each y = z mod m, from
which x N follows, looks up how many fall in its window, in q^2 steps in all. docs/theory.md derives this, and the
limit for long operands.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from lengthwise.arithmetic import Task

Integers = npt.NDArray[np.int64]

_CHUNK = 1 << 16  # table entries held at once: a processor keeps them in its cache
_PAIR_STEPS = 20  # cost of counting one pair, in table entries


@dataclass(frozen=True, slots=True)
class Residues:
    """Residues of the integers of an interval: each occurs `often` times, and the `extra` residues from `start`
    on, cyclically, once more.

    >>> Residues.of(range(3, 10), 5)
    Residues(modulus=5, often=1, start=3, extra=2)
    """

    modulus: int
    often: int
    start: int
    extra: int

    @classmethod
    def of(cls, interval: range, modulus: int) -> "Residues":
        often, extra = divmod(len_big(interval), modulus)
        return cls(modulus, often, interval.start % modulus, extra)

    @property
    def once_more(self) -> Integers:
        """The residues that occur once more than others."""
        return (self.start + np.arange(self.extra, dtype=np.int64)) % self.modulus

    @property
    def counts(self) -> npt.NDArray[Any]:
        """How often each residue occurs, as Python integers."""
        counts = np.full(self.modulus, self.often, dtype=object)
        counts[self.once_more] += 1
        return counts

    def around_even(self) -> tuple[int, int, Integers]:
        """(often, sign, few): each residue occurs `often` times, those in `few` (at most half) `sign` times more.

        >>> Residues.of(range(3, 12), 5).around_even()
        (2, -1, array([2]))
        """
        if 2 * self.extra <= self.modulus:
            return self.often, 1, self.once_more
        others = Residues(self.modulus, 0, self.start + self.extra, self.modulus - self.extra)
        return self.often + 1, -1, others.once_more


def count_cancelling(left: range, right: range, modulus: int) -> int:
    """The number of pairs of the two intervals that sum to a multiple of the modulus, in constant time.

    >>> count_cancelling(range(1, 10), range(1, 10), 7)
    11
    """
    return count_differences(left, negated(right), 0, modulus)


def negated(interval: range) -> range:
    """The integers -i, for each i of an interval.

    >>> negated(range(3, 10))
    range(-9, -2)
    """
    return range(1 - interval.stop, 1 - interval.start)


def count_difference(left: range, right: range, difference: int) -> int:
    """The number of pairs of the two intervals with this difference, left - right.

    >>> count_difference(range(3), range(5), 1)  # 1 - 0, 2 - 1
    2
    """
    return max(0, min(left.stop, right.stop + difference) - max(left.start, right.start + difference))


def count_differences(left: range, right: range, residue: int, modulus: int, *, positive: bool = False) -> int:
    """The number of pairs of the two intervals whose difference, left - right, has this residue.

    The number of pairs by difference is a trapezoid, a sum of ramps.

    >>> count_differences(range(10), range(10), 2, 3, positive=True)  # 2, 5 and 8, of 8, 5 and 2 pairs
    15
    """
    end = left.stop - right.start
    corners = ((left.start - right.stop, 1), (left.start - right.start, -1), (left.stop - right.stop, -1))
    total = 0
    for corner, sign in corners:
        least = max(1, corner + 1) if positive else corner + 1
        first = least + (residue - least) % modulus
        count = max(0, -(-(end - first) // modulus))
        # The sum of d - corner over d = first, first + modulus, ... below the end.
        total += sign * (count * (first - corner) + modulus * count * (count - 1) // 2)
    return total


def len_big(interval: range) -> int:
    """`len`, without its limit at the machine word."""
    return interval.stop - interval.start


def cut(interval: range, unit: int) -> tuple[range, range]:
    """The low parts (below the unit) and high parts of an interval's numbers: every pair of them occurs once. The
    bounds of the interval must be multiples of the unit, unless it lies below the unit.

    >>> cut(range(200, 1000), 100), cut(range(20, 50), 100)
    ((range(0, 100), range(2, 10)), (range(20, 50), range(0, 1)))
    """
    if interval.stop <= unit:
        return interval, range(1)
    return range(unit), range(interval.start // unit, interval.stop // unit)


def open_modulus(task: Task, digits: int) -> int:
    """q = p / gcd(p, base^n): the part of the modulus that the last n digits do not decide.

    >>> open_modulus(Task.parse("mul%150"), 4), open_modulus(Task.parse("mul%101"), 4)
    (3, 101)
    """
    assert task.modulus is not None
    return task.modulus // gcd(task.modulus, task.base**digits)


def divisors(number: int) -> list[int]:
    """
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def count_agreeing(high_a: range, high_b: range, low_count: int, modulus: int) -> int:
    """The number of pairs with high parts in the two intervals whose truncated product has the right residue.

    `low_count` is N = base^n, `modulus` is q = p / gcd(p, N).

    >>> count_agreeing(range(1, 2), range(1, 2), 10, 3)  # a and b of 10..19, modulo 3
    33
    >>> sum(a * b % 3 == (a % 10) * (b % 10) % 3 for a in range(10, 20) for b in range(10, 20))
    33
    """
    a_often, a_sign, a_few = Residues.of(high_a, modulus).around_even()
    b_often, b_sign, b_few = Residues.of(high_b, modulus).around_even()
    total = a_sign * b_sign * _count_pairs(a_few, b_few, low_count, modulus)
    every = np.arange(modulus, dtype=np.int64)
    for factor, few in ((a_often * b_often, every), (a_often * b_sign, b_few), (b_often * a_sign, a_few)):
        total += factor * _count_with_all(few, low_count, modulus) if factor else 0
    return total


def count_vanishing(left: range, right: range, modulus: int) -> int:
    """The number of pairs of the two intervals whose product is divisible by the modulus.

    >>> count_vanishing(range(1, 10), range(10, 100), 6)
    315
    >>> sum(u * v % 6 == 0 for u in range(1, 10) for v in range(10, 100))
    315
    """
    by_divisor = _common_divisors(left, modulus).items()
    return sum(count * _multiples(right, modulus // d) for d, count in by_divisor)


def _common_divisors(interval: range, modulus: int) -> dict[int, int]:
    """By divisor of the modulus, how many numbers have it as their greatest common divisor with the modulus."""
    found: dict[int, int] = {}
    for d in reversed(divisors(modulus)):
        found[d] = _multiples(interval, d) - sum(count for e, count in found.items() if e % d == 0)
    return found


def _multiples(interval: range, of: int) -> int:
    return (interval.stop - 1) // of - (interval.start - 1) // of


def long_operand_limit(base: int, digits: int, modulus: int) -> Fraction:
    """The limit of the accuracy of `truncated:digits` on mul%modulus for long operands: all residues are equally
    likely.

    >>> long_operand_limit(10, 4, 101)
    Fraction(1020099, 102010000)
    """
    low_count = base**digits
    q = modulus // gcd(modulus, low_count)
    return Fraction(count_agreeing(range(q), range(q), low_count, q), q**2 * low_count**2)


def _count_with_all(residues: Integers, low_count: int, q: int) -> int:
    """The count for these u with every x: x (a0 + u N) = -u b0 (mod q) has g solutions x, or none, where g is the
    greatest common divisor of a0 + u N and q. By symmetry, it is also the count for these x with every u."""
    periods, rest = divmod(low_count, q)
    start, common = residues * (low_count % q) % q, np.gcd(np.arange(q), q)
    total = 0
    for g in divisors(q):
        below = np.concatenate([[0], np.cumsum(np.tile(common == g, 2))])
        window = below[start + rest] - below[start]
        shared = np.gcd(residues, g)
        for c in divisors(g):
            own = shared == c
            lows = periods * int(below[q]) * int(own.sum()) + int(window[own].sum())
            total += g * lows * -(-low_count // (g // c))
    return total


def _count_pairs(u: Integers, x: Integers, low_count: int, q: int) -> int:
    count = _count_each if len(u) * len(x) * _PAIR_STEPS <= q * q else _count_by_slope
    return sum(count(u, x, low_count, q, d=d, e=e) for d in divisors(q) for e in divisors(d))


def _count_each(u: Integers, x: Integers, low_count: int, q: int, *, d: int, e: int) -> int:
    """The count, one by one, for those u and x with gcd(u, q) = d and gcd(x, d) = d / e."""
    u, x, m = u[np.gcd(u, q) == d] // d, x[np.gcd(x, d) == d // e], q // d
    z = x // (d // e)
    inverse = np.array([pow(int(v), -1, m) for v in u], dtype=np.int64)[:, None]
    shift, multiples = x * (low_count % m) % m, -(-low_count // e)
    (periods, steps), (often, width) = divmod(multiples, m), divmod(low_count, m)
    total = len(u) * len(x) * multiples * often
    rows = max(1, _CHUNK // max(1, len(x)))
    for first in range(0, len(u), rows):
        slope = z * inverse[first : first + rows] % m
        start = np.broadcast_to(shift, slope.shape)
        total += periods * int(_full_period(slope, start, width, m).sum())
        total += int(_count_below(steps, -slope % m, -start % m, width, m).sum())
    return total


def _count_below(steps: int, slope: Integers, start: Integers, width: int, m: int) -> Integers:
    """How many of the numbers slope j + start, for j below `steps`, have a residue modulo m below `width`."""
    return steps + _floor_sum(steps, slope, start, m) - _floor_sum(steps, slope, start + m - width, m)


def _floor_sum(count: int, slope: Integers, start: Integers, m: int) -> Integers:
    """The sum of floor((slope j + start) / m) over j below `count`, by Euclid's algorithm: the lattice points
    below a line are counted by columns, then by rows, and so on."""
    found, place = np.zeros(slope.size, dtype=np.int64), np.arange(slope.size)
    n, a, b, m_now = (np.broadcast_to(part, slope.shape).ravel() for part in (count, slope, start, m))
    while len(place):
        whole, a = np.divmod(a, m_now)
        more, b = np.divmod(b, m_now)
        found[place] += n * (n - 1) // 2 * whole + n * more
        rows, rest = np.divmod(a * n + b, m_now)
        on = rows > 0
        place, n, b, m_now, a = place[on], rows[on], rest[on], a[on], m_now[on]
    return found.reshape(slope.shape)


def _count_by_slope(u: Integers, x: Integers, low_count: int, q: int, *, d: int, e: int) -> int:
    """The same, for a chunk of slopes s at once: rows are slopes, columns the units u', and y = s u' (mod m)."""
    m = q // d
    units = np.array([v for v in range(m) if gcd(v, m) == 1], dtype=np.int64)
    z = np.arange(m * e, dtype=np.int64)
    z = z[(np.gcd(z, e) == 1) & np.isin(d // e * z, x)]
    row_weight, column_weight = np.isin(d * units, u).astype(np.int64), np.bincount(z % m, minlength=m)
    shift = np.arange(m, dtype=np.int64) * ((d // e) * low_count % m) % m  # x N mod m, by y
    multiples = -(-low_count // e)  # the number of a0 = e j
    (periods, steps), (often, width) = divmod(multiples, m), divmod(low_count, m)
    # Counts may exceed 64 bits for long operands, so only their small parts are summed as arrays.
    total = int(row_weight.sum()) * int(column_weight.sum()) * multiples * often
    rows = max(1, _CHUNK // m)
    for first in range(0, m, rows):
        slope = np.arange(first, min(first + rows, m), dtype=np.int64)[:, None]
        y = slope * units % m
        start, weight = shift[y], row_weight * column_weight[y]
        points = -slope * np.arange(steps, dtype=np.int64) % m
        total += periods * int((weight * _full_period(slope, start, width, m)).sum())
        total += int((weight * _count_in_windows(points, start, width, m)).sum())
    return total


def _full_period(slope: Integers, start: Integers, width: int, m: int) -> Integers:
    """How many of the first m multiples of a slope are among the `width` residues from `start` on."""
    period = np.gcd(slope, m)
    return period * (-(-(start + width) // period) + (-start // period))


def _count_in_windows(points: Integers, start: Integers, width: int, m: int) -> Integers:
    """For each row, how many of its points lie in the cyclic windows [start, start + width)."""
    rows = len(points)
    flat = points + m * np.arange(rows, dtype=np.int64)[:, None]
    histogram = np.bincount(flat.ravel(), minlength=rows * m).reshape(rows, m)
    below = np.zeros((rows, 2 * m + 1), dtype=np.int64)
    np.cumsum(np.concatenate([histogram, histogram], axis=1), axis=1, out=below[:, 1:])
    return np.take_along_axis(below, start + width, 1) - np.take_along_axis(below, start, 1)
