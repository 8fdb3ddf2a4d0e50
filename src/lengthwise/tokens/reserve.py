"""Held-out test problems: a fixed rule, the same for every run, reserves pairs that training never draws.

>>> low_digits(10), reserves(Part("D", 3)), reserves(Part("D", 2))
(1, True, False)
>>> from lengthwise.tokens.digits import from_ints
>>> is_reserved(from_ints(range(120, 130), 3, 10), from_ints([45] * 10, 3, 10), 10).nonzero().tolist()
[[4]]

Of the base^k pairs that agree on everything but a's k lowest digits, exactly one is reserved: the one whose low
digits are a hash of the rest. k is the smallest number with base^k >= 10, so in base 10 a tenth of all pairs is
reserved. Lengths whose D_n has up to 10,000 pairs reserve none: such domains are evaluated completely. Only the
length matters, not the part, so that a pair is reserved in B_n, D_n[lead>=..] and nxm if it is reserved in D_n.

Shapes: n operand digits; ... any leading dims.
"""

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Part, digit_count
from lengthwise.errors import InputError
from lengthwise.tokens.counter import FRACTION_END, below, hashed
from lengthwise.tokens.digits import split

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
