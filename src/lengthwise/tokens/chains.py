"""Problems by the length of their longest carry chain: a column that makes a carry, and those above that pass it
on.

>>> from lengthwise.tokens.digits import from_ints
>>> a, b = from_ints([999, 95, 12], 3, 10), from_ints([1, 87, 34], 3, 10)
>>> longest_chain(a, b, 10).tolist()
[3, 1, 0]

A column stops a carry (digits sum to at most base-2), makes one (at least base) or passes it on (base-1). Read
from the top down, a random pair of digits per column is a Markov chain: `pending` counts the passing columns
directly above, and a column that makes a carry completes a chain of pending+1. With exact counts of how the
columns below can be filled, "uniform over pairs whose longest chain is t" is a walk over columns.

Shapes: U distinct parts, N longest length, T = N+1 targets; ... the shape of the problems' indices.
"""

from collections.abc import Sequence
from itertools import product

import torch
from torch import Tensor

from lengthwise.arithmetic import Part
from lengthwise.arithmetic.domain import MAKE, PASS, STOP, by_carry, free_columns
from lengthwise.errors import InputError
from lengthwise.tokens.digits import last_stops
from lengthwise.tokens.hashing import FRACTION_END, Draws, below

LONGEST = 100
"""The tables grow with the third power of the length: at 100 digits they take seconds and 33 MB."""

Kinds = list[list[tuple[int, int]]]
"""Pairs of digits of one column, by what they do to a carry."""


def longest_chain(a: Tensor, b: Tensor, base: int) -> Tensor:
    """The length of the longest carry chain of a + b, int32 [...]; 0 without a carry."""
    stops, makes = last_stops(a + b, base)
    columns = torch.arange(a.shape[-1], dtype=torch.int32, device=a.device)
    return ((columns - stops + 1) * makes).amax(-1)


class Chains:
    """Draws a chain length uniformly over those that occur in a part, then a pair uniformly over those with it."""

    def __init__(self, parts: Sequence[Part], device: torch.device | str) -> None:
        base, longest = parts[0].base, max(part.length for part in parts)
        if longest > LONGEST:
            raise InputError(f"length {longest} is too long for sampling chains (up to {LONGEST})")
        for part in parts:
            if part.exact is not None:
                raise InputError(f"sampling chains cannot draw from {part}; try D{part.length} or B{part.length}")
        ways = Ways(base, longest)
        kinds = [by_carry(part.lead_pairs, base) for part in parts]
        free = free_columns(base)
        leads = [
            [ways.thresholds(kind, target, False, part.length - 1, 0) for target in range(longest + 1)]
            for part, kind in zip(parts, kinds, strict=True)
        ]
        targets = [[t for t, row in enumerate(rows) if row is not None] for rows in leads]
        rows = [pairs for kind in [*kinds, free] for pairs in kind]
        self.tops = torch.tensor([part.length - 1 for part in parts], device=device)
        self.walk = _walk_thresholds(ways, free).to(device)
        self.leads = torch.tensor([[row or (0, 0) for row in rows] for rows in leads], device=device)
        self.targets, self.target_counts = padded_rows(targets, 0, device)
        self.pairs, self.pair_counts = padded_rows(rows, (0, 0), device)

    def __call__(self, draws: Draws, part: Tensor, first: int, width: int) -> Tensor:
        """Operands int8 [2, ..., width] of the parts numbered [...], by the draws from `first` on."""
        top = self.tops[part]
        target = self.targets[part, below(draws(first), self.target_counts[part])]
        kind = _kind(draws(first + 1 + 2 * top), self.leads[part, target])
        lead = self._pair(draws(first + 2 + 2 * top), 3 * part + kind)
        pending, hit = _step(kind, torch.zeros_like(part), torch.zeros_like(part), target)
        digits = torch.zeros(2, *part.shape, width, dtype=torch.int8, device=part.device)
        for column in reversed(range(self.walk.shape[1])):
            inside = column < top
            kind = _kind(draws(first + 1 + 2 * column), self.walk[target, column, hit, pending])
            pair = self._pair(draws(first + 2 + 2 * column), 3 * len(self.tops) + kind)
            digits[..., column] = pair * inside
            next_pending, next_hit = _step(kind, pending, hit, target)
            pending, hit = torch.where(inside, next_pending, pending), torch.where(inside, next_hit, hit)
        return digits.scatter(-1, top.expand(2, *top.shape).unsqueeze(-1), lead.unsqueeze(-1))

    def _pair(self, draws: Tensor, row: Tensor) -> Tensor:
        """A pair of digits int8 [2, ...] out of rows [...] of the table of pairs."""
        pair = self.pairs[row, below(draws, self.pair_counts[row])]
        return pair.movedim(-1, 0).to(torch.int8)


