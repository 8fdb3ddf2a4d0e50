"""Fixed waves: position p becomes sin(p w) and cos(p w) for frequencies w from 1 down to about 1/10,000.

They are as large as a learned table starts out, so that neither tokens nor positions drown the other.
"""

import math
from typing import final

import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import AddedEncoding, IndexEncoding

LONGEST = 10_000.0


@final
class Sinusoidal(IndexEncoding, AddedEncoding):
    """Half the width holds sines, the other half cosines."""

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
