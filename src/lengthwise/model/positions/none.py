"""No positions: `12+3=51` is numbered 0 0 0 0 0 0 0. What order a model knows, the causal mask tells it."""

from typing import final

import torch
from torch import Tensor

from lengthwise.model.positions.encoding import AddedEncoding


@final
class NoPositions(AddedEncoding):
    """Adds nothing."""

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return 1

    @staticmethod
    def offsets(rows: int, needed: int) -> int:
        return 1

    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return torch.zeros_like(index)

    def embed(self, positions: Tensor) -> None:
        return None
