"""How each answer digit is learned: how well its own column and the carry of the one below tell what is written.

For each answer digit i there are problems of the member's training domain (of its reserved pairs, where it has
such) whose digits of columns i-1, i and i+1 are drawn anew, in both operands, uniformly and independently. A
decision tree learns from half of them what the model writes at i, given

    x = (a_i + b_i) mod base   and   y = (a_{i-1} + b_{i-1}) div base,

and R2 is how much of that digit's variance it explains on the other half. The digit is the model's own, from
decoding, so this says how regular the model is, right or wrong, under a modulus too. Where a digit is the same
on all of these problems, R2 has no meaning and there is no record. `theory.dynamics` has the ceiling that a
perfect adder reaches.

Shapes: M members, I answer digits, N problems of each, W operand digits, A answer digits.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lengthwise.evaluation.failures import Pair
from lengthwise.evaluation.measure import record_maker
from lengthwise.evaluation.seen import MeasuredMember, seen_share_of_pairs
from lengthwise.evaluation.written import Probed
from lengthwise.records.schema import Record
from lengthwise.tokens.counter import DRAWS_PER_PROBLEM, Draws, below, derive
from lengthwise.tokens.sampling import Member, Sampler

AROUND = 3
"""Columns drawn anew: that of the digit, one below and one above."""
FRESH = DRAWS_PER_PROBLEM - 2 * AROUND
"""The first of the draws for these, which no sampler takes."""


def measure_dynamics(stack: Probed, count: int) -> list[Record]:
    """R2 of each digit that training fills and that both operands and answers have, from `count` problems each."""
    members = stack.members
    filled = 1 + max(member.train.length for member in members)
    digits = min(filled, stack.operand_width, stack.answer_width)
    a, b = dynamics_problems(members, stack.operand_width, digits, count, stack.device)
    written = stack.write((a.flatten(1, 2), b.flatten(1, 2))).unflatten(1, (digits, count))
    records: list[Record] = []
    for k, member in enumerate(members):
        seen = round(seen_share_of_pairs(member, a[k].flatten(0, 1), b[k].flatten(0, 1)), 6)
        for i, value in _each_r2(a[k], b[k], written[k], member.task.base):
            records.append(
                record_maker(member)(
                    domain=str(member.train),
                    mode="decoded",
                    metric=f"r2:{i}",
                    value=value,
                    total=count - count // 2,
                    selection="sampled",
                    seen=seen,
                )
            )
    return records


def dynamics_problems(
    members: Sequence[MeasuredMember], width: int, digits: int, count: int, device: torch.device
) -> Pair:
    """Operands [M, I, N, W]: problems i N .. i N + N - 1 of each member's evaluation stream are for digit i."""
    base = members[0].task.base
    streams = [Member(member.seed, member.train) for member in members]
    sampler = Sampler(streams, width, side="test", stream="evaluation", device=device)
    indices = torch.arange(digits * count, device=device)
    keys = torch.tensor([derive(member.seed, "evaluation") for member in members], device=device).unsqueeze(-1)
    draws = Draws(keys, indices.expand(len(members), -1)).several(FRESH, 2 * AROUND)
    fresh = below(draws, base).to(torch.int8).unflatten(0, (2, AROUND)).movedim(1, -1)
    offset = torch.arange(width, device=device) - (indices // count).unsqueeze(-1) + 1
    around, offset = (offset >= 0) & (offset < AROUND), offset.clamp(0, AROUND - 1)
    a, b = (
        torch.where(around, new.gather(-1, offset.expand_as(operand)), operand).unflatten(1, (digits, count))
        for operand, new in zip(sampler(indices), fresh, strict=True)
    )
    return a, b


def _each_r2(a: Tensor, b: Tensor, written: Tensor, base: int) -> Iterator[tuple[int, float]]:
    """The digits i from 1 on and their R2, of operands [I, N, W] and answers [I, N, A]."""
    sums = (a + b).cpu().numpy()
    answers = written.cpu().numpy()
    for i in range(len(sums)):
        carries = sums[i, :, i - 1] // base if i else np.zeros(len(sums[i]), dtype=np.int8)
        value = out_of_sample_r2(np.stack([sums[i, :, i] % base, carries], axis=1), answers[i, :, i])
        if value is not None:
            yield i + 1, value


def out_of_sample_r2(features: npt.NDArray[np.int8], digits: npt.NDArray[np.int64]) -> float | None:
    """R2 on the second half, of a tree that learned from the first; None where one half has a single digit."""
    # Imported here: no other measurement needs it, and it takes a second.
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    half = len(digits) // 2
    if min(np.ptp(digits[:half]), np.ptp(digits[half:])) == 0:
        return None
    tree = DecisionTreeRegressor(random_state=0).fit(features[:half], digits[:half])
    return float(tree.score(features[half:], digits[half:]))
