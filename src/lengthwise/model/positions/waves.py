"""Positions around a circle: queries and keys turn by angles that are whole fractions of it.

As with rotary positions, a product of query and key depends on the difference of their positions alone. But here
no angle is small: frequencies are drawn at random, so that a query can tell the one position it wants from all
others, near or far; and the last position precedes the first, so that there are no edges.

Shapes: M members, B batch, H heads, T tokens, D head width.
"""

import torch
from torch import Tensor, nn

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer


class Waves(nn.Module):
    """Cosines and sines [M, B or 1, H, T, D / 2] of the angles of positions 1 to `circle`; 0 is on no circle.

    The first half of each head's pairs does not turn, for what depends on tokens; where queries and keys know no
    tokens, one pair does not.
    """

    frequency: Tensor

    def __init__(self, config: ModelConfig, circle: int, init: Initializer) -> None:
        super().__init__()
        head_width = config.width // config.heads
        self.circle = circle
        frequency = init.whole(config.heads, 1, head_width // 2, below=max(circle // 2, 2))
        frequency[..., : 1 if config.place_attention else head_width // 4] = 0
        self.register_buffer("frequency", frequency)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        # Whole numbers first, as sines of large angles lose digits.
        turns = positions[:, :, None, :, None] * self.frequency.unsqueeze(1) % self.circle
        angle = turns * (2 * torch.pi / self.circle)
        return angle.cos(), angle.sin()
