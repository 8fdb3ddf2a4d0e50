"""Random numbers and held-out test problems by hashes, which are the same bits on every device.

*Random numbers* are counted: draw j of problem k is a hash of (key, k, j).

>>> draws = Draws(derive(seed=0, stream="data"), torch.arange(3))
>>> below(draws(0), 10).tolist()
[9, 9, 2]

*Held-out pairs* follow a fixed rule, the same for every run: training never draws a pair that it reserves.

>>> low_digits(10), reserves(Part("D", 3)), reserves(Part("D", 2))
(1, True, False)
>>> from lengthwise.tokens.digits import from_ints
>>> is_reserved(from_ints(range(120, 130), 3, 10), from_ints([45] * 10, 3, 10), 10).nonzero().tolist()
[[4]]

Of the base^k pairs that agree on everything but a's k lowest digits, exactly one is reserved: the one whose low
digits are a hash of the rest. k is the smallest number with base^k >= 10, so in base 10 a tenth of all pairs is
reserved. Lengths whose D_n has up to 10,000 pairs reserve none: such domains are evaluated completely. Only the
length matters, not the part, so that a pair is reserved in B_n, D_n[lead>=..] and nxm if it is reserved in D_n.

Shapes: n operand digits; ... the shape of the problems or their indices, usually [M members, B problems].
"""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Part, digit_count
from lengthwise.errors import InputError
from lengthwise.tokens.digits import split

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


def member_keys(seeds: Sequence[int], stream: str, device: torch.device | str) -> Tensor:
    """The keys [M, 1] of one of the random streams of each member."""
    return torch.tensor([derive(seed, stream) for seed in seeds], device=device).unsqueeze(-1)


class Draws:
    """The random numbers of some problems, with one key, or with the keys [M, 1] of members."""

    def __init__(self, key: int | Tensor, indices: Tensor) -> None:
        self.key, self.counters = key, indices * DRAWS_PER_PROBLEM
        if not isinstance(key, int):
            self.counters = torch.broadcast_tensors(self.counters, key)[0]

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


# --- held-out pairs ------------------------------------------------------------------------------------------

WHOLE_LIMIT = 10_000
"""Domains of up to this many pairs are evaluated completely."""

_PUBLIC_KEY = 0x6C656E6774687773  # "lengthws"; changing it changes every test set


def low_digits(base: int) -> int:
    """k, the number of low digits of a that the hash of the rest decides."""
    return digit_count(9, base)


def reserves(part: Part) -> bool:
    """Whether some pairs of a part's length are held out. Only digits below the top one are replaced."""
    whole = Part("D", part.length, None, part.base)
    return part.length > low_digits(part.base) and whole.size > WHOLE_LIMIT


def check_sides(domain: Domain) -> None:
    """Refuse parts such as 1x40 in base 2, where replacing a's low digits would change its length."""
    k = low_digits(domain.base)
    for part in domain.parts:
        # A single digit may have any value.
        if part.exact is not None and part.exact[0] <= k and k > 1 and reserves(part):
            raise InputError(
                f"{part} in base {domain.base} has no held-out problems; try {k + 1} digits of a or more"
            )


def is_reserved(a: Tensor, b: Tensor, base: int) -> Tensor:
    """Whether pairs [..., n] are reserved: bool [...]."""
    shortest = 1
    while not reserves(Part("D", shortest, None, base)):
        shortest += 1
    long_enough = ((a | b)[..., shortest - 1 :] != 0).any(-1)
    return long_enough & (_low_value(a, base) == reserved_value(a, b, base))


def reserved_value(a: Tensor, b: Tensor, base: int) -> Tensor:
    """rho, the low digits of the reserved pair: int64 [...] in 0 .. base^k-1.

    Each digit has its own odd weight, so leading zeros contribute nothing at any width.
    """
    k, n = low_digits(base), a.shape[-1]
    weights = hashed(_PUBLIC_KEY, torch.arange(2 * n, device=a.device)) | 1
    rest = (a[..., k:] * weights[2 * k :: 2]).sum(-1) + (b * weights[1::2]).sum(-1)
    return below(hashed(_PUBLIC_KEY, rest) & (FRACTION_END - 1), base**k)


def into_test(a: Tensor, b: Tensor, reserving: Tensor, base: int) -> Tensor:
    """a with its low digits replaced by the reserved ones where `reserving` [...] holds."""
    return _replace(a, reserved_value(a, b, base), reserving, base)


def out_of_test(a: Tensor, b: Tensor, reserving: Tensor, draws: Tensor, base: int) -> Tensor:
    """a with its low digits replaced, where the pair is reserved, by one of the base^k - 1 other values at
    random."""
    size = base ** low_digits(base)
    rho = reserved_value(a, b, base)
    other = (rho + 1 + below(draws, size - 1)) % size
    return _replace(a, other, reserving & (_low_value(a, base) == rho), base)


def _replace(a: Tensor, value: Tensor, where: Tensor, base: int) -> Tensor:
    k = low_digits(base)
    low = split(value.unsqueeze(-1), base, min(k, a.shape[-1]))
    return torch.cat([torch.where(where.unsqueeze(-1), low, a[..., :k]), a[..., k:]], -1)


def _low_value(a: Tensor, base: int) -> Tensor:
    """The value of the k lowest digits, or of all digits of a narrower number."""
    places = base ** torch.arange(min(low_digits(base), a.shape[-1]), device=a.device)
    return (a[..., : len(places)] * places).sum(-1)
