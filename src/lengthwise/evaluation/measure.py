"""Evaluations as records: each row of problems, against truth, what theory predicts and other hypotheses.

Shapes: M members, N problems, A answer digits, T tokens, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.decode import decode, split_failures
from lengthwise.evaluation.problems import Member, Problems, Subject, reference_answers
from lengthwise.evaluation.score import Scores, right_answers, right_where, score
from lengthwise.evaluation.seen import seen_share, seen_share_of_pairs
from lengthwise.records.schema import Record
from lengthwise.theory.coverage import coverage
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.layouts.layout import CARRY, SUM, C

RECORDED_DIGITS = 100
"""Answer digits with records of their own, from the lowest: of a thousand nobody would read all."""

STEPS = {"sums": SUM, "carries": CARRY, "answer": C}
"""What is written of a problem with intermediate steps."""


@dataclass(frozen=True)
class Row:
    """One row of an evaluation: problems, with the right answers and those that theory predicts of each member."""

    problems: Problems
    hypotheses: Sequence[Hypothesis]
    """What theory says that each member computes; truth where it says nothing."""
    truth: Tensor
    """[M, N, A]"""
    predicted: Tensor
    """[M, N, A]; truth itself where they agree on all problems."""

    @classmethod
    def of(
        cls, problems: Problems, tasks: Sequence[Task], predicted: Sequence[Hypothesis | None], width: int
    ) -> "Row":
        """With answers of `width` digits."""
        hypotheses = [hypothesis or TRUTH for hypothesis in predicted]
        truth = reference_answers(tasks, [TRUTH] * len(tasks), *problems.pair, width)
        answers = reference_answers(tasks, hypotheses, *problems.pair, width)
        return cls(problems, hypotheses, truth, truth if torch.equal(truth, answers) else answers)

    @property
    def answers(self) -> list[Tensor]:
        """Where both agree there is one thing to score, and counts are equal by construction."""
        return [self.truth] if self.predicted is self.truth else [self.truth, self.predicted]


def measure(
    subject: Subject, members: Sequence[Member], rows: Sequence[Row], *, detail: bool, digits: bool = False
) -> list[Record]:
    """Score all rows in one go, by teacher forcing.

    `digits` adds each digit's accuracy; `detail` adds that, probabilities and the paper's three forms.
    """
    width, vocabulary = subject.layout.answer_width, len(subject.layout.vocabulary)
    support = torch.stack([_support(m.task, m.train, width, vocabulary) for m in members])
    scored = iter(_score_all(subject, rows, support))
    records: list[Record] = []
    for row in rows:
        of_truth, *others = (next(scored) for _ in row.answers)
        of_reference = others[0] if others else of_truth
        coinciding = (row.truth == row.predicted).all(-1).sum(1).tolist()
        for k, make in enumerate(row_makers(members, row.problems)):
            of_predicted = partial(make, reference=str(row.hypotheses[k]))
            records += _counts(make, of_truth[k])
            if row.hypotheses[k] != TRUTH:
                records += _counts(of_predicted, of_reference[k])
                records.append(of_predicted(metric="coincides", correct=coinciding[k]))
            if detail:
                records.append(of_predicted(metric="weak", correct=of_reference[k].weak))
                records.append(of_predicted(metric="strong", value=of_reference[k].strong))
            if detail or digits:
                records += _digits(make, of_truth[k])
            if detail and subject.layout.fixed_width:
                records += _outside(of_predicted, of_reference[k], support[k])
    return records


def measure_candidates(
    subject: Subject, members: Sequence[Member], rows: Sequence[Row], hypotheses: Sequence[Hypothesis]
) -> list[Record]:
    """Agreement with further hypotheses: what a model may compute where theory is silent, or beside what it says.

    What is measured anyway is left out: truth, and what theory predicts of a member.
    """
    records: list[Record] = []
    for row in rows if hypotheses else ():
        of_truth = right_answers(subject, row.problems.pair, row.truth)
        makers = row_makers(members, row.problems)
        for hypothesis, matches in agreement(subject, members, row, hypotheses, of_truth).items():
            for k, (make, correct) in enumerate(zip(makers, matches.sum(1).tolist(), strict=True)):
                if hypothesis not in (TRUTH, row.hypotheses[k]):
                    records.append(make(reference=str(hypothesis), correct=correct))
    return records


def agreement(
    subject: Subject, members: Sequence[Member], row: Row, hypotheses: Sequence[Hypothesis], of_truth: Tensor
) -> dict[Hypothesis, Tensor]:
    """bool [M, N] for each hypothesis: where members answer as it does; `of_truth`: where they answer right."""
    tasks, pair, width = [member.task for member in members], row.problems.pair, subject.layout.answer_width
    found: dict[Hypothesis, Tensor] = {}
    for hypothesis in hypotheses:
        answers = reference_answers(tasks, [hypothesis] * len(tasks), *pair, width)
        # On short operands most hypotheses are truth itself, which then needs no pass of its own.
        found[hypothesis] = of_truth if torch.equal(answers, row.truth) else right_answers(subject, pair, answers)
    return found


def measure_steps(subject: Subject, members: Sequence[Member], rows: Sequence[Row]) -> list[Record]:
    """Intermediate steps apart: problems whose every raw sum, carry or answer digit is right, each given all that
    stands before it.

    Teacher forcing shows every token what truly stands before it. So a carry that is wrong is wrong although its
    column's sum and the carry below were right: each step is measured by itself.
    """
    records: list[Record] = []
    for row in rows:
        right = right_where(
            subject, row.problems.pair, row.truth, lambda tokens: [tokens.number == n for n in STEPS.values()]
        )
        correct = right.sum(-1).tolist()
        for k, make in enumerate(row_makers(members, row.problems)):
            records += [make(metric=f"steps:{kind}", correct=correct[i][k]) for i, kind in enumerate(STEPS)]
    return records


def measure_decoded(subject: Subject, members: Sequence[Member], rows: Sequence[Row]) -> list[Record]:
    """The counts of real decoding, against truth: exact match, and the ways to fail."""
    records: list[Record] = []
    for row in rows:
        answers = decode(subject, row.problems.pair)
        decoded = split_failures(answers, subject.layout, row.problems.pair, row.truth)
        for k, any_mode in enumerate(row_makers(members, row.problems)):
            make = partial(any_mode, mode="decoded")
            records.append(make(correct=int(decoded.exact[k].sum())))
            records.append(make(metric="malformed", correct=int(decoded.malformed[k].sum())))
            records.append(make(metric="wrong_length", correct=int(decoded.wrong_length[k].sum())))
            for digit, count in enumerate(torch.bincount(decoded.first_wrong[k]).tolist()):
                if digit and count:
                    records.append(make(metric=f"first_wrong:{digit}", correct=count))
    return records


class Totals(NamedTuple):
    """Scores of one member summed up over the problems."""

    exact: int
    weak: int
    loss: float
    strong: float
    present: list[int]
    right: list[int]
    outside: list[float]


def _score_all(subject: Subject, rows: Sequence[Row], support: Tensor) -> list[list[Totals]]:
    """Of every answer of every row, in order: for each member."""
    asked = [(*row.problems.pair, answers) for row in rows for answers in row.answers]
    a, b, c = (torch.cat(columns, 1) for columns in zip(*asked, strict=True))
    scores = score(subject, (a, b), c, support.to(c.device))
    return [_totals(own) for own in scores.split([answers.shape[1] for *_, answers in asked])]


def _totals(scores: Scores) -> list[Totals]:
    counted = (scores.exact, scores.weak, scores.present, scores.right & scores.present)
    exact, weak, present, right = (scored.sum(1).tolist() for scored in counted)
    loss, strong, outside = (x.mean(1).tolist() for x in (scores.loss, scores.strong, scores.outside))
    return [
        Totals(*of_member) for of_member in zip(exact, weak, loss, strong, present, right, outside, strict=True)
    ]


def record_maker(member: Member) -> partial[Record]:
    """Makes records about a member."""
    return partial(
        Record,
        run=member.run,
        seed=member.seed,
        step=member.step,
        task=str(member.task),
        base=member.task.base,
    )


def row_makers(members: Sequence[Member], problems: Problems) -> list[partial[Record]]:
    """Each makes records about a member and these problems."""
    return [
        partial(
            record_maker(member),
            domain=problems.name,
            total=problems.a.shape[1],
            selection=problems.selection,
            seen=round(_seen(member, problems, k), 6),
        )
        for k, member in enumerate(members)
    ]


def _seen(member: Member, problems: Problems, k: int) -> float:
    if problems.domain is None and problems.selection != "given":
        return 0.0
    if problems.domain is not None and problems.selection == "sampled":
        return seen_share(member, problems.domain)
    return seen_share_of_pairs(member, problems.a[k], problems.b[k])


def _counts(make: partial[Record], totals: Totals) -> Iterator[Record]:
    yield make(correct=totals.exact)
    yield make(metric="loss", value=totals.loss)


def _digits(make: partial[Record], totals: Totals) -> Iterator[Record]:
    """Of the problems whose answer is written with a digit of that significance."""
    counts = islice(zip(totals.right, totals.present, strict=True), RECORDED_DIGITS)
    for position, (correct, total) in enumerate(counts, start=1):
        if total:
            yield make(metric=f"digit:{position}", correct=correct, total=total)


def _outside(make: partial[Record], totals: Totals, support: Tensor) -> Iterator[Record]:
    """Only where training showed some digits and not others is there something to be outside of; and only
    with fixed widths does every problem show a digit at every position."""
    restricted = (~support.all(-1)).tolist()
    for position, value in enumerate(totals.outside, start=1):
        if restricted[position - 1]:
            yield make(metric=f"support:{position}", value=max(0.0, value))


@lru_cache(maxsize=256)
def _support(task: Task, train: Domain, width: int, vocabulary: int) -> Tensor:
    """[A, V] Which digits training shows at each answer position; all tokens where that is all or unknown."""
    allowed = torch.ones(width, vocabulary, dtype=torch.bool)
    if not task.op.has_carries:
        return allowed
    shown = {row.position: row.outputs for row in coverage(task, train)}
    for position in range(1, width + 1):
        digits = shown.get(position, frozenset({0}))
        if len(digits) < task.base:
            allowed[position - 1] = False
            allowed[position - 1, sorted(digits)] = True
    return allowed
