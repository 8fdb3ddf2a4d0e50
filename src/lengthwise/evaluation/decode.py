"""Greedy decoding: what a model answers when it reads its own answer back.

>>> prompt = torch.tensor([[[14, 1, 10, 2, 11]]])  # one member, one problem, five tokens
>>> greedy(model, prompt, positions=torch.arange(8).view(1, 1, 8), steps=3).shape
torch.Size([1, 1, 3])

Shapes: M members, B batch, P prompt tokens.
"""

import torch
from torch import Tensor

from lengthwise.model.gpt import GPT


@torch.no_grad()
def greedy(model: GPT, prompt: Tensor, positions: Tensor, steps: int) -> Tensor:
    """The `steps` most likely next tokens, one after another: ids [M, B, steps].

    prompt is [M, B, P]; positions are those of prompt and answer, [M or 1, B or 1, P + steps].
    """
    assert not model.training, "decoding is for a model in evaluation mode"
    assert steps >= 1 and positions.shape[-1] == prompt.shape[-1] + steps
    cache = model.cache(batch=prompt.shape[1], length=positions.shape[-1])
    ids, start, answer = prompt, 0, []
    for _ in range(steps):
        end = start + ids.shape[-1]
        ids = model(ids, positions[..., start:end], tail=1, cache=cache).argmax(-1)
        answer.append(ids)
        start = end
    return torch.cat(answer, dim=-1)
