r"""How often residues occur: in intervals, in their sums, and in products of truncated operands.

*Products.* Write a = A N + a0 and b = B N + b0 with N = base^n. The truncated product a0 b0 has the residue of
a b modulo p exactly if

    A b0 + B a0 + A B N  is divisible by  q = p / gcd(p, N).

Only the residues u = A mod q and x = B mod q matter, so the count is a sum over u and x, whatever the length
of the operands. For one (u, x), with d = gcd(u, q), m = q / d, u = d u', e = d / gcd(d, x), x = (d / e) z:

    a0 must be a multiple e j,   and then   b0 = -s j - x N  (mod m)   with   s = z / u'  (mod m).

So the number of (a0, b0) depends on (d, e), the slope s and on y = z mod m (x N mod m follows from y). The
multiples -s j mod m of one slope are listed once, and every y reads off how many fall in its window: q^2
steps in all. docs/theory.md derives this, and the limit for long operands.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np
import numpy.typing as npt

from lengthwise.arithmetic import Task

Integers = npt.NDArray[np.int64]

_CHUNK = 1 << 20  # table entries held at once


@dataclass(frozen=True, slots=True)
class Residues:
    """Residues of the integers of an interval: each occurs `often` times, and `extra` of them, cyclically
    from `start` on, once more.

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

    def once_more(self, residue: int) -> bool:
        return (residue - self.start) % self.modulus < self.extra


def count_cancelling(left: range, right: range, modulus: int) -> int:
    """How many pairs of the two intervals sum to a multiple of the modulus, in constant time.

    >>> count_cancelling(range(1, 10), range(1, 10), 7)
    11
    """
    a, b = Residues.of(left, modulus), Residues.of(right, modulus)
    # The residues that cancel b's extra ones: -start - extra + 1 .. -start, cyclically.
    overlap = _cyclic_overlap(a.start, a.extra, (1 - b.start - b.extra) % modulus, b.extra, modulus)
    return a.often * b.often * modulus + a.often * b.extra + b.often * a.extra + overlap


def _cyclic_overlap(start: int, size: int, other: int, other_size: int, modulus: int) -> int:
    shift = (other - start) % modulus
    before_wrap = max(0, min(size, shift + other_size) - shift)
    after_wrap = max(0, min(size, shift + other_size - modulus))
    return before_wrap + after_wrap


def len_big(interval: range) -> int:
    """`len`, without its limit at the machine word."""
    return interval.stop - interval.start


