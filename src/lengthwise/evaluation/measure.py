"""Evaluations as records: every test domain of every member, against truth and against what theory predicts.

Shapes: M members, N problems, A answer digits, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.failures import Decoded
from lengthwise.evaluation.problems import Problems
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Scores, Subject, score
from lengthwise.evaluation.seen import MeasuredMember, seen_share, seen_share_of_pairs
from lengthwise.records.schema import Record
from lengthwise.theory.coverage import coverage
from lengthwise.theory.hypotheses import TRUTH, Hypothesis

DIGITS_TOLD = 100
"""Answer digits with records of their own, from the lowest: of a thousand nobody would read all."""


@dataclass(frozen=True)
class Row:
    """One row of an evaluation: problems, and for each member what theory says it computes on them."""

    problems: Problems
    domain: Domain | None
    """None for problems that training's own split keeps back, and for a user's."""
    predicted: Sequence[Hypothesis | None]


@dataclass(frozen=True)
class Question:
    """A row with what is to be answered: by arithmetic, and by what theory predicts of each member."""

    row: Row
    references: Sequence[Hypothesis]
    truth: Tensor
    """[M, N, A]"""
    predicted: Tensor
    """[M, N, A]; truth itself where they agree on all problems."""

    @property
    def answers(self) -> list[Tensor]:
        """Where both agree there is one thing to score, and counts are equal by construction."""
        return [self.truth] if self.predicted is self.truth else [self.truth, self.predicted]


def ask(members: Sequence[MeasuredMember], rows: Sequence[Row], width: int) -> list[Question]:
    """Questions to put to members, with answers of `width` digits."""
    tasks, questions = [member.task for member in members], []
    for row in rows:
        references = [hypothesis or TRUTH for hypothesis in row.predicted]
        truth, predicted = (
            reference_answers(tasks, wanted, row.problems.a, row.problems.b, width)
            for wanted in ([TRUTH] * len(tasks), references)
        )
        questions.append(Question(row, references, truth, truth if torch.equal(truth, predicted) else predicted))
    return questions


def measure(
    subject: Subject,
    members: Sequence[MeasuredMember],
    questions: Sequence[Question],
    *,
    detail: bool,
    digits: bool = False,
) -> list[Record]:
    """Score all questions in one go, by teacher forcing.

    `digits` adds each digit's accuracy; `detail` adds that, probabilities and the paper's three forms.
    """
    width, vocabulary = subject.layout.answer_width, len(subject.layout.vocabulary)
    support = torch.stack([_support(m.task, m.train, width, vocabulary) for m in members])
    scored = iter(_score_all(subject, questions, support))
    records: list[Record] = []
    for question in questions:
        of_truth, *others = (next(scored) for _ in question.answers)
        of_reference = others[0] if others else of_truth
        coinciding = (question.truth == question.predicted).all(-1).sum(1).tolist()
        for k, member in enumerate(members):
            make = row_maker(member, question.row, k)
            reference = str(question.references[k])
            records += _counts(make, "truth", of_truth, k)
            if question.references[k] != TRUTH:
                records += _counts(make, reference, of_reference, k)
                records.append(make(reference=reference, metric="coincides", correct=coinciding[k]))
            if detail:
                records += _details(make, reference, of_reference, k)
            if detail or digits:
                records += _digits(make, of_truth, k)
            if detail and subject.layout.fixed_width:
                records += _outside(make, reference, of_reference, k, support[k])
    return records


@dataclass(frozen=True)
class Totals:
    """Scores summed up over the problems, for each member; one transfer from the device each."""

    exact: list[int]
    weak: list[int]
    loss: list[float]
    strong: list[float]
    present: list[list[int]]
    right: list[list[int]]
    outside: list[list[float]]


def _score_all(subject: Subject, questions: Sequence[Question], support: Tensor) -> list[Totals]:
    """Of every answer of every question, in order."""
    asked = [(question.row.problems, answers) for question in questions for answers in question.answers]
    a, b, c = (
        torch.cat(columns, 1) for columns in zip(*((p.a, p.b, answers) for p, answers in asked), strict=True)
    )
    scores = score(subject, (a, b), c, support.to(c.device))
    return [_totals(own) for own in scores.split([answers.shape[1] for _, answers in asked])]


def _totals(scores: Scores) -> Totals:
    return Totals(
        exact=scores.exact.sum(1).tolist(),
        weak=scores.weak.sum(1).tolist(),
        loss=scores.loss.mean(1).tolist(),
        strong=scores.strong.mean(1).tolist(),
        present=scores.present.sum(1).tolist(),
        right=(scores.right & scores.present).sum(1).tolist(),
        outside=scores.outside.mean(1).tolist(),
    )


def measure_decoded(members: Sequence[MeasuredMember], row: Row, decoded: Decoded, reference: str) -> list[Record]:
    """The counts of real decoding: exact match, and the ways to fail."""
    records: list[Record] = []
    for k, member in enumerate(members):
        make = partial(row_maker(member, row, k), reference=reference, mode="decoded")
        records.append(make(correct=int(decoded.exact[k].sum())))
        records.append(make(metric="malformed", correct=int(decoded.malformed[k].sum())))
        records.append(make(metric="wrong_length", correct=int(decoded.wrong_length[k].sum())))
        for digit, count in enumerate(torch.bincount(decoded.first_wrong[k]).tolist()):
            if digit and count:
                records.append(make(metric=f"first_wrong:{digit}", correct=count))
    return records


def record_maker(member: MeasuredMember) -> partial[Record]:
    """Makes records about a member."""
    return partial(
        Record,
        run=member.run,
        seed=member.seed,
        step=member.step,
        task=str(member.task),
        base=member.task.base,
    )


def row_maker(member: MeasuredMember, row: Row, k: int) -> partial[Record]:
    """Makes records about member k of a row."""
    problems = row.problems
    return partial(
        record_maker(member),
        domain=problems.domain,
        total=problems.a.shape[1],
        selection=problems.selection,
        seen=round(_seen(member, row, k), 6),
    )


def _seen(member: MeasuredMember, row: Row, k: int) -> float:
    problems = row.problems
    if row.domain is not None and problems.selection == "sampled":
        return seen_share(member, row.domain)
    told = row.domain is not None or problems.selection == "given"
    return seen_share_of_pairs(member, problems.a[k], problems.b[k]) if told else 0.0


def _counts(make: partial[Record], reference: str, totals: Totals, k: int) -> Iterator[Record]:
    yield make(reference=reference, correct=totals.exact[k])
    yield make(reference=reference, metric="loss", value=totals.loss[k])


def _details(make: partial[Record], reference: str, totals: Totals, k: int) -> Iterator[Record]:
    yield make(reference=reference, metric="weak", correct=totals.weak[k])
    yield make(reference=reference, metric="strong", value=totals.strong[k])


def _digits(make: partial[Record], totals: Totals, k: int) -> Iterator[Record]:
    """Of the problems whose answer is written with a digit of that significance."""
    counts = islice(zip(totals.right[k], totals.present[k], strict=True), DIGITS_TOLD)
    for position, (correct, total) in enumerate(counts, start=1):
        if total:
            yield make(metric=f"digit:{position}", correct=correct, total=total)


def _outside(make: partial[Record], reference: str, totals: Totals, k: int, support: Tensor) -> Iterator[Record]:
    """Only where training showed some digits and not others is there something to be outside of; and only
    with fixed widths does every problem show a digit at every position."""
    told = (~support.all(-1)).tolist()
    for position, value in enumerate(totals.outside[k], start=1):
        if told[position - 1]:
            yield make(reference=reference, metric=f"support:{position}", value=max(0.0, value))


@lru_cache(maxsize=256)
def _support(task: Task, train: Domain, width: int, vocabulary: int) -> Tensor:
    """[A, V] Which digits training shows at each answer position; all tokens where that is all or unknown."""
    allowed = torch.ones(width, vocabulary, dtype=torch.bool)
    if task.operation != "add":
        return allowed
    shown = {row.position: row.outputs for row in coverage(task, train)}
    for position in range(1, width + 1):
        digits = shown.get(position, frozenset({0}))
        if len(digits) < task.base:
            allowed[position - 1] = False
            allowed[position - 1, sorted(digits)] = True
    return allowed
