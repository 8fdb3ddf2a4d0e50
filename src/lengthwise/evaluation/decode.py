"""Greedy decoding: what a model answers when it reads its own answer back.

>>> from lengthwise.model.config import ModelConfig
>>> model = GPT(ModelConfig.named("nano"), "learned", vocabulary=16, positions_count=8, seeds=[1]).eval()
>>> prompt = torch.tensor([[[13, 1, 10, 2, 11]]])  # one member, one problem, five tokens: [bos]1+2=
>>> greedy(model, prompt, positions=torch.arange(8).view(1, 1, 8), steps=3).shape
torch.Size([1, 1, 3])

Shapes: M members, B batch, P tokens of the longest prompt.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.model.gpt import GPT


class SymbolPositions(NamedTuple):
    """Positions of the tokens that are no digits: those from `base` on."""

    base: int
    positions: Tensor


@torch.no_grad()
def greedy(
    model: GPT,
    prompt: Tensor,
    positions: Tensor,
    steps: int,
    *,
    lengths: Tensor | None = None,
    symbols: SymbolPositions | None = None,
) -> Tensor:
    """The `steps` most likely next tokens, one after another: ids [M, B, steps].

    prompt is [M, B, P]; positions are those of prompt and answer, [M or 1, B or 1, P + steps]. Where prompts
    differ in length, `lengths` [M, B] says how much of each is one: all start together, and those that are
    longer read their own tokens for a while instead of writing. `symbols` is for positions that differ
    between a digit and another token of the same place.
    """
    assert not model.training, "decoding is for a model in evaluation mode"
    assert steps >= 1 and positions.shape[-1] == prompt.shape[-1] + steps
    if lengths is None:
        lengths = torch.full(prompt.shape[:2], prompt.shape[-1], device=prompt.device)
    cache = model.cache(batch=prompt.shape[1], length=positions.shape[-1])
    ids, start = prompt[..., : int(lengths.min())], 0
    read = [ids]
    for end in range(ids.shape[-1], int(lengths.max()) + steps):
        here = positions[..., start:end]
        if symbols is not None:
            here = torch.where(ids < symbols.base, here, symbols.positions[..., start:end])
        ids = model(ids, here, tail=1, cache=cache).argmax(-1)
        if end < prompt.shape[-1]:
            ids = torch.where((end < lengths).unsqueeze(-1), prompt[..., end : end + 1], ids)
        read.append(ids)
        start = end
    return after_prompt(torch.cat(read, dim=-1), lengths, steps)


def after_prompt(tokens: Tensor, lengths: Tensor, steps: int) -> Tensor:
    """The `steps` tokens [M, B, steps] of [M, B, T] that follow prompts of lengths [M, B]."""
    places = lengths.unsqueeze(-1) + torch.arange(steps, device=tokens.device)
    return tokens.gather(-1, places)
