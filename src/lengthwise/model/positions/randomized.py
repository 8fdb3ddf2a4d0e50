"""Randomized positions: as many distinct integers as there are tokens, from a longer range, in order.

`12+3=51` may be numbered 0 3 4 9 11 12 17 in one training example and 2 3 7 8 13 20 26 in the next, so that
no position is strange when a longer sequence reaches it. The range is the model's context. An example's
offset is the seed of its draw. Evaluation, at offset 0, takes the expected value of each drawn position: 3 7
11 15 19 23 27 in a range of 32, evenly spread. The published method draws in evaluation too; here a
measurement is a function of model and problem alone, and positions are the centre of those trained on.

Shapes: M members, B batch, T tokens, R range.
"""

from functools import cache
from typing import ClassVar

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import Encoding, IndexEncoding, Relation

PREFIX = "randomized:"
DRAWS = 2**15


class Randomized(Encoding):
    """Numbers tokens for an encoding of another kind, named by `randomized`, which uses the numbers."""

    kind: ClassVar[type[IndexEncoding]]

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.rows = self.range = rows
        self.inner = self.kind(config, rows, init)

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return length

    @staticmethod
    def default_rows(needed: int) -> int:
        return 4 * needed

    @staticmethod
    def offsets(rows: int, needed: int) -> int:
        return DRAWS if rows > needed else 1

    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        length = index.shape[-1]
        spread = (index + 1) * (self.range + 1) // (length + 1) - 1
        ranks = _hash((offset << 32) + torch.arange(self.range, device=index.device))
        drawn = ranks.topk(length, dim=-1).indices.sort(dim=-1).values
        return torch.where(offset == 0, spread, drawn)

    def embed(self, positions: Tensor) -> Tensor | None:
        return self.inner.embed(positions)

    def relate(self, queries: Tensor, keys: Tensor) -> Relation:
        return self.inner.relate(queries, keys)

    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.inner.attend(q, k, relation)


@cache
def randomized(kind: type[IndexEncoding]) -> type[Encoding]:
    """An encoding's randomized form."""
    return type(f"Randomized{kind.__name__}", (Randomized,), {"kind": kind})


def _hash(x: Tensor) -> Tensor:
    """Well mixed bits of int64, the same on every device; products wrap around."""
    for _ in range(3):
        x = (x ^ (x >> 32)) * -0x2917014799A6026D
    return x ^ (x >> 32)
