"""What a model attends to: the weights of every layer, which fused attention never shows.

Shapes: M members, B batch, T tokens, H heads, D head width, Q queries, the last of K keys.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from lengthwise.model.gpt import GPT, Pass
from lengthwise.model.positions import Encoding, Relation
from lengthwise.model.positions.waves import noticed


class Met(NamedTuple):
    """Queries [M, B, H, Q, D], keys [M, B, H, K, D] and bias as they meet in attention."""

    q: Tensor
    k: Tensor
    bias: Tensor | None
    spare: int = 0
    """So many of the keys, the first, stand for no token."""
    faint_left_out: bool = False

    def weights(self) -> Tensor:
        """Those of tokens: float32 [M, B, H, Q, K]. What is left to one counts for nothing."""
        weights = self._softmax()
        return (noticed(weights) if self.faint_left_out else weights)[..., self.spare :]

    def _softmax(self) -> Tensor:
        """softmax(q k / sqrt(D) + bias), over the keys up to each query's own."""
        scores = self.q.float() @ self.k.float().mT / math.sqrt(self.q.shape[-1])
        if self.bias is not None:
            scores = scores + self.bias
        queries, keys = scores.shape[-2:]
        later = torch.ones(queries, keys, dtype=torch.bool, device=scores.device).triu(keys - queries + 1)
        return scores.masked_fill(later, -math.inf).softmax(-1)

    def some(self, first: int, last: int) -> "Met":
        """Queries `first` to `last` - 1 alone, with the keys that these may see."""
        keys = self.k.shape[-2] - self.q.shape[-2] + last
        bias = None if self.bias is None else self.bias[..., first:last, :keys]
        return self._replace(q=self.q[..., first:last, :], k=self.k[..., :keys, :], bias=bias)


class Witness:
    """Stands in for an encoding during a pass, and keeps queries, keys and bias."""

    def __init__(self, encoding: Encoding, seen: list[Met], *, by_place: bool) -> None:
        self.encoding, self.seen, self.by_place = encoding, seen, by_place

    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, Tensor | None]:
        turned, keys, bias = self.encoding.attend(q, k, relation)
        spare = keys.shape[-2] - k.shape[-2]
        self.seen.append(Met(turned, keys, bias, spare, faint_left_out=self.by_place))
        return turned, keys, bias


@torch.no_grad()
def watch(model: GPT, ids: Tensor, positions: Tensor, tail: int | None = None) -> tuple[Tensor, list[Met]]:
    """The logits of a pass, and what met in each layer, in the order they are applied. With `tail`, the last
    layer has the last `tail` queries alone.

    No other pass of this model may run meanwhile.
    """
    seen: list[Met] = []
    introduce = _introduce(seen, model.config.place_attention)
    hooks = [cast(nn.Module, block.attention).register_forward_pre_hook(introduce) for block in model.blocks]
    try:
        return model(ids, positions, tail=tail), seen
    finally:
        for hook in hooks:
            hook.remove()


def attention_weights(model: GPT, ids: Tensor, positions: Tensor) -> list[Tensor]:
    """Of each layer: [M, B, H, T, T], queries by keys."""
    return [met.weights() for met in watch(model, ids, positions)[1]]


def sharpest(layers: Sequence[Tensor]) -> int:
    """Which of the layers, whose weights are [..., K], attends to the fewest tokens: that of least entropy.

    Weights may sum to less than one. A row counts as much as its weights sum to, so that one that looks at no
    token says little; and the fainter a layer's weights all are, the less sharp it is.
    """
    entropies = [-torch.xlogy(weights, weights).sum() / weights.sum() for weights in layers]
    return int(torch.stack(entropies).nan_to_num(nan=math.inf).argmin())


def _introduce(seen: list[Met], by_place: bool) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Tensor, Pass]]:
    def replace(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Tensor, Pass]:
        x, run = arguments
        return x, run._replace(encoding=Witness(run.encoding, seen, by_place=by_place))

    return replace
