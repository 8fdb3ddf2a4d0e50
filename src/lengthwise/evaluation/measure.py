"""Exact match by teacher forcing, and evaluations as records: each row of problems against truth, the predicted
function and other hypotheses.

Greedy decoding writes an answer if and only if, when the model reads that answer, the most likely token is the
right one at every answer position. So one pass over problem and reference scores the reference.

Shapes: M members, N problems, S tokens from the first of any answer to the last, A answer digits, V vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.decode import decode, split_failures
from lengthwise.evaluation.problems import Member, Pair, Problems, Subject
from lengthwise.evaluation.seen import seen_share
from lengthwise.records.schema import Record
from lengthwise.theory.columns import coverage
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.layouts.layout import CARRY, SUM, C, Tokens

WEAK_THRESHOLD = 1e-3
"""In the paper's weak form of generalization, a digit counts if its probability is above this."""

RECORDED_DIGITS = 100
"""Number of answer digits, from the lowest, that get their own records."""

STEPS = {"sums": SUM, "carries": CARRY, "answer": C}
"""The kinds of digits in a problem with intermediate steps."""


class Scores(NamedTuple):
    """Scores against one reference: of each problem, as tensors, or of a member over all problems."""

    exact: Any
    """[M, N] Whether all answer tokens are the most likely ones."""
    weak: Any
    """[M, N] Whether no digit is out of reach, by the paper's weak form of generalization."""
    present: Any
    """[M, N, A] Whether the reference is written with a digit of each significance."""
    right: Any
    """[M, N, A] Whether it is, and the digit is the most likely token."""
    loss: Any
    """[M, N] Mean cross-entropy per answer token."""
    strong: Any
    """[M, N] Probability of all digits."""
    outside: Any
    """[M, N, A] Probability of digits outside the support; 0 where a digit is absent."""

    def of_members(self) -> "list[Scores]":
        """Each member's counts of what holds, and means of the rest, over the problems."""
        columns = [(x.sum(1) if x.dtype == torch.bool else x.mean(1)).tolist() for x in self]
        return [Scores(*own) for own in zip(*columns, strict=True)]


@torch.no_grad()
def score(subject: Subject, problem: Pair, reference: Tensor, support: Tensor) -> Scores:
    """Score a reference [M, N, A] on problems [M, N, W].

    `support` [M, A, V] are the tokens of each answer position that do not count as `outside`.
    """
    scored = [_score_chunk(subject, a, b, c, support) for a, b, c in subject.chunks(*problem, reference)]
    return Scores(*(torch.cat(columns, 1) for columns in zip(*scored, strict=True)))


@torch.no_grad()
def right_where(
    subject: Subject, problem: Pair, answers: Tensor, kinds: Callable[[Tokens], Sequence[Tensor]]
) -> Tensor:
    """bool [kinds, M, N]: whether, when the model reads these answers [M, N, A], every token of a kind is the most
    likely one."""
    found: list[Tensor] = []
    for chunk in subject.chunks(*problem, answers):
        logits, tokens = read_answers(subject, *chunk)
        right = logits.argmax(-1) == tokens.ids
        found.append(torch.stack([(right | ~kind).all(-1) for kind in kinds(tokens)]))
    return torch.cat(found, -1)


def right_answers(subject: Subject, problem: Pair, answers: Tensor) -> Tensor:
    """bool [M, N]: where greedy decoding would write these answers [M, N, A]."""
    return right_where(subject, problem, answers, lambda tokens: [tokens.answer])[0]


def read_answers(subject: Subject, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tokens]:
    """The tokens [M, N, S] from the first of any answer to the last, and their logits [M, N, S, V]."""
    tokens, positions = subject.read(a, b, c)
    start, end = answer_span(tokens)
    logits = subject.model(tokens.ids[..., : end - 1], positions[..., : end - 1], tail=end - start)
    return logits, Tokens(*(part[..., start:end] for part in tokens))


