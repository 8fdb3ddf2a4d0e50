"""How much of what is tested training has met: expected shares, from how training draws its problems.

Shapes: N problems, W operand digits.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.tokens.reserve import is_reserved, low_digits, reserves


@dataclass(frozen=True)
class MeasuredMember:
    """Who a record is about."""

    run: str
    seed: int
    task: Task
    train: Domain
    draws: int
    """Problems that training has drawn so far, the same one counted each time."""
    distinct: int | None = None
    """How many distinct problems these come from, where their number is fixed."""


def seen_share(member: MeasuredMember, domain: Domain) -> float:
    """The share of a domain's test problems that training is expected to have met; none where it reserves."""
    share = 0.0
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        if reserves(part):
            continue
        first = part.rectangles[0]
        chance = float(member.train.weight((first[0].stop - 1, first[1].stop - 1)))
        share += float(weight) * _met(member, torch.tensor(chance, dtype=torch.float64)).item()
    return share


def seen_share_of_pairs(member: MeasuredMember, a: Tensor, b: Tensor) -> float:
    """The same of given pairs [N, W], whichever they are: reserved ones are never met, nor those outside."""
    chance = torch.zeros(len(a), dtype=torch.float64, device=a.device)
    for weight, part in zip(member.train.weights, member.train.parts, strict=True):
        chance += _within(part, a, b) * float(weight / part.size) * _kept_back(part)
    return _met(member, chance * ~is_reserved(a, b, member.train.base)).mean().item()


def _within(part: Part, a: Tensor, b: Tensor) -> Tensor:
    """Which pairs [N] belong to a part, as their digits from its top one on tell."""
    top = part.length - 1
    if a.shape[-1] < part.length:
        return torch.zeros(len(a), dtype=torch.bool, device=a.device)
    lowest, either = torch.minimum(a, b)[:, top], (a | b)[:, top:]
    starts = (lowest >= part.lowest_lead) & ((either[:, 0] > 0) | (not part.skips_zero_lead))
    return starts & ~either[:, 1:].any(-1)


def _kept_back(part: Part) -> float:
    """Training moves a reserved pair to one of its neighbours, so that each of these comes up more often."""
    size = part.base ** low_digits(part.base)
    return size / (size - 1) if reserves(part) else 1.0


def _met(member: MeasuredMember, chance: Tensor) -> Tensor:
    """How likely training has met problems that it draws with these chances."""
    if member.distinct is None:
        return 1 - (1 - chance) ** member.draws
    # Of a fixed set nine tenths are trained on, each as likely as the others to be drawn.
    trained = 0.9 * member.distinct
    return (chance * trained).clamp(max=0.9) * (1 - (1 - 1 / trained) ** member.draws)
