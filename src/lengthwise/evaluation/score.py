"""Exact match without generation, and what else one forward pass shows.

Greedy decoding yields an answer if and only if, reading that answer, the model's most likely token is the
right one at every answer position. So one pass over problem and reference scores the reference.

Shapes: M members, N problems, T tokens, A answer digits, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.evaluation.subject import Pair, Subject, answer_span
from lengthwise.tokens.layouts.layout import C, Tokens

SCORED_AT_ONCE = 1 << 13
"""Problems whose every digit is kept, until it is known which answers are right."""
WEAK_THRESHOLD = 1e-3
"""A digit counts as within reach, the paper's weak form, if its probability is above this."""


@dataclass(frozen=True)
class Scores:
    """Of each problem, measured against one reference."""

    present: Tensor
    """[M, N, A] Whether the reference is written with a digit of each significance."""
    right: Tensor
    """[M, N, A] Whether each answer digit is the most likely token; true where it is absent."""
    closed: Tensor
    """[M, N] Whether the answer ends right after its last digit, and intermediate steps are right."""
    probability: Tensor
    """[M, N, A] Of the reference's digit; 1 where it is absent."""
    loss: Tensor
    """[M, N] Mean cross-entropy per answer token."""
    outside: Tensor
    """[M, N, A] Probability outside the digits that were asked about; 0 where a digit is absent."""

    @property
    def exact(self) -> Tensor:
        return self.right.all(-1) & self.closed

    @property
    def weak(self) -> Tensor:
        return (self.probability > WEAK_THRESHOLD).all(-1)

    @property
    def strong(self) -> Tensor:
        return self.probability.prod(-1)

    def split(self, counts: Sequence[int]) -> "list[Scores]":
        """The scores of consecutive groups of problems, of these sizes."""
        parts = [tensor.split(list(counts), dim=1) for tensor in vars(self).values()]
        return [Scores(*columns) for columns in zip(*parts, strict=True)]


@torch.no_grad()
def score(subject: Subject, problem: Pair, reference: Tensor, support: Tensor) -> Scores:
    """Score a reference [M, N, A] on problems [M, N, W].

    `support` [M, A, V] says which tokens of each answer position are not counted in `outside`.
    """
    scored = [_score_chunk(subject, a, b, c, support) for a, b, c in subject.chunks(*problem, reference)]
    return Scores(*(torch.cat(columns, 1) for columns in zip(*scored, strict=True)))


def right_answers(subject: Subject, problem: Pair, answers: Tensor) -> Tensor:
    """bool [M, N]: where greedy decoding would write these answers [M, N, A]."""
    vocabulary = len(subject.layout.vocabulary)
    support = torch.ones(len(answers), answers.shape[-1], vocabulary, dtype=torch.bool, device=answers.device)
    parts = zip(*(x.split(SCORED_AT_ONCE, dim=1) for x in (*problem, answers)), strict=True)
    return torch.cat([score(subject, (a, b), c, support).exact for a, b, c in parts], 1)


def _score_chunk(subject: Subject, a: Tensor, b: Tensor, c: Tensor, support: Tensor) -> tuple[Tensor, ...]:
    tokens, positions = subject.read(a, b, c)
    start, end = answer_span(tokens)
    logits = subject.model(tokens.ids[..., : end - 1], positions[..., : end - 1], tail=end - start)
    targets, answer = tokens.ids[..., start:end], tokens.answer[..., start:end]
    log_probabilities = logits.log_softmax(-1)
    of_target = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    right = logits.argmax(-1) == targets
    place, present = _digit_places(tokens, c.shape[-1])
    place = (place - start).clamp(min=0)
    of_digits = log_probabilities.gather(2, place.unsqueeze(-1).expand(-1, -1, -1, logits.shape[-1]))
    inside = (of_digits.exp() * support.unsqueeze(1)).sum(-1)
    is_rest = answer & (tokens.number[..., start:end] != C)
    return (
        present,
        right.gather(-1, place) | ~present,
        (right | ~is_rest).all(-1),
        torch.where(present, of_target.gather(-1, place).exp(), 1),
        -(of_target * answer).sum(-1) / answer.sum(-1),
        torch.where(present, 1 - inside, 0),
    )


def _digit_places(tokens: Tokens, digits: int) -> tuple[Tensor, Tensor]:
    """Where the answer's digits of significance 1, 2, ... stand, [M, N, A], and whether they do."""
    place = torch.arange(tokens.ids.shape[-1], device=tokens.ids.device).expand_as(tokens.ids)
    significance = torch.where(tokens.number == C, tokens.significance, 0)
    blank = place.new_zeros(*place.shape[:-1], digits + 1)
    # Place 0 is [bos]: where nothing else is written, there is no such digit.
    found = blank.scatter(-1, significance, torch.where(significance > 0, place, 0))[..., 1:]
    return found, found > 0
