"""Positions around a circle: queries and keys turn by angles that are whole fractions of it.

As with rotary positions, a product of query and key depends on the difference of their positions alone. But here
no angle is small: frequencies are drawn at random, so that a query can tell the one position it wants from all
others, near or far; and the last position precedes the first, so that there are no edges.

Shapes: M members, B batch, H heads, T tokens, D head width.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer


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
