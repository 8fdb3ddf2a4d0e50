"""Attention decays with the logarithm of distance, at a learned rate per head."""

from typing import final

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import BiasEncoding, IndexEncoding, distances


@final
class Fading(IndexEncoding, BiasEncoding):
    """The bias is minus the head's rate times log(1 + distance)."""

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.rows = None  # any length fits
        self.rate = init.constant(1, config.heads, 1, 1, value=1.0)

    def relate(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -self.rate * torch.log1p(distances(queries, keys).clamp(min=0)).unsqueeze(2)
