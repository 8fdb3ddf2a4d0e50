"""T5's relative bias: each head learns one number per bucket of distances, shared by all layers.

Distances 0 to 15 have a bucket each; from there buckets widen geometrically, and the last of the 32 holds all
distances from 113 on.

Shapes: M members, B batch, H heads, Q queries, K keys.
"""

import math
from typing import final

import torch
from torch import Tensor

from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Embedding, Initializer
from lengthwise.model.positions.encoding import BiasEncoding, IndexEncoding, distances

BUCKETS, EXACT, FARTHEST = 32, 16, 128


@final
class T5(IndexEncoding, BiasEncoding):
    """The bias is looked up by the bucket of the distance."""

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__(config, rows, init)
        self.table = Embedding(init, BUCKETS, config.heads, std=config.embedding_std)

    def relate(self, queries: Tensor, keys: Tensor) -> Tensor:
        """[M, B or 1, H, Q, K]"""
        # Attention's kernels want rows of keys to be contiguous.
        return self.table(buckets(distances(queries, keys))).movedim(-1, 2).contiguous()


def buckets(distance: Tensor) -> Tensor:
    """
    >>> buckets(torch.tensor([-3, 0, 15, 16, 20, 64, 112, 113, 5000])).tolist()
    [0, 0, 15, 16, 17, 26, 30, 31, 31]
    """
    distance = distance.clamp(min=0)
    share = torch.log(distance.clamp(min=EXACT) / EXACT) / math.log(FARTHEST / EXACT)
    wide = EXACT + (share * (BUCKETS - EXACT)).long()
    return torch.where(distance < EXACT, distance, wide.clamp(max=BUCKETS - 1))
