"""Who is evaluated: a stack of models with the way it reads problems, and its members, whom records are about.

Shapes: M members, N problems, T tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from lengthwise.arithmetic import Domain, Task
from lengthwise.model.gpt import GPT
from lengthwise.model.positions.encoding import Encoding, number_tokens
from lengthwise.tokens.config import DataConfig
from lengthwise.tokens.layouts.layout import Layout, Tokens

# Tokens of all members in one pass: enough to fill a GPU, few enough to stay in a CPU's cache.
CHUNK_TOKENS = {"cuda": 1 << 19, "cpu": 1 << 13}

Pair = tuple[Tensor, Tensor]
"""Operands a and b [M, N, W] of problems."""


@dataclass(frozen=True)
class Subject:
    """A model, which is a stack of members, with the layout and the encoding that it reads problems with."""

    model: GPT
    layout: Layout
    encoding: Encoding

    def read(self, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tokens, Tensor]:
        """Problems and answers [M, N, digits] as tokens, and the positions [M or 1, N or 1, T] of these."""
        encoded = self.layout.encode(a, b, c)
        return encoded.spread(), number_tokens(self.encoding, encoded.significance, encoded.number)

    def chunks(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Tensors [M, N, ...] of problems, as many problems at once as suits the device."""
        size = max(1, CHUNK_TOKENS[tensors[0].device.type] // (self.layout.length * len(tensors[0])))
        yield from zip(*(tensor.split(size, dim=1) for tensor in tensors), strict=True)


@dataclass(frozen=True)
class Member:
    """One run of a stack, after some steps of training."""

    run: str
    seed: int
    task: Task
    train: Domain
    step: int = 0
    draws: int = 0
    """Problems that training has drawn so far, the same one counted each time."""
    data: DataConfig = DataConfig()  # noqa: RUF009 (frozen)
    """How it draws them."""


def answer_span(tokens: Tokens) -> tuple[int, int]:
    """The places from the first token of any answer to the last."""
    places = tokens.answer.flatten(0, -2).any(0).nonzero()
    return int(places.min()), int(places.max()) + 1
