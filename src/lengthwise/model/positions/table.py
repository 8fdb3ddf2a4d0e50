"""What encodings with a table share: a row per position, added to the token embedding; or waves instead of it."""

from typing import ClassVar, final

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer
from lengthwise.model.positions.encoding import Encoding, Relation
from lengthwise.model.positions.rotary import turn
from lengthwise.model.positions.waves import Waves, set_apart, with_nothing


class TableEncoding(Encoding):
    """Leaves to its subclasses how tokens are numbered. Row 0 is for tokens that have no place."""

    signs_read_digits: ClassVar[bool] = False
    """Whether tokens without a place have to see those with one."""

    @final
    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.rows, self.by_place = rows, config.place_attention
        # Of a table, the rows used there would be learned apart from all others; waves make all places alike.
        self.one_as_tested = config.position_waves
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
        """Cosines and sines of queries, then of keys, then positions of both."""
        return None if self.waves is None else (*self.waves(queries), *self.waves(keys), queries, keys)

    @final
    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, None]:
        if relation is None:
            return q, k, None
        q, k = turn(q, *relation[:2]), turn(k, *relation[2:4])
        if self.by_place:
            queries, keys = relation[4:]
            q, k = set_apart(q, k, torch.ones_like(queries) if self.signs_read_digits else queries, keys)
            k = with_nothing(k)
        return q, k, None