def cut(interval: range, unit: int) -> tuple[range, range]:
    """The low parts, below the unit, and the high parts of an interval's numbers: every pair of them occurs once.
    The bounds of an interval that is not below the unit are multiples of it.

    >>> cut(range(200, 1000), 100), cut(range(20, 50), 100)
    ((range(0, 100), range(2, 10)), (range(20, 50), range(0, 1)))
    """
    if interval.stop <= unit:
        return interval, range(1)
    return range(unit), range(interval.start // unit, interval.stop // unit)


def open_modulus(task: Task, digits: int) -> int:
    """q = p / gcd(p, base^n): what is left of the modulus once the last n digits have decided their part.

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
    """Pairs with high parts in the two intervals whose truncated product has the right residue.

    `low_count` is N = base^n, `modulus` is q = p / gcd(p, N).

    >>> count_agreeing(range(1, 2), range(1, 2), 10, 3)  # a and b of 10..19, modulo 3
    33
    >>> sum(a * b % 3 == (a % 10) * (b % 10) % 3 for a in range(10, 20) for b in range(10, 20))
    33
    """
    rows = Residues.of(high_a, modulus)
    columns = Residues.of(high_b, modulus)
    return sum(_count_group(rows, columns, low_count, d, e) for d in divisors(modulus) for e in divisors(d))


def count_vanishing(left: range, right: range, modulus: int) -> int:
    """Pairs of the two intervals whose product is divisible by the modulus.

    >>> count_vanishing(range(1, 10), range(10, 100), 6)
    315
    >>> sum(u * v % 6 == 0 for u in range(1, 10) for v in range(10, 100))
    315
    """
    return sum(_count_common(left, d, modulus) * _multiples(right, modulus // d) for d in divisors(modulus))


def _count_common(interval: range, common: int, modulus: int) -> int:
    """How many numbers have this greatest common divisor with the modulus."""
    return sum(_moebius(k) * _multiples(interval, common * k) for k in divisors(modulus // common))


def _multiples(interval: range, of: int) -> int:
    return (interval.stop - 1) // of - (interval.start - 1) // of


def long_operand_limit(base: int, digits: int, modulus: int) -> Fraction:
    """The accuracy of `truncated:digits` on mul%modulus as the operands grow without end.

    A closed form over divisors where q is coprime to the base, the finite sum over residues elsewhere.

    >>> long_operand_limit(10, 4, 101)
    Fraction(1020099, 102010000)
    """
    low_count = base**digits
    q = modulus // gcd(modulus, low_count)
    if gcd(q, base) == 1:
        every, low = range(q), range(low_count)
        agreeing = sum(d * _count_common(every, d, q) * count_vanishing(low, low, d) for d in divisors(q))
    else:
        agreeing = count_agreeing(range(q), range(q), low_count, q)
    return Fraction(agreeing, q**2 * low_count**2)


def _moebius(number: int) -> int:
    result, prime = 1, 2
    while number > 1:
        if number % prime == 0:
            number //= prime
            if number % prime == 0:
                return 0
            result = -result
        prime += 1
    return result


def _count_group(rows: Residues, columns: Residues, low_count: int, d: int, e: int) -> int:
    """The part of the count with gcd(u, q) = d and gcd(x, d) = d / e."""
    m = rows.modulus // d
    units = np.array([v for v in range(m) if gcd(v, m) == 1], dtype=np.int64)
    row_extra = np.array([rows.once_more(d * int(v)) for v in units], dtype=np.int64)
    column_often, column_extra = _column_weights(columns, d, e, m)
    multiples = -(-low_count // e)  # how many a0 = e j there are
    shift = np.arange(m, dtype=np.int64) * ((d // e) * low_count % m) % m  # x N mod m, by y

    total = 0
    # Weights and counts may exceed 64 bits for long operands, so sums are taken of their small parts.
    for row_factor, row_weight in ((rows.often, np.ones_like(units)), (1, row_extra)):
        for column_factor, column_weight in ((columns.often, column_often), (1, column_extra)):
            if row_factor == 0 or column_factor == 0 or not row_weight.any() or not column_weight.any():
                continue
            even = int(row_weight.sum()) * int(column_weight.sum()) * multiples * (low_count // m)
            total += row_factor * column_factor * even
            for full, partial, y in _windows(multiples % m, low_count % m, shift, units, m):
                weight = row_weight * column_weight[y]
                uneven = multiples // m * int((weight * full).sum()) + int((weight * partial).sum())
                total += row_factor * column_factor * uneven
    return total


def _column_weights(columns: Residues, d: int, e: int, m: int) -> tuple[Integers, Integers]:
    """For each y: how many x of the group have it, and how many of these occur once more than the rest."""
    often, extra = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    for z in range(m * e):
        if gcd(z, e) == 1:
            often[z % m] += 1
            extra[z % m] += columns.once_more((d // e) * z)
    return often, extra


def _windows(
    steps: int, width: int, shift: Integers, units: Integers, m: int
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """By slope s (rows) and unit u' (columns): how many multiples of s fall in the window of y = s u'.

    The window holds `width` residues from x N on. Yields chunks of slopes: the count over a full period of
    multiples, the count over the first `steps` of them, and y.
    """
    rows = max(1, _CHUNK // m)
    for first in range(0, m, rows):
        s = np.arange(first, min(first + rows, m), dtype=np.int64)[:, None]
        y = s * units % m
        start = shift[y]
        period = np.gcd(s, m)
        full = period * (-(-(start + width) // period) + (-start // period))
        yield full, _count_in_windows(-s * np.arange(steps, dtype=np.int64) % m, start, width, m), y


def _count_in_windows(points: Integers, start: Integers, width: int, m: int) -> Integers:
    """For each row, how many of its points lie in the cyclic windows [start, start + width)."""
    rows = len(points)
    flat = points + m * np.arange(rows, dtype=np.int64)[:, None]
    histogram = np.bincount(flat.ravel(), minlength=rows * m).reshape(rows, m)
    below = np.zeros((rows, 2 * m + 1), dtype=np.int64)
    np.cumsum(np.concatenate([histogram, histogram], axis=1), axis=1, out=below[:, 1:])
    return np.take_along_axis(below, start + width, 1) - np.take_along_axis(below, start, 1)
