"""Learned absolute positions: `12+3=51` is numbered 0 1 2 3 4 5 6; and what all encodings with a table share.

A table has a row per position, added to the token embedding; a config may ask for waves instead of it.

*Waves* turn queries and keys around a circle, by angles that are whole fractions of it. As with rotary positions,
a product of query and key depends on the difference of their positions alone. But here no angle is small:
frequencies are drawn at random, so that a query can tell the one position it wants from all others, near or far;
and the last position precedes the first, so that there are no edges.

Shapes: M members, B batch, H heads, T tokens, D head width.
"""

import math
from typing import ClassVar, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer
from lengthwise.model.positions.encoding import Encoding, IndexEncoding, Relation
from lengthwise.model.positions.rotary import turn


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


class Waves(nn.Module):
    """Cosines and sines [M, B or 1, H, T, D / 2] of the angles of positions 1 to `circle`; 0 is on no circle.

    The first half of each head's pairs does not turn, for what depends on tokens; in position-only attention,
    where nothing does, only two pairs do not turn.
    """

    frequency: Tensor

    def __init__(self, config: ModelConfig, circle: int, init: Initializer) -> None:
        super().__init__()
        self.circle = circle
        pairs = config.width // config.heads // 2
        still = 2 if config.place_attention else pairs // 2

        def drawn(generator: torch.Generator) -> Tensor:
            draws = config.frequency_draws
            heads = [_frequencies(pairs - still, circle, draws, generator) for _ in range(config.position_heads)]
            return functional.pad(torch.stack(heads), (still, 0)).unsqueeze(1)

        self.register_buffer("frequency", init.made(drawn))

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        # Whole numbers first, as sines of large angles lose digits.
        turns = positions[:, :, None, :, None] * self.frequency.unsqueeze(1) % self.circle
        angle = turns * (2 * torch.pi / self.circle)
        return angle.cos(), angle.sin()


def _frequencies(count: int, circle: int, draws: int, generator: torch.Generator) -> Tensor:
    """[count] whole numbers of turns around the circle: of all draws the one whose positions are least alike.

    How alike positions are that stand d apart is the mean of the cosines of d times the frequencies.
    """
    best, least = torch.zeros(count, dtype=torch.long), math.inf
    distance = torch.arange(1, max(circle, 2)).unsqueeze(1)
    for _ in range(draws):
        frequency = torch.randint(1, max(circle // 2, 2), (count,), generator=generator)
        alike = (distance * frequency % circle * (2 * math.pi / circle)).cos().mean(1).max().item()
        if alike < least:
            best, least = frequency, alike
    return best


@final
class Learned(IndexEncoding, TableEncoding):
    """A token's position is its index, and the index has a row in the table."""
