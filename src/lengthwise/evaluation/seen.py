"""The expected share of test problems that training has drawn, computed from how it draws them.

Shapes: N problems, W operand digits, P phases of training.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.arithmetic import Part
from lengthwise.evaluation.problems import Member, Problems
from lengthwise.theory.columns import chain_counts
from lengthwise.tokens import DataConfig
from lengthwise.tokens.chains import longest_chain
from lengthwise.tokens.hashing import into_test, is_reserved, low_digits, reserves
from lengthwise.tokens.sampling import enumerate_pairs, part_shares

PAIRS_AT_ONCE = 1 << 13
"""Pairs whose probabilities in every phase of training are computed together."""

CURRICULUM_STEPS = 16
"""Number of phases that approximate the falling share of zeros."""


def seen_share(member: Member, problems: Problems, k: int) -> float:
    """The expected share of the problems of member k that training has drawn. For a sample it is that of the whole
    domain, where parts with held-out pairs count as unseen."""
    domain = problems.domain
    if problems.held_out:
        return 0.0
    if domain is None or problems.selection != "sampled":
        return chance_seen(member, problems.a[k], problems.b[k]).mean().item()
    return sum(
        # Parts without reserved pairs are small enough to enumerate.
        float(weight) * chance_seen(member, *enumerate_pairs(part)).mean().item()
        for weight, part in zip(domain.weights, domain.parts, strict=True)
        if not reserves(part)
    )


def chance_seen(member: Member, a: Tensor, b: Tensor) -> Tensor:
    """The probability that training has drawn each pair: float64 [N], on the CPU; 0 for reserved pairs and outside
    the domain."""
    a, b = a.cpu(), b.cpu()
    if member.data.samples is not None:
        return _met_in_fixed_set(member, a, b)
    draws, shares = _phases(member)
    pieces = zip(a.split(PAIRS_AT_ONCE), b.split(PAIRS_AT_ONCE), strict=True)
    # The only pair of a part has probability 1: log1p(-1) is minus infinity, and the result is right.
    unmet = [(draws * torch.log1p(-_chance(member, x, y, shares))).sum(0) for x, y in pieces]
    return 1 - torch.cat(unmet).exp()


def _phases(member: Member) -> tuple[Tensor, Tensor]:
    """Phases of training [P, 1]: the number of problems drawn, and the share of free digits set to zero."""
    sparse, done = member.data.sparse_digits, 0
    phases: list[tuple[int, float]] = []
    if sparse is not None:
        for k in range(CURRICULUM_STEPS):
            end = min(member.draws, sparse.problems * (k + 1) // CURRICULUM_STEPS)
            phases.append((end - done, sparse.share * (1 - (done + end) / 2 / sparse.problems)))
            done = end
    phases.append((member.draws - done, 0.0))
    draws, shares = torch.tensor(phases, dtype=torch.float64).T.unsqueeze(-1)
    return draws, shares


def _chance(member: Member, a: Tensor, b: Tensor, shares: Tensor) -> Tensor:
    """The probability that one draw is each pair [P, N], if free digits are set to zero with probability `shares`
    [P, 1]."""
    base, data = member.train.base, member.data
    reserved = is_reserved(a, b, base)
    others = base ** low_digits(base) - 1
    chance = torch.zeros(len(shares), len(a), dtype=torch.float64)
    for weight, part in zip(part_shares(member.train, data.sampling), member.train.parts, strict=True):
        own = _drawn(part, data, shares, a, b)
        if reserves(part):  # a reserved pair is moved to one of its neighbours
            moved = into_test(a, b, torch.ones_like(reserved), base)
            own = own + _drawn(part, data, shares, moved, b) / others
        chance += float(weight) * own
    return chance * ~reserved


def _drawn(part: Part, data: DataConfig, shares: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The probability that sampling from a part gives each pair [P, N], before reserved pairs are replaced."""
    chance = torch.zeros(len(shares), len(a), dtype=torch.float64)
    if not _within(part, a, b).any():
        return chance
    if data.sampling == "chains":
        return chance + _drawn_by_chain(part, a, b)
    for case in _length_choices(part, data.sampling, data.sparse_leads):
        of_a, of_b = (_number_chance(case, o, digits, part.base, shares) for o, digits in enumerate((a, b)))
        chance += case.probability * of_a * of_b
    return chance


def _drawn_by_chain(part: Part, a: Tensor, b: Tensor) -> Tensor:
    counts = torch.tensor(chain_counts(part), dtype=torch.float64)
    of_pair = counts[longest_chain(a, b, part.base).long().clamp(max=len(counts) - 1)]
    return _within(part, a, b) / (of_pair * (counts > 0).sum())


