"""Exact match without generation, and what else one forward pass shows.

Greedy decoding yields an answer if and only if, reading that answer, the model's most likely token is the
right one at every answer position. So one pass over problem and reference scores the reference.

Shapes: M members, N problems, S tokens from the first of any answer to the last, A answer digits, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.evaluation.problems import Pair, Subject
from lengthwise.tokens.layouts.layout import C, Tokens

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


@torch.no_grad()
def right_where(
    subject: Subject, problem: Pair, answers: Tensor, kinds: Callable[[Tokens], Sequence[Tensor]]
) -> Tensor:
    """bool [kinds, M, N]: whether, as the model reads these answers [M, N, A], each of their tokens that is of a
    kind is the most likely one."""
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


def _score_chunk(subject: Subject, a: Tensor, b: Tensor, c: Tensor, support: Tensor) -> tuple[Tensor, ...]:
    logits, tokens = read_answers(subject, a, b, c)
    log_probabilities = logits.log_softmax(-1)
    of_target = log_probabilities.gather(-1, tokens.ids.unsqueeze(-1)).squeeze(-1)
    right = logits.argmax(-1) == tokens.ids
    place, present = digit_places(tokens, c.shape[-1])
    of_digits = log_probabilities.gather(2, place.unsqueeze(-1).expand(-1, -1, -1, logits.shape[-1]))
    inside = (of_digits.exp() * support.unsqueeze(1)).sum(-1)
    is_rest = tokens.answer & (tokens.number != C)
    return (
        present,
        right.gather(-1, place) | ~present,
        (right | ~is_rest).all(-1),
        torch.where(present, of_target.gather(-1, place).exp(), 1),
        -(of_target * tokens.answer).sum(-1) / tokens.answer.sum(-1),
        torch.where(present, 1 - inside, 0),
    )


def digit_places(tokens: Tokens, digits: int) -> tuple[Tensor, Tensor]:
    """Where the answer's digits of significance 1, 2, ... stand, [M, N, A], and whether they do."""
    place = torch.arange(1, tokens.ids.shape[-1] + 1, device=tokens.ids.device).expand_as(tokens.ids)
    significance = torch.where(tokens.number == C, tokens.significance, 0)
    blank = place.new_zeros(*place.shape[:-1], digits + 1)
    # Places count from 1: where there is 0, there is no such digit.
    found = blank.scatter(-1, significance, torch.where(significance > 0, place, 0))[..., 1:]
    return (found - 1).clamp(min=0), found > 0


def answer_span(tokens: Tokens) -> tuple[int, int]:
    """The places from the first token of any answer to the last."""
    places = tokens.answer.flatten(0, -2).any(0).nonzero()
    return int(places.min()), int(places.max()) + 1
