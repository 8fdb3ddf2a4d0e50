"""Intermediate steps apart: how often raw sums, carries and answers are right, each given all that stands before.

Teacher forcing shows every token what truly stands before it. So a carry that is wrong is wrong although its
column's sum and the carry below were right: which of the steps is the hard one is told one by one.

Shapes: M members, N problems, T tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from lengthwise.evaluation.measure import Row, row_maker
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Subject, chunks
from lengthwise.evaluation.seen import MeasuredMember
from lengthwise.model.positions import number_tokens
from lengthwise.records.schema import Record
from lengthwise.theory.hypotheses import TRUTH
from lengthwise.tokens.layouts import CARRY, SUM, C

KINDS = {"sums": SUM, "carries": CARRY, "answer": C}


def measure_steps(subject: Subject, members: Sequence[MeasuredMember], rows: Sequence[Row]) -> list[Record]:
    """A record `steps:sums`, `steps:carries`, `steps:answer` for each row and member: problems whose every token
    of that kind is right."""
    tasks, records = [member.task for member in members], []
    for row in rows:
        a, b = row.problems.a, row.problems.b
        truth = reference_answers(tasks, [TRUTH] * len(tasks), a, b, subject.layout.answer_width)
        correct = _right_by_kind(subject, a, b, truth).sum(-1).tolist()
        for k, member in enumerate(members):
            make = row_maker(member, row, k)
            records += [make(metric=f"steps:{kind}", correct=correct[i][k]) for i, kind in enumerate(KINDS)]
    return records


@torch.no_grad()
def _right_by_kind(subject: Subject, *numbers: Tensor) -> Tensor:
    """bool [kinds, M, N] of problems and answers [M, N, digits]."""
    return torch.cat([_right_in_chunk(subject, *chunk) for chunk in chunks(subject.layout.length, *numbers)], -1)


def _right_in_chunk(subject: Subject, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    encoded = subject.layout.encode(a, b, c)
    positions = number_tokens(subject.encoding, encoded.significance, encoded.number)
    tokens = encoded.spread()
    tail = tokens.ids.shape[-1] - 1
    logits = subject.model(tokens.ids[..., :-1], positions[..., :-1], tail=tail)
    right, number = logits.argmax(-1) == tokens.ids[..., 1:], tokens.number[..., 1:]
    return torch.stack([(right | (number != kind)).all(-1) for kind in KINDS.values()])
