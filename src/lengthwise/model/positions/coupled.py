"""Coupled positions: digits of equal significance share one. `12+3=51` is numbered 3 2 1 2 1 2 3.

Training adds an offset drawn per example, as large as the table allows, so that every row is trained; the
example then reads, with offset 4, 7 6 5 6 5 6 7. Tokens that belong to no column stay at 0.
"""

from typing import final

import torch
from torch import Tensor

from lengthwise.model.positions.encoding import SignificanceEncoding
from lengthwise.model.positions.learned import TableEncoding


@final
class Coupled(SignificanceEncoding, TableEncoding):
    """A token's position is its significance plus one (operator and `=`: 1) plus the offset, or 0."""

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return digits + 2

    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return torch.where(significance >= 0, 1 + significance + offset, 0)
