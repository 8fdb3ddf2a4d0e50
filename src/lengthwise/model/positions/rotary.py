"""Rotary positions: each pair of a query's or key's entries turns by an angle that grows with its position.

A product of query and key then depends on the difference of their positions alone. Entry i of the first half
is paired with entry i of the second, as in Llama.

Shapes: M members, B batch, H heads, T tokens, D head width.
"""

from typing import final

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import IndexEncoding, Relation
from lengthwise.model.positions.sinusoidal import frequencies


@final
class Rotary(IndexEncoding):
    """Pair i turns by position x frequency i."""

    frequencies: Tensor

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        head_width = config.width // config.heads
        self.register_buffer("frequencies", frequencies(head_width, "the width of a head"), persistent=False)

    def embed(self, positions: Tensor) -> None:
        return None

    def relate(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, ...]:
        """Cosines and sines of the angles of queries, then of keys, each [M or 1, B or 1, 1, T, D / 2]."""
        angles = [positions[:, :, None, :, None] * self.frequencies for positions in (queries, keys)]
        return tuple(wave for angle in angles for wave in (angle.cos(), angle.sin()))

    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, None]:
        assert isinstance(relation, tuple)
        return turn(q, *relation[:2]), turn(k, *relation[2:]), None


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """[M, B, H, T, D]: in float32, whatever comes in."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)
