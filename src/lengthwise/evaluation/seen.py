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
    """How many distinct problems these were asked to come from, where their number is fixed."""


def seen_share(member: MeasuredMember, domain: Domain) -> float:
    """The share of a domain's test problems that training is expected to have met; none where it reserves."""
    share = 0.0
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        if reserves(part):
            continue
        first = part.rectangles[0]
        pair = first[0].stop - 1, first[1].stop - 1
        drawn = zip(_weights(member), member.train.parts, strict=True)
        chance = sum(own / trained.size for own, trained in drawn if pair in trained)
        share += float(weight) * _met(member, torch.tensor(chance, dtype=torch.float64)).item()
    return share


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
    trained = 0.9 * sum(_held(member))
    return (chance * trained).clamp(max=0.9) * (1 - (1 - 1 / trained) ** member.draws)
