"""Abacus and coupled positions, which count digits from the least significant one.

Training adds an offset drawn per example, as large as the table allows, so that every row is trained.
"""

from typing import ClassVar, final

import torch
from torch import Tensor

from lengthwise.model.positions.encoding import SignificanceEncoding
from lengthwise.model.positions.learned import TableEncoding


@final
class Abacus(SignificanceEncoding, TableEncoding):
    """A digit's place within its own number. `12+3=51` is numbered 2 1 0 1 0 1 2, and with offset 4 6 5 0 5 0 5 6:
    what is no digit stays at 0."""

    equals_has_position: ClassVar[bool] = False

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return digits + 1

    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return torch.where(number > 0, significance + offset, 0)


@final
class Coupled(SignificanceEncoding, TableEncoding):
    """Digits of equal significance share a position. `12+3=51` is numbered 3 2 1 2 1 2 3, and with offset 4
    7 6 5 6 5 6 7: operator and `=` stand below the first column, and tokens that belong to no column stay at 0."""

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return digits + 2

    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return torch.where(significance >= 0, 1 + significance + offset, 0)
