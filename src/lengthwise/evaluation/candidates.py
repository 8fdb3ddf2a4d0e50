"""Agreement with further hypotheses: what a model may compute where theory is silent, or beside what it says.

Shapes: M members, N problems, A answer digits.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from lengthwise.evaluation.measure import Row, row_maker
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Subject
from lengthwise.evaluation.seen import MeasuredMember
from lengthwise.evaluation.strata import right_answers
from lengthwise.records.schema import Record
from lengthwise.theory.hypotheses import TRUTH, Hypothesis


def measure_candidates(
    subject: Subject,
    members: Sequence[MeasuredMember],
    rows: Sequence[Row],
    hypotheses: Sequence[Hypothesis],
) -> list[Record]:
    """Exact match, by teacher forcing, with each hypothesis that is not measured anyway: not truth, and not
    what theory predicts of a member."""
    if not hypotheses:
        return []
    asked = list(dict.fromkeys(hypotheses))
    return [record for row in rows for record in _of_row(subject, members, row, asked)]


def _of_row(
    subject: Subject, members: Sequence[MeasuredMember], row: Row, hypotheses: Sequence[Hypothesis]
) -> list[Record]:
    tasks, width, problems = [member.task for member in members], subject.layout.answer_width, row.problems

    def answers(hypothesis: Hypothesis) -> Tensor:
        return reference_answers(tasks, [hypothesis] * len(tasks), problems.a, problems.b, width)

    truth = answers(TRUTH)
    of_truth = right_answers(subject, problems, truth)
    records: list[Record] = []
    for hypothesis in hypotheses:
        other = answers(hypothesis)
        # On short operands most hypotheses are truth itself, which then needs no pass of its own.
        right = of_truth if torch.equal(other, truth) else right_answers(subject, problems, other)
        correct = right.sum(1).tolist()
        for k, member in enumerate(members):
            if hypothesis not in (TRUTH, row.predicted[k]):
                make = row_maker(member, row, k)
                records.append(make(reference=str(hypothesis), correct=correct[k]))
    return records
