"""Exact match without generation, and what else one forward pass shows.

Greedy decoding yields an answer if and only if, reading that answer, the model's most likely token is the
right one at every answer position. So one pass over problem and reference scores the reference.

Shapes: M members, N problems, T tokens, A answer digits, V vocabulary.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from lengthwise.model.positions import Encoding, number_tokens
from lengthwise.tokens.layouts import Layout

CHUNK_TOKENS = 1 << 19  # tokens of all members in one pass: bounds memory
WEAK_THRESHOLD = 1e-3
"""A digit counts as within reach, the paper's weak form, if its probability is above this."""


class Model(Protocol):
    """What scoring asks of a model: logits [M, N, tail, V] of ids [M, N, T] at positions."""

    def __call__(self, ids: Tensor, positions: Tensor, *, tail: int) -> Tensor: ...


@dataclass(frozen=True)
class Subject:
    """A stack under test, with the layout and the numbering of tokens that it was trained with."""

    model: Model
    layout: Layout
    encoding: Encoding


@dataclass(frozen=True)
class Scores:
    """Of each problem, measured against one reference."""

    right: Tensor
    """[M, N, A] Whether each answer digit is the most likely token."""
    closed: Tensor
    """[M, N] Whether the answer ends where it should."""
    probability: Tensor
    """[M, N, A] Of the reference's digit."""
    loss: Tensor
    """[M, N] Mean cross-entropy per answer token."""
    outside: Tensor
    """[M, N, A] Probability outside the digits that were asked about."""

    @property
    def exact(self) -> Tensor:
        return self.right.all(-1) & self.closed

    @property
    def weak(self) -> Tensor:
        return (self.probability > WEAK_THRESHOLD).all(-1)

    @property
    def strong(self) -> Tensor:
        return self.probability.prod(-1)


@torch.no_grad()
def score(subject: Subject, problem: tuple[Tensor, Tensor], reference: Tensor, support: Tensor) -> Scores:
    """Score a reference [M, N, A] on problems [M, N, W].

    `support` [M, A, V] says which tokens of each answer position are not counted in `outside`.
    """
    chunks = [
        _score_chunk(subject, a, b, c, support)
        for a, b, c in _chunks(subject.layout.length, *problem, reference)
    ]
    return Scores(*(torch.cat(columns, 1) for columns in zip(*chunks, strict=True)))


def _chunks(length: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    size = max(1, CHUNK_TOKENS // (length * len(tensors[0])))
    yield from zip(*(tensor.split(size, dim=1) for tensor in tensors), strict=True)


def _score_chunk(subject: Subject, a: Tensor, b: Tensor, c: Tensor, support: Tensor) -> tuple[Tensor, ...]:
    tokens = subject.layout.encode(a, b, c)
    assert isinstance(tokens.prompt_length, int)
    positions = number_tokens(subject.encoding, tokens.significance, tokens.number)
    tail, digits = tokens.ids.shape[-1] - tokens.prompt_length, c.shape[-1]
    logits = subject.model(tokens.ids[..., :-1], positions[..., :-1], tail=tail)
    targets = tokens.ids[..., -tail:]
    right = logits.argmax(-1) == targets
    log_probabilities = logits.log_softmax(-1)
    of_target = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    inside = (log_probabilities[:, :, :digits].exp() * support.unsqueeze(1)).sum(-1)
    return (
        right[..., :digits],
        right[..., digits:].all(-1),
        of_target[..., :digits].exp(),
        -of_target.mean(-1),
        1 - inside,
    )
