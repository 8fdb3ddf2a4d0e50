"""Sampling of problems. Problem k depends only on (seed, k): on CPU and GPU, for every batch size and stack.

>>> from lengthwise.tokens.digits import to_ints
>>> sampler = Sampler([Stream(seed=0, domain=Domain.parse("D4"))], width=5, side="train")
>>> a, b = sampler(torch.arange(1000, 1003))
>>> a.shape, to_ints(a, 10), to_ints(b, 10)
(torch.Size([1, 3, 5]), [722, 7342, 1126], [8196, 6052, 4131])

A problem is drawn in three steps: a part of the mixture by its weight, the top digits, and the free digits below.
There is no rejection, so nothing waits for the device. The curriculum of sparse digits sets some digits to zero.

Small domains are enumerated, and a run may have a fixed set of distinct problems:

>>> a, b = enumerate_pairs(Part("D", 2))
>>> len(a), to_ints(a[:3], 10), to_ints(b[:3], 10)
(9900, [0, 0, 0], [10, 11, 12])
>>> fixed = FixedSet(Stream(seed=0, domain=Domain.parse("D1+D3")), size=1000, width=3)
>>> fixed.counts
{'D1': (90, 10), 'D3': (450, 50)}

Shapes: M members, B problems, W operand digits, P parts of the longest mixture, U distinct parts of all;
N problems of a fixed set, of which a row [2W] is a then b.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Part
from lengthwise.errors import InputError, unknown
from lengthwise.tokens import SparseDigits
from lengthwise.tokens.chains import Chains, padded_rows
from lengthwise.tokens.digits import resize, split
from lengthwise.tokens.hashing import (
    DRAWS_PER_PROBLEM,
    FRACTION_BITS,
    FRACTION_END,
    WHOLE_LIMIT,
    Draws,
    below,
    check_sides,
    derive,
    digit_group,
    digits_of,
    into_test,
    is_reserved,
    member_keys,
    out_of_test,
    reserves,
)

SIDES = ("train", "test", None)

# The draws of a problem. Digits come last, as their number grows with the operands.
PART, LEAD, OTHER_LEAD, SHAPE, RESERVE, DIGITS = range(6)

TEST_SHARE = 10
"""One problem in ten of a fixed set is held out for testing, as in the paper."""

# Draws that no sampler uses.
_ROW, _ORDER = DRAWS_PER_PROBLEM - 1, DRAWS_PER_PROBLEM - 2


@dataclass(frozen=True, slots=True)
class Stream:
    """A random sequence of problems: its domain and seed."""

    seed: int
    domain: Domain


SHARE_BITS = 30
"""The probability of setting a digit to zero is an integer in units of 2^-30, so that its product with a problem's
index fits into int64."""


@dataclass(frozen=True, slots=True)
class PartRows:
    """The facts of parts that sampling needs, one int64 entry per problem (or, in the table, per distinct part).
    Lengths and lowest leads are [2, ...], for a and b."""

    lengths: Tensor
    lowest_leads: Tensor
    skips_zero_lead: Tensor
    lead_pair_count: Tensor
    reserves: Tensor

    def __getitem__(self, number: Tensor) -> "PartRows":
        return PartRows(*(getattr(self, name)[..., number] for name in self.__slots__))


class Sampler:
    """Called with problem indices [B] or [M, B] (int64), gives operands a, b: int8 [M, B, W].

    Modes:
    - `uniform`: uniform over the pairs of a part.
    - `paper`: in a part D_n a fair coin chooses the operand that has n digits; the other is uniform below
      base^n. Other parts, and D_1, are uniform.
    - `balanced`: in a part D_n uniform over the pairs of operand lengths with maximum n. If the parts of the
    domain
      have equal weights, each gets a weight proportional to its number of pairs of lengths, 2n-1 for D_n, so that
      D1..N is uniform over all N^2 pairs of lengths. Other parts are uniform.
    - `chains`: uniform over the lengths of the longest carry chain that occur in the part, up to 100 digits; not
      for parts such as 40x2.

    With `sparse`, training starts on problems with many zeros: each digit below the top position of a part is zero
    with a probability that falls to 0. With `leads` so is the top digit of the shorter operand of D_n, or, if both
    have n digits, of one of them; the top digits of B_n, D_n[lead>=..] and nxm are kept, so that no pair leaves
    its part.

    Sides: `train` draws no reserved pair, `test` only reserved ones (see hashing.py), None both. A side replaces
    low digits of a: `uniform` stays exactly uniform over its side, but in `balanced` and `chains` a replacement
    can change the pair's lengths or chain, so evaluate these with side None.
    """

    def __init__(
        self,
        members: Sequence[Stream],
        width: int,
        *,
        mode: str = "uniform",
        sparse: SparseDigits | None = None,
        side: str | None = None,
        stream: str = "data",
        device: torch.device | str = "cpu",
    ) -> None:
        domains = [member.domain for member in members]
        _check(domains, width, mode, side)
        assert mode != "chains" or sparse is None, "zeros would change the carry chains"
        parts = list(dict.fromkeys(part for domain in domains for part in domain.parts))
        self.base, self.width, self.mode, self.side = domains[0].base, width, mode, side
        self.table = _part_table(parts, device)
        ends = [[int(end * FRACTION_END) for end in accumulate(part_shares(d, mode))] for d in domains]
        self.thresholds, _ = padded_rows(ends, FRACTION_END, device)
        """[M, P]: cumulative weights of the parts, as draws."""
        number = {part: i for i, part in enumerate(parts)}
        self.numbers, _ = padded_rows([[number[part] for part in d.parts] for d in domains], 0, device)
        """[M, P]: the rows of a member's parts in the table of distinct parts."""
        seeds = [member.seed for member in members]
        self.keys = member_keys(seeds, stream, device)
        self.sparse, self.sparse_keys = sparse, member_keys(seeds, "sparse digits", device)
        self.chains = Chains(parts, device) if mode == "chains" else None

    def __call__(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        draws = Draws(self.keys, indices)
        number = self.numbers.gather(1, torch.searchsorted(self.thresholds, draws(PART), right=True))
        part = self.table[number]
        if self.chains is not None:
            a, b = self.chains(draws, number, DIGITS, self.width)
        else:
            lengths, leads = SHAPES[self.mode](part, draws, self.base)
            digits = _fill(draws, lengths, leads, self.base, self.width)
            if self.sparse is not None:
                digits = digits * ~self._zeros(indices, part, lengths, leads)
            a, b = digits
        if self.side == "test":
            a = into_test(a, b, part.reserves == 1, self.base)
        elif self.side == "train":
            a = out_of_test(a, b, part.reserves == 1, draws(RESERVE), self.base)
        return a, b

    def _zeros(self, indices: Tensor, part: PartRows, lengths: Tensor, leads: Tensor) -> Tensor:
        """Which digits [2, M, B, W] the curriculum sets to zero, such that no pair leaves its part."""
        assert self.sparse is not None
        draws = Draws(self.sparse_keys, indices)
        chosen = draws.several(1, 2 * self.width).unflatten(0, (2, self.width)).movedim(1, -1)
        chosen = chosen >> (FRACTION_BITS - SHARE_BITS) < _zero_share(self.sparse, indices).unsqueeze(-1)
        columns = torch.arange(self.width, device=chosen.device)
        top = (part.lengths - 1).unsqueeze(-1)
        free = columns < top
        if self.sparse.leads:
            may_be_zero = _lead_may_be_zero(part, lengths, leads, below(draws(0), 2)).unsqueeze(-1)
            free |= (columns == top) & may_be_zero
        return chosen & free


def _zero_share(sparse: SparseDigits, indices: Tensor) -> Tensor:
    """The probability that a free digit of problem k is set to zero, in units of 2^-SHARE_BITS."""
    left = (sparse.problems - indices).clamp(min=0)
    return int(sparse.share * 2**SHARE_BITS) * left // sparse.problems


def _lead_may_be_zero(part: PartRows, lengths: Tensor, leads: Tensor, coin: Tensor) -> Tensor:
    """[2, M, B]: whether a top digit may be set to zero.

    In a part D_n the operand of n digits keeps its top digit; if both have n digits, a coin chooses which one
    does.
    """
    full = (lengths == part.lengths) & (leads > 0)
    a_keeps = full[0] & (~full[1] | (coin == 0))
    longer = torch.stack([a_keeps, ~a_keeps])
    return torch.where(part.skips_zero_lead == 1, ~longer, part.lowest_leads == 0)


def _uniform(part: PartRows, draws: Draws, base: int) -> tuple[Tensor, Tensor]:
    pair = below(draws(LEAD), part.lead_pair_count) + part.skips_zero_lead
    side = base - part.lowest_leads[1]
    first = pair // side
    return part.lengths, torch.stack([first, pair - first * side]) + part.lowest_leads


def _paper(part: PartRows, draws: Draws, base: int) -> tuple[Tensor, Tensor]:
    coin = below(draws(SHAPE), 2)
    full = torch.stack([coin, 1 - coin])
    return part.lengths, _leads(draws, part.lowest_leads + full * part.skips_zero_lead, base)


def _balanced(part: PartRows, draws: Draws, base: int) -> tuple[Tensor, Tensor]:
    """Pair of lengths i of 2n-1: (1, n) .. (n, n), then (n, 1) .. (n, n-1)."""
    n, varied = part.lengths[0], part.skips_zero_lead == 1
    i = below(draws(SHAPE), torch.where(varied, 2 * n - 1, 1))
    lengths = torch.stack([torch.minimum(i + 1, n), torch.where(i < n, n, i + 1 - n)])
    lengths = torch.where(varied, lengths, part.lengths)
    lowest = torch.maximum(part.lowest_leads, (lengths > 1).long())
    return lengths, _leads(draws, lowest, base)


def _leads(draws: Draws, lowest: Tensor, base: int) -> Tensor:
    """Top digits [2, M, B] of two operands, uniform from the lowest allowed one."""
    return lowest + below(draws.several(LEAD, 2), base - lowest)


SHAPES: dict[str, Callable[[PartRows, Draws, int], tuple[Tensor, Tensor]]] = {
    "uniform": _uniform,
    "paper": _paper,
    "balanced": _balanced,
}
"""How a mode chooses the lengths and top digits [2, M, B] of both operands."""

MODES = (*SHAPES, "chains")


def _fill(draws: Draws, lengths: Tensor, leads: Tensor, base: int, width: int) -> Tensor:
    """Operands [2, M, B, W]: free digits, the lead on top, zeros above. A column uses the same draws at every
    width."""
    groups = -(-width // digit_group(base))
    fractions = draws.several(DIGITS, 2 * groups).unflatten(0, (groups, 2)).movedim(0, -1)
    free = digits_of(fractions, base).flatten(-2)[..., :width]
    columns = torch.arange(width, device=free.device)
    top = (lengths - 1).unsqueeze(-1)
    return (free * (columns < top)).scatter_(-1, top, leads.to(torch.int8).unsqueeze(-1))


def _part_table(parts: Sequence[Part], device: torch.device | str) -> PartRows:
    rows = [
        (*p.lengths, *p.lowest_leads, int(p.skips_zero_lead), len(p.lead_pairs), int(reserves(p))) for p in parts
    ]
    table = torch.tensor(rows, device=device).T
    return PartRows(table[:2], table[2:4], *table[4:])


def part_shares(domain: Domain, mode: str) -> tuple[Fraction, ...]:
    """The share of problems drawn from each part of a mixture."""
    if mode != "balanced" or len(set(domain.weights)) > 1:
        return domain.weights
    pairs = [2 * part.length - 1 if part.skips_zero_lead else 1 for part in domain.parts]
    return tuple(Fraction(count, sum(pairs)) for count in pairs)


def _check(domains: Sequence[Domain], width: int, mode: str, side: str | None) -> None:
    assert len({domain.base for domain in domains}) == 1
    assert side in SIDES
    if mode not in MODES:
        raise unknown("sampling mode", mode, MODES)
    for domain in domains:
        if side is not None:
            check_sides(domain)
        if domain.length > width:
            raise InputError(
                f"operands of {domain} have {domain.length} digits (up to {width}, the operand width)"
            )


def enumerate_pairs(part: Part, limit: int = WHOLE_LIMIT) -> tuple[Tensor, Tensor]:
    """All pairs of a part, int8 [size, length], ordered by top digits, then by the lower digits of a and b."""
    if part.size > limit:
        raise InputError(f"{part} has {part.size} pairs, too many to enumerate (up to {limit})")
    a_free, b_free = (length - 1 for length in part.lengths)
    index = torch.arange(part.size)
    lower = split(index.unsqueeze(-1), part.base, a_free + b_free)
    leads = torch.tensor(part.lead_pairs, dtype=torch.int8)[index // part.base ** (a_free + b_free)]
    a, b = torch.cat([lower[:, b_free:], leads[:, :1]], -1), torch.cat([lower[:, :b_free], leads[:, 1:]], -1)
    return resize(a, part.length), resize(b, part.length)


class FixedSet:
    """Distinct problems of a domain, none reserved, split nine to one into `train` and `test`, each (a, b).

    A part contributes its share of the size, or all its pairs if it has fewer; `counts` has the numbers of its
    problems for training and for testing. A part of up to four times the size is enumerated, shuffled and cut in
    every mode; from a larger one the first distinct problems of its stream are taken.
    """

    def __init__(
        self, stream: Stream, size: int, width: int, *, mode: str = "uniform", device: torch.device | str = "cpu"
    ) -> None:
        domain, self.key = stream.domain, derive(stream.seed, "data")
        self.counts: dict[str, tuple[int, int]] = {}
        train, test, rows = [], [], torch.empty(0, 2 * width, dtype=torch.int8)
        for number, (part, share) in enumerate(zip(domain.parts, _shares(domain, size), strict=True)):
            if part.size <= 4 * size:
                fresh = _new(rows, _shuffled(part, width, self.key))[:share]
            else:
                alone = Stream(stream.seed, Domain((part,), (Fraction(1),)))
                sampler = Sampler([alone], width, mode=mode, side="train")
                fresh = _first_new(rows, share, sampler, number << 40)
            rows = torch.cat([rows, fresh])
            tested = len(fresh) // TEST_SHARE
            self.counts[str(part)] = (len(fresh) - tested, tested)
            test.append(fresh[:tested])
            train.append(fresh[tested:])
        sides = (torch.cat(side).to(device).chunk(2, -1) for side in (train, test))
        self.train, self.test = ((a.contiguous(), b.contiguous()) for a, b in sides)

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Training problems int8 [..., W], drawn with replacement: draw k is a function of (seed, k)."""
        a, b = self.train
        row = Draws(self.key, indices)(_ROW) % len(a)
        return a[row], b[row]


def _shares(domain: Domain, size: int) -> list[int]:
    """The size divided by the weights; what rounding leaves goes to the largest remainders."""
    exact = [weight * size for weight in domain.weights]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: size - sum(counts)]:
        counts[i] += 1
    return counts


def _shuffled(part: Part, width: int, key: int) -> Tensor:
    """All rows of a part that are not reserved, shuffled."""
    a, b = (resize(digits, width) for digits in enumerate_pairs(part, limit=part.size))
    rows = torch.cat([a, b], -1)
    if reserves(part):
        rows = rows[~is_reserved(a, b, part.base)]
    return rows[Draws(key, torch.arange(len(rows)))(_ORDER).argsort(stable=True)]


def _first_new(known: Tensor, count: int, sampler: Sampler, start: int) -> Tensor:
    """The first `count` new rows of a stream, from problem `start` on."""
    fresh, drawn = known[:0], count + count // 8
    while len(fresh) < count:
        fresh = _new(known, torch.cat(sampler(torch.arange(drawn) + start), -1)[0])
        drawn *= 2
    return fresh[:count]


def _new(known: Tensor, rows: Tensor) -> Tensor:
    """The distinct rows that are not among the known ones, in order."""
    together = torch.cat([known, rows]).numpy()
    keys = np.ascontiguousarray(together).view(f"V{together.shape[1]}").reshape(-1)
    first = np.sort(np.unique(keys, return_index=True)[1])
    return rows[torch.from_numpy(first[first >= len(known)] - len(known))]
