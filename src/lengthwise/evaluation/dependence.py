"""What an answer digit depends on, by intervention: change one operand digit, see which answer digits change.

Both operands have `length` uniformly random, independent digits, zeros included. For each digit j of a the
same problems are decoded once more with that digit replaced by one of the base - 1 others, each as likely.
`theory.dependence` has the exact shares of what a hypothesis would do.

Shapes: M members, N problems, J = `length` digits of a, W operand digits, A answer digits.
"""

from collections.abc import Sequence

import torch

from lengthwise.evaluation.failures import Pair
from lengthwise.evaluation.measure import record_maker
from lengthwise.evaluation.seen import MeasuredMember, seen_share_of_pairs
from lengthwise.evaluation.written import Probed
from lengthwise.records.schema import Record
from lengthwise.tokens.counter import Draws, below, derive
from lengthwise.tokens.digits import resize

FIRST_PROBLEM = 1 << 40
"""Problems of the evaluation stream from here on: none that a test domain is sampled from."""


def measure_dependence(stack: Probed, length: int, count: int) -> list[Record]:
    """A record for each answer digit i and operand digit j: how many of `count` answers change at i."""
    members = stack.members
    a, b = dependence_problems(members, stack.operand_width, length, count, stack.device)
    written = stack.write((a.flatten(1, 2), b.flatten(1, 2))).unflatten(1, (1 + length, count))
    changed = (written[:, 1:] != written[:, :1]).sum(2).tolist()
    records: list[Record] = []
    for k, member in enumerate(members):
        seen = round(seen_share_of_pairs(member, a[k].flatten(0, 1), b[k].flatten(0, 1)), 6)
        for j, counts in enumerate(changed[k], start=1):
            for i, correct in enumerate(counts, start=1):
                records.append(
                    record_maker(member)(
                        domain=f"digits:{length}",
                        mode="decoded",
                        metric=f"depends:{i}:{j}",
                        correct=correct,
                        total=count,
                        selection="sampled",
                        seen=seen,
                    )
                )
    return records


def dependence_problems(
    members: Sequence[MeasuredMember], width: int, length: int, count: int, device: torch.device
) -> Pair:
    """Operands [M, 1 + J, N, W]: the problems as they are, then with each digit of a replaced."""
    base = members[0].task.base
    keys = torch.tensor([derive(member.seed, "evaluation") for member in members], device=device).unsqueeze(-1)
    indices = torch.arange(FIRST_PROBLEM, FIRST_PROBLEM + count, device=device)
    draws = Draws(keys, indices.expand(len(members), -1))
    a, b = (below(draws.several(first, length), base).movedim(0, -1).to(torch.int8) for first in (0, length))
    steps = 1 + below(draws.several(2 * length, length), base - 1).movedim(0, -1)
    others = ((a + steps) % base).to(torch.int8)
    replaced = [torch.cat([a[..., :j], others[..., j : j + 1], a[..., j + 1 :]], -1) for j in range(length)]
    every_a = torch.stack([a, *replaced], 1)
    return resize(every_a, width), resize(b.unsqueeze(1).expand_as(every_a), width)
