"""ALiBi: attention falls off linearly with distance, in each of 8 heads at its own rate 1/2, 1/4, ... 1/256.

Nothing is learned, and nothing bounds the length.

Shapes: M members, B batch, H heads, Q queries, K keys.
"""

import math
from typing import final

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import BiasEncoding, IndexEncoding, distances


@final
class Alibi(IndexEncoding, BiasEncoding):
    """The bias is minus the head's slope times the distance."""

    slopes: Tensor

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        slopes = torch.tensor(head_slopes(config.heads)).view(-1, 1, 1)
        self.register_buffer("slopes", slopes, persistent=False)

    def relate(self, queries: Tensor, keys: Tensor) -> Tensor:
        """[M or 1, B or 1, H, Q, K]"""
        return -self.slopes * distances(queries, keys).unsqueeze(2)


def head_slopes(heads: int) -> list[float]:
    """A geometric sequence that ends at 2^-8; between powers of two, every other slope of the next one joins.

    >>> head_slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    >>> head_slopes(6)
    [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    """
    power = 2 ** math.floor(math.log2(heads))
    whole = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    finer = [2 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * (heads - power), 2)]
    return whole + finer
