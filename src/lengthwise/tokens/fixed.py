"""Small domains whole, and fixed sets of distinct problems.

>>> from lengthwise.tokens.digits import to_ints
>>> a, b = enumerate_pairs(Part("D", 2))
>>> len(a), to_ints(a[:3], 10), to_ints(b[:3], 10)
(9900, [0, 0, 0], [10, 11, 12])
>>> fixed = FixedSet(Domain.parse("D1+D3"), size=1000, seed=0, width=3)
>>> {str(part): counts for part, counts in fixed.counts.items()}
{'D1': (90, 10), 'D3': (450, 50)}

Shapes: N problems, W operand digits; ... the shape of the indices. A row [2W] is a then b.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Part
from lengthwise.errors import InputError
from lengthwise.tokens.counter import DRAWS_PER_PROBLEM, Draws, derive
from lengthwise.tokens.digits import resize, split
from lengthwise.tokens.reserve import WHOLE_LIMIT, is_reserved, reserves
from lengthwise.tokens.sampling import Sampler, Stream

TEST_SHARE = 10
"""One problem in ten is for testing: the paper's split."""

# Draws that no sampler takes.
_ROW, _ORDER = DRAWS_PER_PROBLEM - 1, DRAWS_PER_PROBLEM - 2


def enumerate_pairs(part: Part, limit: int = WHOLE_LIMIT) -> tuple[Tensor, Tensor]:
    """All pairs of a part, int8 [size, length], ordered by their top digits, then a's and b's lower ones."""
    if part.size > limit:
        raise InputError(f"{part} has {part.size} pairs, too many to take it whole (up to {limit})")
    a_free, b_free = (length - 1 for length in part.lengths)
    index = torch.arange(part.size)
    lower = split(index.unsqueeze(-1), part.base, a_free + b_free)
    leads = torch.tensor(part.lead_pairs, dtype=torch.int8)[index // part.base ** (a_free + b_free)]
    a, b = torch.cat([lower[:, b_free:], leads[:, :1]], -1), torch.cat([lower[:, :b_free], leads[:, 1:]], -1)
    return resize(a, part.length), resize(b, part.length)


class FixedSet:
    """Distinct problems of a domain, none reserved, split nine to one into `train` and `test`, each (a, b).

    A part gives its share of the size, or all it has where that is less; `counts` says how many of its
    problems are for training and for testing. A part of up to four times the size is enumerated, shuffled and
    cut, whatever the mode; of a larger one the first distinct problems of its stream are taken.
    """

    def __init__(
        self,
        domain: Domain,
        size: int,
        *,
        seed: int,
        width: int,
        mode: str = "uniform",
        device: torch.device | str = "cpu",
    ) -> None:
        self.key = derive(seed, "data")
        self.counts: dict[Part, tuple[int, int]] = {}
        train, test, rows = [], [], torch.empty(0, 2 * width, dtype=torch.int8)
        for number, (part, share) in enumerate(zip(domain.parts, _shares(domain, size), strict=True)):
            if part.size <= 4 * size:
                fresh = _new(rows, _shuffled(_unreserved(part, width), self.key))[:share]
            else:
                fresh = _first_new(rows, share, _stream(part, number, seed, width, mode))
            rows = torch.cat([rows, fresh])
            tested = len(fresh) // TEST_SHARE
            self.counts[part] = (len(fresh) - tested, tested)
            test.append(fresh[:tested])
            train.append(fresh[tested:])
        self.train, self.test = (_pairs(torch.cat(side).to(device)) for side in (train, test))

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Training problems int8 [..., W], drawn with replacement: draw k is a function of (seed, k)."""
        a, b = self.train
        row = Draws(self.key, indices)(_ROW) % len(a)
        return a[row], b[row]


def _shares(domain: Domain, size: int) -> list[int]:
    """The size cut by the weights; what rounding leaves over goes to the largest remainders."""
    exact = [weight * size for weight in domain.weights]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: size - sum(counts)]:
        counts[i] += 1
    return counts


def _unreserved(part: Part, width: int) -> Tensor:
    a, b = (resize(digits, width) for digits in enumerate_pairs(part, limit=part.size))
    rows = torch.cat([a, b], -1)
    return rows[~is_reserved(a, b, part.base)] if reserves(part) else rows


def _shuffled(rows: Tensor, key: int) -> Tensor:
    return rows[Draws(key, torch.arange(len(rows)))(_ORDER).argsort(stable=True)]


def _stream(part: Part, number: int, seed: int, width: int, mode: str) -> Callable[[int], Tensor]:
    """The first n rows of a part's own stretch of the data stream, as a function of n."""
    member = Stream(seed, Domain((part,), (Fraction(1),)))
    sampler = Sampler([member], width, mode=mode, side="train")

    def first(count: int) -> Tensor:
        a, b = sampler(torch.arange(count) + (number << 40))
        return torch.cat([a, b], -1)[0]

    return first


def _first_new(known: Tensor, count: int, stream: Callable[[int], Tensor]) -> Tensor:
    drawn = count + count // 8
    while len(fresh := _new(known, stream(drawn))) < count:
        drawn *= 2
    return fresh[:count]


def _new(known: Tensor, rows: Tensor) -> Tensor:
    """The rows, in order and once each, that are not known."""
    together = torch.cat([known, rows]).numpy()
    keys = np.ascontiguousarray(together).view(f"V{together.shape[1]}").reshape(-1)
    first = np.sort(np.unique(keys, return_index=True)[1])
    return rows[torch.from_numpy(first[first >= len(known)] - len(known))]


def _pairs(rows: Tensor) -> tuple[Tensor, Tensor]:
    a, b = rows.chunk(2, -1)
    return a.contiguous(), b.contiguous()
