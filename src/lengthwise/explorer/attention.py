"""What a model attends to: the weights of every layer, which fused attention never shows.

Shapes: M members, B batch, T tokens, H heads, D head width.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from lengthwise.model.gpt import GPT, Pass
from lengthwise.model.positions import Encoding, Relation

Met = tuple[Tensor, Tensor, Tensor | None]


class Witness:
    """Stands in for an encoding during a pass, and keeps queries, keys and bias as they meet in attention."""

    def __init__(self, encoding: Encoding, seen: list[Met]) -> None:
        self.encoding, self.seen = encoding, seen

    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> Met:
        met = self.encoding.attend(q, k, relation)
        self.seen.append(met)
        return met


@torch.no_grad()
def attention_weights(model: GPT, ids: Tensor, positions: Tensor) -> list[Tensor]:
    """Of each layer, in the order they are applied: [M, B, H, T, T], queries by keys.

    No other pass of this model may run meanwhile.
    """
    seen: list[Met] = []
    hooks = [
        cast(nn.Module, block.attention).register_forward_pre_hook(_introduce(seen)) for block in model.blocks
    ]
    try:
        model(ids, positions)
    finally:
        for hook in hooks:
            hook.remove()
    return [_weights(*met) for met in seen]


def _introduce(seen: list[Met]) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Tensor, Pass]]:
    def replace(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Tensor, Pass]:
        x, run = arguments
        return x, run._replace(encoding=Witness(run.encoding, seen))

    return replace


def _weights(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q k / sqrt(D) + bias), over the keys up to each query's own."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(-1)
