"""How much of what is tested training has met: expected shares, from how training draws its problems.

Shapes: N problems, W operand digits.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.tokens.fixed import enumerate_pairs
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
    """How many distinct problems these were asked to come from, where their number is fixed."""


def seen_share(member: MeasuredMember, domain: Domain) -> float:
    """The share of a domain's sampled problems that training is expected to have met; none where it reserves."""
    shares = zip(domain.weights, domain.parts, strict=True)
    return sum(
        # What reserves nothing is small.
        float(weight) * seen_share_of_pairs(member, *enumerate_pairs(part))
        for weight, part in shares
        if not reserves(part)
    )


def seen_share_of_pairs(member: MeasuredMember, a: Tensor, b: Tensor) -> float:
    """The same of given pairs [N, W], whichever they are."""
    return chance_seen(member, a, b).mean().item()


def chance_seen(member: MeasuredMember, a: Tensor, b: Tensor) -> Tensor:
    """How likely training has met each pair: float64 [N]; reserved ones it never meets, nor those outside."""
    chance = torch.zeros(len(a), dtype=torch.float64, device=a.device)
    for weight, part in zip(_weights(member), member.train.parts, strict=True):
        chance += _within(part, a, b) * (weight / part.size) * _kept_back(part)
    return _met(member, chance * ~is_reserved(a, b, member.train.base))


def _held(member: MeasuredMember) -> list[float]:
    """Problems of each part in a fixed set: its share of what was asked for, or all it has."""
    assert member.distinct is not None
    shares = zip(member.train.weights, member.train.parts, strict=True)
    return [float(min(weight * member.distinct, part.size)) for weight, part in shares]


def _weights(member: MeasuredMember) -> list[float]:
    """How often training draws from each part; of a fixed set, as much as the part has in it."""
    if member.distinct is None:
        return [float(weight) for weight in member.train.weights]
    held = _held(member)
    return [count / sum(held) for count in held]


def _within(part: Part, a: Tensor, b: Tensor) -> Tensor:
    """Which pairs [N] belong to a part, as their digits from its top one on tell."""
    if a.shape[-1] < part.length:
        return torch.zeros(len(a), dtype=torch.bool, device=a.device)
    (a_digits, b_digits), (a_lowest, b_lowest) = part.lengths, part.lowest_leads
    a_top, b_top = a[:, a_digits - 1], b[:, b_digits - 1]
    starts = (a_top >= a_lowest) & (b_top >= b_lowest)
    if part.skips_zero_lead:
        starts &= (a_top | b_top) > 0
    return starts & ~a[:, a_digits:].any(-1) & ~b[:, b_digits:].any(-1)


def _kept_back(part: Part) -> float:
    """Training moves a reserved pair to one of its neighbours, so that each of these comes up more often."""
    size = part.base ** low_digits(part.base)
    return size / (size - 1) if reserves(part) else 1.0


def _met(member: MeasuredMember, chance: Tensor) -> Tensor:
    """How likely training has met problems that it draws with these chances."""
    if member.distinct is None:
        return 1 - (1 - chance) ** member.draws
    # Of a fixed set nine tenths are trained on, each as likely as the others to be drawn.
    trained = 0.9 * sum(_held(member))
    return (chance * trained).clamp(max=0.9) * (1 - (1 - 1 / trained) ** member.draws)
