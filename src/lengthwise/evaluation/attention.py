"""What a model attends to: the weights of every layer, which fused attention never shows.

Shapes: M members, B batch, T tokens, H heads, D head width, Q queries, the last of K keys.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from lengthwise.model.gpt import GPT, Meeting, Pass
from lengthwise.model.positions.waves import noticed


class Layer(NamedTuple):
    """What met in a layer: heads that attend alike, one kind after the other."""

    kinds: tuple[Meeting, ...]

    @property
    def heads(self) -> int:
        return sum(kind.q.shape[2] for kind in self.kinds)

    @property
    def queries(self) -> int:
        return self.kinds[0].q.shape[-2]

    @property
    def tokens(self) -> int:
        return self.kinds[0].k.shape[-2] - self.kinds[0].spare

    def weights(self) -> Tensor:
        """Those of tokens: float32 [M, B, H, Q, K]. What is left to one counts for nothing."""
        return torch.cat([_weights(kind) for kind in self.kinds], 2)

    def some(self, first: int, last: int) -> "Layer":
        """Queries `first` to `last` - 1 alone, with the keys that these may see."""
        return Layer(tuple(_some(kind, first, last) for kind in self.kinds))


def _weights(met: Meeting) -> Tensor:
    """softmax(q k / sqrt(D) + bias), over the keys up to each query's own."""
    scores = met.q.float() @ met.k.float().mT / math.sqrt(met.q.shape[-1])
    if met.bias is not None:
        scores = scores + met.bias
    queries, keys = scores.shape[-2:]
    later = torch.ones(queries, keys, dtype=torch.bool, device=scores.device).triu(keys - queries + 1)
    weights = scores.masked_fill(later, -math.inf).softmax(-1)
    return (noticed(weights) if met.faint_left_out else weights)[..., met.spare :]


def _some(met: Meeting, first: int, last: int) -> Meeting:
    keys = met.k.shape[-2] - met.q.shape[-2] + last
    bias = None if met.bias is None else met.bias[..., first:last, :keys]
    return met._replace(q=met.q[..., first:last, :], k=met.k[..., :keys, :], bias=bias)


@torch.no_grad()
def watch(model: GPT, ids: Tensor, positions: Tensor, tail: int | None = None) -> tuple[Tensor, list[Layer]]:
    """The logits of a pass, and what met in each layer, in the order they are applied. With `tail`, the last
    layer has the last `tail` queries alone.

    No other pass of this model may run meanwhile.
    """
    seen: list[list[Meeting]] = []
    hooks = [
        cast(nn.Module, block.attention).register_forward_pre_hook(_introduce(seen)) for block in model.blocks
    ]
    try:
        logits = model(ids, positions, tail=tail)
    finally:
        for hook in hooks:
            hook.remove()
    return logits, [Layer(tuple(kinds)) for kinds in seen]


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


def _introduce(seen: list[list[Meeting]]) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Tensor, Pass]]:
    """A witness for each pass through a layer."""

    def replace(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Tensor, Pass]:
        x, run = arguments
        seen.append([])
        return x, run._replace(witness=seen[-1].append)

    return replace
