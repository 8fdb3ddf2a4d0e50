"""FIRE: a small network turns each distance into a bias, after squeezing it into 0 to 1.

The distance of key j from query i is divided, both on a logarithmic scale, by i itself, so that the farthest
key lies at 1 however long the sequence; below a learned threshold L, by L. All layers share the network, the
variant its authors call FIRE-S.

Shapes: M members, B batch, H heads, Q queries, K keys, U = 32 hidden units.
"""

from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import BiasEncoding, IndexEncoding, distances

HIDDEN, INITIAL_SCALE, INITIAL_THRESHOLD = 32, 0.1, 512.0
BLOCK = 256


@final
class Fire(IndexEncoding, BiasEncoding):
    """bias = network(log(1 + c (i - j)) / log(1 + c max(i, L))) with c, L and the network learned."""

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.scale = init.constant(1, 1, 1, value=INITIAL_SCALE)
        # Relative to its start: steps of a learning rate would not move a number of hundreds.
        self.threshold = init.constant(1, 1, 1, value=1.0)
        self.slope = init.normal(1, HIDDEN, std=1.0)
        self.shift = init.normal(1, HIDDEN, std=1.0)
        # No bias follows: softmax would not see it.
        self.out = init.normal(HIDDEN, config.heads, std=HIDDEN**-0.5)

    def relate(self, queries: Tensor, keys: Tensor) -> Tensor:
        """[M, B or 1, H, Q, K], in blocks of queries, as the hidden layer is many times larger than this."""
        return torch.cat([self._bias(block, keys) for block in queries.split(BLOCK, dim=-1)], dim=-2)

    def _bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        reach = torch.maximum(queries.unsqueeze(-1), (INITIAL_THRESHOLD * self.threshold).abs())
        share = self._squeeze(distances(queries, keys)) / self._squeeze(reach)
        slope, shift = self.slope[:, :, None, None], self.shift[:, :, None, None]
        hidden = functional.relu(share.unsqueeze(-1) * slope + shift)
        return torch.einsum("mbqku,muh->mbhqk", hidden, self.out).contiguous()

    def _squeeze(self, x: Tensor) -> Tensor:
        return torch.log1p((self.scale * x).abs())