def _score_chunk(subject: Subject, a: Tensor, b: Tensor, c: Tensor, support: Tensor) -> Scores:
    logits, tokens = read_answers(subject, a, b, c)
    log_probabilities = logits.log_softmax(-1)
    of_target = log_probabilities.gather(-1, tokens.ids.unsqueeze(-1)).squeeze(-1)
    right = logits.argmax(-1) == tokens.ids
    place, present = digit_places(tokens, c.shape[-1])
    of_digits = log_probabilities.gather(2, place.unsqueeze(-1).expand(-1, -1, -1, logits.shape[-1]))
    inside = (of_digits.exp() * support.unsqueeze(1)).sum(-1)
    probability = torch.where(present, of_target.gather(-1, place).exp(), 1)
    return Scores(
        exact=(right | ~tokens.answer).all(-1),
        weak=(probability > WEAK_THRESHOLD).all(-1),
        present=present,
        right=right.gather(-1, place) & present,
        loss=-(of_target * tokens.answer).sum(-1) / tokens.answer.sum(-1),
        strong=probability.prod(-1),
        outside=torch.where(present, 1 - inside, 0),
    )


def digit_places(tokens: Tokens, digits: int) -> tuple[Tensor, Tensor]:
    """The indices [M, N, A] of the answer's digits of significance 1, 2, ..., and whether they are present."""
    place = torch.arange(1, tokens.ids.shape[-1] + 1, device=tokens.ids.device).expand_as(tokens.ids)
    significance = torch.where(tokens.number == C, tokens.significance, 0)
    blank = place.new_zeros(*place.shape[:-1], digits + 1)
    # Indices count from 1 here: 0 means that there is no such digit.
    found = blank.scatter(-1, significance, torch.where(significance > 0, place, 0))[..., 1:]
    return (found - 1).clamp(min=0), found > 0


def answer_span(tokens: Tokens) -> tuple[int, int]:
    """The indices of the first token of any answer, and after the last."""
    places = tokens.answer.flatten(0, -2).any(0).nonzero()
    return int(places.min()), int(places.max()) + 1


