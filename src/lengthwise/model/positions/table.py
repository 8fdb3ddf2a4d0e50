"""What encodings with a table share: a row per position, learned or waves, added to the token embedding."""

from typing import final

from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer, Waves
from lengthwise.model.positions.kinds import AddedEncoding


class TableEncoding(AddedEncoding):
    """Leaves to its subclasses how tokens are numbered."""

    @final
    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.rows = rows
        kind = Waves if config.position_waves else Embedding
        self.table = kind(init, rows, config.width, std=config.added_position_std)

    @final
    def embed(self, positions: Tensor) -> Tensor:
        return self.table(positions)
