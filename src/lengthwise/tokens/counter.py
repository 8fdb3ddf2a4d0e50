"""Counter-based random numbers: draw j of problem k is a hash of (key, k, j), the same bits on every device.

>>> draws = Draws(derive(seed=0, stream="data"), torch.arange(3))
>>> below(draws(0), 10).tolist()
[9, 9, 2]

Shapes: ... the shape of the problems' indices, usually [M members, B problems].
"""

import hashlib

import torch
from torch import Tensor

from lengthwise.arithmetic import digit_count

STREAMS = ("data", "sparse digits", "offset", "initialisation", "dropout", "evaluation")

FRACTION_BITS = 48
"""A draw is a fraction in units of 2^-48, so that it times a number up to 2^15 stays within int64."""

FRACTION_END = 2**FRACTION_BITS

DRAWS_PER_PROBLEM = 2**15
"""Enough for two draws per column of operands of 10,000 digits, and a few more."""


def derive(seed: int, stream: str) -> int:
    """The 63-bit key of one of a run's random streams: the first bits of SHA-256("lengthwise/{stream}/{seed}")."""
    assert stream in STREAMS, f"{stream!r} is not one of {STREAMS}"
    head = hashlib.sha256(f"lengthwise/{stream}/{seed}".encode()).digest()[:8]
    return int.from_bytes(head, "big") >> 1


class Draws:
    """The random numbers of some problems; `key` is an int or a tensor that broadcasts to the indices."""

    def __init__(self, key: int | Tensor, indices: Tensor) -> None:
        self.key, self.counters = key, indices * DRAWS_PER_PROBLEM

    def __call__(self, number: int | Tensor) -> Tensor:
        """Draw `number` of each problem: int64 [...] in 0 .. 2^48-1."""
        return hashed(self.key, self.counters + number) & (FRACTION_END - 1)

    def several(self, first: int, count: int) -> Tensor:
        """Draws first .. first+count-1 of each problem: [count, ...]."""
        numbers = torch.arange(first, first + count, device=self.counters.device)
        return self(numbers.reshape(-1, *[1] * self.counters.dim()))


def below(draws: Tensor, end: int | Tensor) -> Tensor:
    """Uniform over 0 .. end-1 for end up to 2^15; each probability is exact to 2^-48."""
    return draws * end >> FRACTION_BITS


def digit_group(base: int) -> int:
    """The number of digits that one draw gives, such that their probabilities differ by at most 1 in 10^5."""
    return digit_count(FRACTION_END // 100_000, base) - 1


def digits_of(draws: Tensor, base: int) -> Tensor:
    """The leading digits of the fractions, int8 [..., digit_group(base)].

    Digit j of a fraction f is the integer part of base * (f * base^j modulo 1). The product may overflow, as only
    its lowest 48 bits are used.
    """
    powers = base ** torch.arange(digit_group(base), device=draws.device)
    shifted = draws.unsqueeze(-1) * powers
    shifted &= FRACTION_END - 1
    shifted *= base
    shifted >>= FRACTION_BITS
    return shifted.to(torch.int8)


def hashed(key: int | Tensor, counters: Tensor) -> Tensor:
    """Splitmix64 at key + counter * golden ratio, in wrapping int64."""
    z = counters * _GOLDEN + key
    z = (z ^ _shift_right(z, 30)) * _FIRST
    z = (z ^ _shift_right(z, 27)) * _SECOND
    return z ^ _shift_right(z, 31)


def _shift_right(z: Tensor, count: int) -> Tensor:
    """A logical shift, which fills with zeros; the shift of int64 repeats the sign."""
    return (z >> count) & (2 ** (64 - count) - 1)


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


_GOLDEN, _FIRST, _SECOND = map(_signed, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
