"""Evaluations as records: every test domain of every member, against truth and against what theory predicts.

Shapes: M members, N problems, A answer digits, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.failures import Decoded
from lengthwise.evaluation.problems import Problems
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.score import Scores, Subject, score
from lengthwise.records.schema import Record
from lengthwise.theory.coverage import coverage
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.reserve import reserves


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
    """How many distinct problems these come from, where their number is fixed."""


@dataclass(frozen=True)
class Row:
    """One row of an evaluation: problems, and for each member what theory says it computes on them."""

    problems: Problems
    domain: Domain | None
    predicted: Sequence[Hypothesis | None]


def measure(
    subject: Subject, members: Sequence[MeasuredMember], row: Row, step: int, *, detail: bool
) -> list[Record]:
    """Score a row by teacher forcing. `detail` adds digits, probabilities and the paper's three forms."""
    tasks, width = [m.task for m in members], subject.layout.answer_width
    pair = row.problems.a, row.problems.b
    references = [hypothesis or TRUTH for hypothesis in row.predicted]
    truth = reference_answers(tasks, [TRUTH] * len(members), *pair, width)
    answers = reference_answers(tasks, references, *pair, width)
    support = torch.stack([_support(m, width, len(subject.layout.vocabulary)) for m in members]).to(truth.device)
    of_truth = score(subject, pair, truth, support)
    # Where they agree on all problems there is one thing to score, and counts are equal by construction.
    of_reference = of_truth if torch.equal(truth, answers) else score(subject, pair, answers, support)
    records: list[Record] = []
    for k, member in enumerate(members):
        make = _maker(member, row, step)
        records += _counts(make, "truth", of_truth, k)
        if references[k] != TRUTH:
            coinciding = (truth[k] == answers[k]).all(-1)
            records += _counts(make, str(references[k]), of_reference, k)
            records.append(make(reference=str(references[k]), metric="coincides", correct=int(coinciding.sum())))
        if detail:
            records += _details(make, str(references[k]), of_reference, k)
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
        make = partial(_maker(member, row, step), reference=reference, mode="decoded")
        records.append(make(correct=int(decoded.exact[k].sum())))
        records.append(make(metric="malformed", correct=int(decoded.malformed[k].sum())))
        records.append(make(metric="wrong_length", correct=int(decoded.wrong_length[k].sum())))
        for digit, count in enumerate(torch.bincount(decoded.first_wrong[k]).tolist()):
            if digit and count:
                records.append(make(metric=f"first_wrong:{digit}", correct=count))
    return records


def seen_share(member: MeasuredMember, domain: Domain) -> float:
    """The share of a domain's test problems that training is expected to have met; none where it reserves."""
    share = 0.0
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        if reserves(part):
            continue
        first = part.rectangles[0]
        chance = float(member.train.weight((first[0].stop - 1, first[1].stop - 1)))
        share += float(weight) * _met(member, chance)
    return share


def _met(member: MeasuredMember, chance: float) -> float:
    """How likely training has met a problem that it draws with this chance."""
    if member.distinct is None:
        return 1 - (1 - chance) ** member.draws
    # Of a fixed set nine tenths are trained on, each as likely as the others to be drawn.
    trained = 0.9 * member.distinct
    return min(0.9, chance * trained) * (1 - (1 - 1 / trained) ** member.draws)


def _maker(member: MeasuredMember, row: Row, step: int) -> partial[Record]:
    return partial(
        Record,
        run=member.run,
        seed=member.seed,
        step=step,
        task=str(member.task),
        base=member.task.base,
        domain=row.problems.domain,
        total=row.problems.a.shape[1],
        selection=row.problems.selection,
        seen=0.0 if row.domain is None else round(seen_share(member, row.domain), 6),
    )


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


def _support(member: MeasuredMember, width: int, vocabulary: int) -> Tensor:
    """[A, V] Which digits training shows at each answer position; all tokens where that is all or unknown."""
    allowed = torch.ones(width, vocabulary, dtype=torch.bool)
    if member.task.operation != "add":
        return allowed
    base = member.task.base
    shown = {row.position: row.outputs for row in coverage(member.task, member.train)}
    for position in range(1, width + 1):
        digits = shown.get(position, frozenset({0}))
        if len(digits) < base:
            allowed[position - 1] = False
            allowed[position - 1, sorted(digits)] = True
    return allowed
