"""Learned absolute positions: `12+3=51` is numbered 0 1 2 3 4 5 6."""

from typing import final

from torch import Tensor

from lengthwise.model.positions.table import TableEncoding


@final
class Learned(TableEncoding):
    """A token's position is its index."""

    @staticmethod
    def needs(length: int, digits: int) -> int:
        return length

    @staticmethod
    def offsets(rows: int, needed: int) -> int:
        return 1

    @staticmethod
    def locate(index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return index + offset
