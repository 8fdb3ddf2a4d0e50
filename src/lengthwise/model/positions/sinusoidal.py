"""Waves of fixed frequencies, from 1 down to about 1/10,000: added to embeddings (sinusoidal), or as angles by
which queries and keys turn (rotary).

Shapes: M members, B batch, H heads, T tokens, D head width.
"""

import math
from typing import final

import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import AddedEncoding, IndexEncoding, Relation

LONGEST = 10_000.0


@final
class Sinusoidal(IndexEncoding, AddedEncoding):
    """Half the width holds sines, the other half cosines. They are as large as a learned table starts out, so that
    neither tokens nor positions drown the other."""

    frequencies: Tensor

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.size = config.added_position_std * math.sqrt(2)
        self.register_buffer("frequencies", frequencies(config.width, "width"), persistent=False)

    def embed(self, positions: Tensor) -> Tensor:
        angles = positions.unsqueeze(-1) * self.frequencies
        return self.size * torch.cat([angles.sin(), angles.cos()], dim=-1)


def frequencies(width: int, what: str) -> Tensor:
    """[width / 2], falling geometrically from 1."""
    if width % 2:
        raise InputError(f"{what} must be even, as sines and cosines come in pairs, and is {width}")
    return 1 / LONGEST ** (torch.arange(0, width, 2) / width)


@final
class Rotary(IndexEncoding):
    """Each pair of a query's or key's entries turns by position x frequency. A product of query and key then
    depends on the difference of their positions alone. Entry i of the first half is paired with entry i of the
    second, as in Llama."""

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
