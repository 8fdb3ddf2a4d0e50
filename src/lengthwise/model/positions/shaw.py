"""Shaw's relative positions: a learned vector per distance joins the key, so a query meets k_j + r_(i-j).

Distances above 128 share the last vector. Each head has its own vectors, and all layers share them. The
original also has vectors for the values; its authors found those for the keys to be enough, and they leave
attention its fused kernels.

Shapes: M members, B batch, H heads, Q queries, K keys, D head width, R = 129 distances.
"""

import math
from typing import final

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer
from lengthwise.model.positions.encoding import IndexEncoding, Relation, distances

FARTHEST = 128


@final
class Shaw(IndexEncoding):
    """The bias is the product of the query with its distance's vector."""

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        head_width = config.width // config.heads
        self.vectors = init.normal(config.heads, FARTHEST + 1, head_width, std=config.embedding_std)

    def embed(self, positions: Tensor) -> None:
        return None

    def relate(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Clipped distances [M or 1, B or 1, 1, Q, K]."""
        return distances(queries, keys).clamp(0, FARTHEST).unsqueeze(2)

    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, Tensor]:
        assert isinstance(relation, Tensor)
        by_distance = torch.einsum("mbhqd,mhrd->mbhqr", q, self.vectors.to(q.dtype)) / math.sqrt(q.shape[-1])
        return q, k, by_distance.gather(-1, relation.expand(*q.shape[:-1], -1))
