"""What a model attends to: the weights of every layer, which fused attention never shows.

Shapes: M members, B batch, T tokens, H heads, D head width, Q queries, the last of K keys.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.model.attention import AttentionHeads
from lengthwise.model.gpt import GPT


class Layer(NamedTuple):
    """The heads of a layer, in groups that attend in the same way, and which of its queries are meant."""

    groups: tuple[AttentionHeads, ...]
    first: int
    last: int

    @property
    def heads(self) -> int:
        return sum(group.heads for group in self.groups)

    @property
    def queries(self) -> int:
        return self.last - self.first

    @property
    def tokens(self) -> int:
        return self.groups[0].tokens

    def weights(self) -> Tensor:
        """float32 [M, B, H, Q, K] over tokens. Where they sum to less than 1, the rest is on none."""
        return torch.cat([group.weights(self.first, self.last) for group in self.groups], 2)

    def some(self, first: int, last: int) -> "Layer":
        """Queries `first` to `last` - 1 alone, with the keys that these may see."""
        return self._replace(first=self.first + first, last=self.first + last)


@torch.no_grad()
def watch(model: GPT, ids: Tensor, positions: Tensor, tail: int | None = None) -> tuple[Tensor, list[Layer]]:
    """The logits of a pass, and its layers in the order they are applied. With `tail`, the last layer has the last
    `tail` queries alone."""
    layers: dict[int, list[AttentionHeads]] = defaultdict(list)
    logits = model(ids, positions, tail=tail, on_attention=lambda number, heads: layers[number].append(heads))
    return logits, [Layer(tuple(groups), 0, groups[0].queries) for groups in layers.values()]


def attention_weights(model: GPT, ids: Tensor, positions: Tensor) -> list[Tensor]:
    """Of each layer: [M, B, H, T, T], queries by keys."""
    return [layer.weights() for layer in watch(model, ids, positions)[1]]


def sharpest(layers: Sequence[Tensor]) -> int:
    """Which of the layers, whose weights are [..., K], attends to the fewest tokens: that of least entropy.

    Weights may sum to less than one. A row counts as much as its weights sum to, so that one that looks at no
    token says little; and the fainter a layer's weights all are, the less sharp it is.
    """
    entropies = [-torch.xlogy(weights, weights).sum() / weights.sum() for weights in layers]
    return int(torch.stack(entropies).nan_to_num(nan=math.inf).argmin())
