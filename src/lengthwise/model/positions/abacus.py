"""Abacus positions: a digit's place within its own number. `12+3=51` is numbered 2 1 0 1 0 1 2.

Places count from the least significant digit; what is no digit stays at 0. Training adds an offset drawn per
example, as large as the table allows: with offset 4 the example reads 6 5 0 5 0 5 6.
"""

from typing import ClassVar, final

import torch
from torch import Tensor

from lengthwise.model.positions.encoding import SignificanceEncoding
from lengthwise.model.positions.learned import TableEncoding


@final
class Abacus(SignificanceEncoding, TableEncoding):
    """A digit's position is its significance plus the offset; every other token's is 0."""

    equals_has_position: ClassVar[bool] = False

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return digits + 1

    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return torch.where(number > 0, significance + offset, 0)
