"""Special sums of a length: one operand short, a carry through the whole number, carries at every other digit.

>>> from lengthwise.tokens.digits import to_ints
>>> drawing = Drawing(seeds=[0], width=5, base=10, count=3, device=torch.device("cpu"))
>>> a, b, _ = carry(drawing, length=4)
>>> to_ints(a, 10), to_ints(b, 10)
([9999, 1, 7586], [1, 9999, 2415])

Shapes: M members, N problems, L digits of the longer operand, W operand digits.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from lengthwise.evaluation.config import SetName
from lengthwise.evaluation.measure import Row
from lengthwise.evaluation.problems import Problems
from lengthwise.evaluation.strata import Drawing, Strata, Stratum
from lengthwise.tokens.counter import Draws, below, derive
from lengthwise.tokens.digits import from_ints, resize

SET_PROBLEMS = 4 << 40
"""Where these begin in a member's evaluation stream."""

SHORT = 10
"""One operand has at most a tenth of the other's digits."""


class Special(NamedTuple):
    """Operands [M, N, W]."""

    a: Tensor
    b: Tensor
    selection: Literal["enumerated", "sampled"]


def lopsided(drawing: Drawing, length: int) -> Special:
    """One operand has all digits, the other 1 to a tenth as many, each number alike; they take turns."""
    indices = _indices(drawing)
    long, _ = drawing.operands(f"B{length}", indices)
    _, short = drawing.operands(f"B1..{max(1, length // SHORT)}", indices)
    turn = (indices % 2 == 0).unsqueeze(-1)
    return Special(torch.where(turn, long, short), torch.where(turn, short, long), "sampled")


def carry(drawing: Drawing, length: int) -> Special:
    """99..9 + 1, 1 + 99..9, then any pairs whose lowest digits make a carry that all others hand on."""
    base, draws = drawing.base, _draws(drawing)
    low = _choice(_making(base), draws(0))
    above = below(draws.several(1, length - 1), base).movedim(0, -1)
    handing_on = torch.stack([above, base - 1 - above])
    operands = resize(torch.cat([low, handing_on], -1).to(torch.int8), drawing.width)
    known = from_ints([base**length - 1, 1], drawing.width, base).to(drawing.device)
    for operand, first in zip(operands, (known, known.flip(0)), strict=True):
        operand[:, : len(first)] = first[: drawing.count]
    return Special(operands[0], operands[1], "sampled")


def alternating(drawing: Drawing, length: int) -> Special:
    """Both operands repeat two digits, such that from the top down columns make a carry and stop one by turns:
    9090 + 9090, 909 + 909. Where there are no more than were asked for, all of these."""
    base, members = drawing.base, len(drawing.seeds)
    making, stopping = _making(base), [(x, y) for x in range(base) for y in range(base - 1 - x)]
    if length == 1:
        stopping = stopping[:1]
    whole = len(making) * len(stopping) <= drawing.count
    if whole:
        every = torch.tensor([(m, s) for m in making for s in stopping], device=drawing.device)
        make, stop = every.permute(1, 2, 0).view(2, 2, 1, -1, 1).expand(-1, -1, members, -1, -1)
    else:
        draws = _draws(drawing)
        make, stop = _choice(making, draws(0)), _choice(stopping, draws(1))
    from_top = torch.arange(length, device=drawing.device).flip(0)
    a, b = resize(torch.where(from_top % 2 == 0, make, stop).to(torch.int8), drawing.width)
    return Special(a, b, "enumerated" if whole else "sampled")


SETS: dict[SetName, Callable[[Drawing, int], Special]] = {
    "lopsided": lopsided,
    "carry": carry,
    "alternating": alternating,
}


def set_strata(name: SetName, drawing: Drawing, length: int) -> Strata:
    """A set as one stratum, of a domain called `D100:carry`, which is none of the grammar."""
    domain, (a, b, selection) = f"D{length}:{name}", SETS[name](drawing, length)
    return Strata(
        Row(Problems(domain, a, b, selection), None, [None] * len(drawing.seeds)),
        torch.zeros(1, a.shape[1], dtype=torch.int64, device=drawing.device),
        [Stratum(domain, "exact")],
    )


def _indices(drawing: Drawing) -> Tensor:
    return torch.arange(SET_PROBLEMS, SET_PROBLEMS + drawing.count, device=drawing.device)


def _draws(drawing: Drawing) -> Draws:
    keys = torch.tensor([derive(seed, "evaluation") for seed in drawing.seeds], device=drawing.device)
    return Draws(keys.unsqueeze(-1), _indices(drawing).expand(len(keys), -1))


def _making(base: int) -> list[tuple[int, int]]:
    """Pairs of digits that make a carry."""
    return [(x, y) for x in range(base) for y in range(base - x, base)]


def _choice(pairs: Sequence[tuple[int, int]], draws: Tensor) -> Tensor:
    """Pairs of digits [2, M, N, 1], each alike."""
    return torch.tensor(pairs, device=draws.device)[below(draws, len(pairs))].movedim(-1, 0).unsqueeze(-1)