class Ways:
    """The number of ways to fill columns with digits, as exact integers."""

    def __init__(self, base: int, longest: int) -> None:
        self.longest = longest
        self.at_most = [_fillings(base, target, longest) for target in range(longest + 1)]

    def exactly(self, target: int, hit: bool, columns: int, pending: int) -> int:
        """The number of fillings of some columns whose longest chain is the target; `hit` says that the columns
        above already have it."""
        ways = self.at_most[target][columns][pending]
        if hit or target == 0:
            return ways
        return ways - self.at_most[target - 1][columns][min(pending, target - 1)]

    def thresholds(
        self, kinds: Kinds, target: int, hit: bool, columns: int, pending: int
    ) -> tuple[int, int] | None:
        """The draws at which a column, with some below it, changes from stop to make and from make to pass on.

        None if no pair has the target as its longest chain.
        """
        make_hits, may_make = hit or pending + 1 == target, pending < target
        stop = len(kinds[STOP]) * self.exactly(target, hit, columns, 0)
        make = len(kinds[MAKE]) * self.exactly(target, make_hits, columns, 0) * may_make
        pass_on = len(kinds[PASS]) * self.exactly(target, hit, columns, min(pending + 1, target))
        total = stop + make + pass_on
        return (stop * FRACTION_END // total, (stop + make) * FRACTION_END // total) if total else None


def _fillings(base: int, target: int, longest: int) -> list[list[int]]:
    """[columns][pending]: fillings without a chain longer than the target; pending is counted up to the target."""
    stop = make = base * (base - 1) // 2
    rows = [[1] * (target + 1)]
    for _ in range(longest):
        below_free, below_pending = rows[-1][0], [*rows[-1][1:], rows[-1][-1]]
        row = [(stop + make) * below_free + base * ways for ways in below_pending]
        row[target] -= make * below_free
        rows.append(row)
    return rows


def _walk_thresholds(ways: Ways, kinds: Kinds) -> Tensor:
    """[target, column, hit, pending, 2], where a column's number is the number of columns below it."""
    n = ways.longest
    table = torch.zeros(n + 1, n - 1, 2, n + 1, 2, dtype=torch.int64)
    for target, column, hit in product(range(n + 1), range(n - 1), range(2)):
        rows = [ways.thresholds(kinds, target, hit == 1, column, p) or (0, 0) for p in range(target + 1)]
        table[target, column, hit, : target + 1] = torch.tensor(rows)
    return table


def padded_rows(rows: Sequence[Sequence], filler: object, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Rows of unequal length as one tensor, and their lengths."""
    lengths = [len(row) for row in rows]
    full = [[*row, *[filler] * (max(lengths) - len(row))] for row in rows]
    return torch.tensor(full, device=device), torch.tensor(lengths, device=device)


def _kind(draws: Tensor, thresholds: Tensor) -> Tensor:
    return (draws.unsqueeze(-1) >= thresholds).sum(-1)


def _step(kind: Tensor, pending: Tensor, hit: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The state (pending, hit) after a column of some kind."""
    hits = (kind == MAKE) & (pending + 1 == target)
    return torch.where(kind == PASS, torch.minimum(pending + 1, target), 0), hit | hits.long()
