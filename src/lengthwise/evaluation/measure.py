"""Evaluations as records: every test domain of every member, against truth and against what theory predicts.

Shapes: M members, N problems, A answer digits, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

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


@dataclass(frozen=True)
class Row:
    """One row of an evaluation: problems, and for each member what theory says it computes on them."""

    problems: Problems
    domain: Domain | None
    """None for problems that training's own split keeps back, and for a user's."""
    predicted: Sequence[Hypothesis | None]


def measure(
    subject: Subject,
    members: Sequence[MeasuredMember],
    row: Row,
    step: int,
    *,
    detail: bool,
    digits: bool = False,
) -> list[Record]:
    """Score a row by teacher forcing.

    `digits` adds each digit's accuracy; `detail` adds that, probabilities and the paper's three forms.
    """
    tasks, width = [m.task for m in members], subject.layout.answer_width
    pair = row.problems.a, row.problems.b
    references = [hypothesis or TRUTH for hypothesis in row.predicted]
    truth = reference_answers(tasks, [TRUTH] * len(members), *pair, width)
    answers = reference_answers(tasks, references, *pair, width)
    vocabulary = len(subject.layout.vocabulary)
    support = torch.stack([_support(m.task, m.train, width, vocabulary) for m in members]).to(truth.device)
    of_truth = score(subject, pair, truth, support)
    # Where they agree on all problems there is one thing to score, and counts are equal by construction.
    of_reference = of_truth if torch.equal(truth, answers) else score(subject, pair, answers, support)
    records: list[Record] = []
    for k, member in enumerate(members):
        make = _maker(member, row, k, step)
        records += _counts(make, "truth", of_truth, k)
        if references[k] != TRUTH:
            coinciding = (truth[k] == answers[k]).all(-1)
            records += _counts(make, str(references[k]), of_reference, k)
            records.append(make(reference=str(references[k]), metric="coincides", correct=int(coinciding.sum())))
        if detail:
            records += _details(make, str(references[k]), of_reference, k)
        if detail or digits:
            records += _digits(make, of_truth, k)
        if detail and subject.layout.fixed_width:
            records += _outside(make, str(references[k]), of_reference, support, k)
    return records


def measure_decoded(
    members: Sequence[MeasuredMember], row: Row, decoded: Decoded, reference: str, step: int
) -> list[Record]:
    """The counts of real decoding: exact match, and the ways to fail."""
    records: list[Record] = []
    for k, member in enumerate(members):
        make = partial(_maker(member, row, k, step), reference=reference, mode="decoded")
        records.append(make(correct=int(decoded.exact[k].sum())))
        records.append(make(metric="malformed", correct=int(decoded.malformed[k].sum())))
        records.append(make(metric="wrong_length", correct=int(decoded.wrong_length[k].sum())))
        for digit, count in enumerate(torch.bincount(decoded.first_wrong[k]).tolist()):
            if digit and count:
                records.append(make(metric=f"first_wrong:{digit}", correct=count))
    return records


def record_maker(member: MeasuredMember, step: int) -> partial[Record]:
    """Makes records about a member."""
    return partial(
        Record, run=member.run, seed=member.seed, step=step, task=str(member.task), base=member.task.base
    )


def _maker(member: MeasuredMember, row: Row, k: int, step: int) -> partial[Record]:
    problems = row.problems
    return partial(
        record_maker(member, step),
        domain=problems.domain,
        total=problems.a.shape[1],
        selection=problems.selection,
        seen=round(_seen(member, row, k), 6),
    )


def _seen(member: MeasuredMember, row: Row, k: int) -> float:
    if row.domain is not None:
        return seen_share(member, row.domain)
    given = row.problems.selection == "given"
    return seen_share_of_pairs(member, row.problems.a[k], row.problems.b[k]) if given else 0.0


def _counts(make: partial[Record], reference: str, scores: Scores, k: int) -> Iterator[Record]:
    yield make(reference=reference, correct=int(scores.exact[k].sum()))
    yield make(reference=reference, metric="loss", value=float(scores.loss[k].mean()))


def _details(make: partial[Record], reference: str, scores: Scores, k: int) -> Iterator[Record]:
    yield make(reference=reference, metric="weak", correct=int(scores.weak[k].sum()))
    yield make(reference=reference, metric="strong", value=float(scores.strong[k].mean()))


def _digits(make: partial[Record], scores: Scores, k: int) -> Iterator[Record]:
    """Of the problems whose answer is written with a digit of that significance."""
    present = scores.present[k]
    counts = zip((scores.right[k] & present).sum(0).tolist(), present.sum(0).tolist(), strict=True)
    for position, (correct, total) in enumerate(counts, start=1):
        if total:
            yield make(metric=f"digit:{position}", correct=correct, total=total)


def _outside(make: partial[Record], reference: str, scores: Scores, support: Tensor, k: int) -> Iterator[Record]:
    """Only where training showed some digits and not others is there something to be outside of; and only
    with fixed widths does every problem show a digit at every position."""
    told = ~support[k].all(-1)
    for position, value in enumerate(scores.outside[k].mean(0).tolist(), start=1):
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
