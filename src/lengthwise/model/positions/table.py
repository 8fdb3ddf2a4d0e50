"""What encodings with a table share: a row per position, added to the token embedding; or waves instead of it."""

from typing import ClassVar, final

from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer
from lengthwise.model.positions.encoding import Encoding, Relation
from lengthwise.model.positions.rotary import turn
from lengthwise.model.positions.waves import Waves


class TableEncoding(Encoding):
    """Leaves to its subclasses how tokens are numbered. Row 0 is for tokens that have no position."""

    equals_has_position: ClassVar[bool] = True
    """Whether `=` has a position: if not, the first digit of an answer is found from a token without one."""

    @final
    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.rows = rows
        self.shift_invariant = config.position_waves
        self.table = self.waves = None
        if config.position_waves:
            self.waves = Waves(config, rows - 1, init)
        else:
            self.table = Embedding(init, rows, config.width, std=config.added_position_std)

    @final
    def embed(self, positions: Tensor) -> Tensor | None:
        return None if self.table is None else self.table(positions)

    @final
    def relate(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, ...] | None:
        """Cosines and sines of queries, then of keys."""
        return None if self.waves is None else (*self.waves(queries), *self.waves(keys))

    @final
    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, None]:
        if relation is None:
            return q, k, None
        assert isinstance(relation, tuple)
        return turn(q, *relation[:2]), turn(k, *relation[2:]), None