# --- as records ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One row of an evaluation: problems, with the right answers and those that theory predicts for each
    member."""

    problems: Problems
    hypotheses: Sequence[Hypothesis]
    """The predicted hypothesis of each member; truth where there is none."""
    truth: Tensor
    """[M, N, A]"""
    predicted: Tensor
    """[M, N, A]; truth itself where they agree on all problems."""

    @classmethod
    def of(cls, subject: Subject, problems: Problems, predicted: Sequence[Hypothesis | None]) -> "Row":
        hypotheses = [hypothesis or TRUTH for hypothesis in predicted]
        truth = subject.answers([TRUTH] * len(hypotheses), problems.pair)
        answers = subject.answers(hypotheses, problems.pair)
        return cls(problems, hypotheses, truth, truth if torch.equal(truth, answers) else answers)

    @property
    def answers(self) -> list[Tensor]:
        """The answers to score: only truth if both agree, as their counts are then equal."""
        return [self.truth] if self.predicted is self.truth else [self.truth, self.predicted]


def measure(subject: Subject, rows: Sequence[Row], *, detail: bool, digits: bool = False) -> list[Record]:
    """Score all rows at once, by teacher forcing.

    `digits` adds the accuracy of each digit; `detail` adds this, probabilities and the paper's three forms of
    generalization.
    """
    width, vocabulary = subject.layout.answer_width, len(subject.layout.vocabulary)
    support = torch.stack([_support(m.task, m.train, width, vocabulary) for m in subject.members])
    scored = iter(_score_all(subject, rows, support))
    records: list[Record] = []
    for row in rows:
        of_answers = [next(scored) for _ in row.answers]
        of_truth, of_reference = of_answers[0], of_answers[-1]
        coinciding = (row.truth == row.predicted).all(-1).sum(1).tolist()
        for k, make in enumerate(row_makers(subject.members, row.problems)):
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
    subject: Subject, rows: Sequence[Row], hypotheses: Sequence[Hypothesis]
) -> Iterator[Record]:
    """Agreement with further hypotheses, where theory makes no prediction or besides it.

    Truth and the predicted hypothesis are left out, as they are always measured.
    """
    for row in rows if hypotheses else ():
        of_truth = right_answers(subject, row.problems.pair, row.truth)
        makers = row_makers(subject.members, row.problems)
        for hypothesis, matches in agreement(subject, row, hypotheses, of_truth).items():
            for k, (make, correct) in enumerate(zip(makers, matches.sum(1).tolist(), strict=True)):
                if hypothesis not in (TRUTH, row.hypotheses[k]):
                    yield make(reference=str(hypothesis), correct=correct)


def agreement(
    subject: Subject, row: Row, hypotheses: Sequence[Hypothesis], of_truth: Tensor
) -> dict[Hypothesis, Tensor]:
    """bool [M, N] for each hypothesis: where members give its answer; `of_truth`: where they are right."""
    pair, found = row.problems.pair, dict[Hypothesis, Tensor]()
    for hypothesis in hypotheses:
        answers = subject.answers([hypothesis] * len(subject.members), pair)
        # On short operands most hypotheses equal truth, which needs no second pass.
        found[hypothesis] = of_truth if torch.equal(answers, row.truth) else right_answers(subject, pair, answers)
    return found


def measure_steps(subject: Subject, rows: Sequence[Row]) -> Iterator[Record]:
    """Intermediate steps separately: the number of problems in which all raw sums, all carries or all answer
    digits are right.

    By teacher forcing, every token is predicted from the right tokens before it. So each kind of step is measured
    by itself: a wrong carry is wrong although its column's sum and the carry below were right.
    """
    for row in rows:
        right = right_where(
            subject, row.problems.pair, row.truth, lambda tokens: [tokens.number == n for n in STEPS.values()]
        )
        for make, counts in zip(row_makers(subject.members, row.problems), right.sum(-1).T.tolist(), strict=True):
            for kind, correct in zip(STEPS, counts, strict=True):
                yield make(metric=f"steps:{kind}", correct=correct)


def measure_decoded(subject: Subject, rows: Sequence[Row]) -> Iterator[Record]:
    """Counts of decoded answers against truth: exact match, and the kinds of failure."""
    for row in rows:
        answers = decode(subject, row.problems.pair)
        decoded = split_failures(answers, subject.layout, row.problems.pair, row.truth)
        for k, any_mode in enumerate(row_makers(subject.members, row.problems)):
            make = partial(any_mode, mode="decoded")
            yield make(correct=int(decoded.exact[k].sum()))
            yield make(metric="malformed", correct=int(decoded.malformed[k].sum()))
            yield make(metric="wrong_length", correct=int(decoded.wrong_length[k].sum()))
            for digit, count in enumerate(torch.bincount(decoded.first_wrong[k]).tolist()):
                if digit and count:
                    yield make(metric=f"first_wrong:{digit}", correct=count)


def _score_all(subject: Subject, rows: Sequence[Row], support: Tensor) -> list[list[Scores]]:
    """For every answer of every row, in order: the scores of each member."""
    asked = [(*row.problems.pair, answers) for row in rows for answers in row.answers]
    a, b, c = (torch.cat(columns, 1) for columns in zip(*asked, strict=True))
    scores = score(subject, (a, b), c, support.to(c.device))
    counts = [answers.shape[1] for *_, answers in asked]
    parts = zip(*(tensor.split(counts, dim=1) for tensor in scores), strict=True)
    return [Scores(*part).of_members() for part in parts]


def record_maker(member: Member) -> partial[Record]:
    """A function that makes records of a member."""
    return partial(
        Record, run=member.run, seed=member.seed, step=member.step, task=str(member.task), base=member.task.base
    )


def row_makers(members: Sequence[Member], problems: Problems) -> list[partial[Record]]:
    """For each member, a function that makes its records on these problems."""
    return [
        partial(
            record_maker(member),
            domain=problems.name,
            total=problems.a.shape[1],
            selection=problems.selection,
            seen=round(seen_share(member, problems, k), 6),
        )
        for k, member in enumerate(members)
    ]


def _counts(make: partial[Record], scores: Scores) -> Iterator[Record]:
    yield make(correct=scores.exact)
    yield make(metric="loss", value=scores.loss)


def _digits(make: partial[Record], scores: Scores) -> Iterator[Record]:
    """The accuracy of each digit, over the problems whose answer has it."""
    counts = islice(zip(scores.right, scores.present, strict=True), RECORDED_DIGITS)
    for position, (correct, total) in enumerate(counts, start=1):
        if total:
            yield make(metric=f"digit:{position}", correct=correct, total=total)


def _outside(make: partial[Record], scores: Scores, support: Tensor) -> Iterator[Record]:
    """The probability outside the support, for positions where training shows some digits and not others. Only
    with fixed widths does every problem have a digit at every position."""
    restricted = (~support.all(-1)).tolist()
    for position, value in enumerate(scores.outside, start=1):
        if restricted[position - 1]:
            yield make(metric=f"support:{position}", value=max(0.0, value))


@lru_cache(maxsize=256)
def _support(task: Task, train: Domain, width: int, vocabulary: int) -> Tensor:
    """[A, V] The digits that training shows at each answer position; all tokens where it shows all or is
    unknown."""
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
