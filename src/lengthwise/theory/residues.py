"""How often each residue occurs in an interval, and how many pairs of residues cancel."""

from dataclasses import dataclass
from math import gcd


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


def shared_part(modulus: int, base: int, digits: int) -> int:
    """gcd(p, base^n): the part of the modulus that the last n digits decide alone."""
    return gcd(modulus, base**digits)


def divisors(number: int) -> list[int]:
    """
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def totient(number: int) -> int:
    """
    >>> [totient(n) for n in (1, 6, 7, 12)]
    [1, 2, 6, 4]
    """
    result, rest, prime = number, number, 2
    while prime * prime <= rest:
        if rest % prime == 0:
            result -= result // prime
            while rest % prime == 0:
                rest //= prime
        prime += 1
    return result - result // rest if rest > 1 else result