@dataclass(frozen=True)
class LengthChoice:
    """One choice of lengths and top digits by the sampler; all digits are then independent."""

    probability: float
    lengths: tuple[int, int]
    leads: tuple[range, range]
    """Possible top digits, equally likely."""
    may_be_zero: tuple[bool, bool]
    """Whether the curriculum may set the top digit to zero."""


def _length_choices(part: Part, mode: str, sparse_leads: bool) -> Iterator[LengthChoice]:
    base, n = part.base, part.length
    low_a, low_b = part.lowest_leads
    if not part.skips_zero_lead:
        may_be_zero = (sparse_leads and low_a == 0, sparse_leads and low_b == 0)
        yield LengthChoice(1.0, part.lengths, (range(low_a, base), range(low_b, base)), may_be_zero)
        return
    some, zero = range(1, base), range(1)
    if mode == "balanced":
        for lengths in [(k, n) for k in range(1, n)] + [(n, k) for k in range(1, n)]:
            leads = tuple(range(int(length > 1), base) for length in lengths)
            shorter = tuple(length < n for length in lengths)
            yield LengthChoice(1 / (2 * n - 1), lengths, (leads[0], leads[1]), (shorter[0], shorter[1]))
        both, one = 1 / (2 * n - 1), 0.0
    elif mode == "paper":
        both, one = (base - 1) / base, 1 / (2 * base)
    else:
        both, one = (base - 1) ** 2 / (base**2 - 1), (base - 1) / (base**2 - 1)
    yield LengthChoice(both / 2, (n, n), (some, some), (sparse_leads, False))
    yield LengthChoice(both / 2, (n, n), (some, some), (False, sparse_leads))
    yield LengthChoice(one, (n, n), (some, zero), (False, sparse_leads))
    yield LengthChoice(one, (n, n), (zero, some), (sparse_leads, False))


def _number_chance(case: LengthChoice, operand: int, digits: Tensor, base: int, shares: Tensor) -> Tensor:
    """The probability that an operand has these digits [N, W]: [P, N]."""
    length, leads = case.lengths[operand], case.leads[operand]
    below, top = digits[:, : length - 1], digits[:, length - 1]
    zeros = (below == 0).sum(-1)
    free = (shares + (1 - shares) / base) ** zeros * ((1 - shares) / base) ** (length - 1 - zeros)
    zeroed = shares if case.may_be_zero[operand] else torch.zeros_like(shares)
    is_lead = (top >= leads.start) & (top < leads.stop)
    lead = (1 - zeroed) / len(leads) * is_lead + zeroed * (top == 0)
    return free * lead * ~digits[:, length:].any(-1)


def _met_in_fixed_set(member: Member, a: Tensor, b: Tensor) -> Tensor:
    """The probability that training on a fixed set has drawn each pair: nine tenths of the set are for training,
    all equally likely.

    A part contributes its share of the set, or all its pairs. It has no reserved pairs, so that each of the others
    is more likely.
    """
    samples, train = member.data.samples, member.train
    assert samples is not None
    held = [float(min(w * samples, part.size)) for w, part in zip(train.weights, train.parts, strict=True)]
    trained, low = 0.9 * sum(held), train.base ** low_digits(train.base)
    chance = torch.zeros(len(a), dtype=torch.float64)
    for count, part in zip(held, train.parts, strict=True):
        more_often = low / (low - 1) if reserves(part) else 1.0
        chance += _within(part, a, b) * (count / sum(held) / part.size * more_often)
    chance *= ~is_reserved(a, b, train.base)
    return (chance * trained).clamp(max=0.9) * (1 - (1 - 1 / trained) ** member.draws)


def _within(part: Part, a: Tensor, b: Tensor) -> Tensor:
    """Which pairs [N] belong to a part, by their digits from the part's top position up."""
    if a.shape[-1] < part.length:
        return torch.zeros(len(a), dtype=torch.bool, device=a.device)
    (a_digits, b_digits), (a_lowest, b_lowest) = part.lengths, part.lowest_leads
    a_top, b_top = a[:, a_digits - 1], b[:, b_digits - 1]
    starts = (a_top >= a_lowest) & (b_top >= b_lowest)
    if part.skips_zero_lead:
        starts &= (a_top | b_top) > 0
    return starts & ~a[:, a_digits:].any(-1) & ~b[:, b_digits:].any(-1)
