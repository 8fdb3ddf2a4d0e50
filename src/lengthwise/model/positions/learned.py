"""Learned absolute positions: `12+3=51` is numbered 0 1 2 3 4 5 6."""

from typing import final

from lengthwise.model.positions.encoding import IndexEncoding
from lengthwise.model.positions.table import TableEncoding


@final
class Learned(IndexEncoding, TableEncoding):
    """A token's position is its index, and the index has a row in the table."""
