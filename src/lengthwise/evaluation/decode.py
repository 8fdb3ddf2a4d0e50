"""Greedy decoding: what a model answers when it reads its own answer back.

>>> from lengthwise.model.config import ModelConfig
>>> model = GPT(ModelConfig.named("nano"), "learned", vocabulary=16, positions_count=8, seeds=[1]).eval()
>>> prompt = torch.tensor([[[13, 1, 10, 2, 11]]])  # one member, one problem, five tokens: [bos]1+2=
>>> greedy(model, prompt, positions=torch.arange(8).view(1, 1, 8), steps=3).shape
torch.Size([1, 1, 3])

Shapes: M members, B batch, P tokens of the longest prompt.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.model.gpt import GPT

NO_TOKEN = -1

LOOK_EVERY = 16
"""Tokens written between looks at whether all answers have ended: a look waits for the device."""


class SymbolPositions(NamedTuple):
    """Positions of the tokens that are no digits: those from `base` on."""

    base: int
    positions: Tensor


class Reading(NamedTuple):
    """What a model reads before it answers, and where its answer will stand.

    prompt is [M, B, P]; positions are those of prompt and answer, [M or 1, B or 1, P + steps]. Where prompts
    differ in length, `lengths` [M, B] says how much of each is one. `symbols` is for positions that differ
    between a digit and another token of the same place.
    """

    prompt: Tensor
    positions: Tensor
    steps: int
    lengths: Tensor | None = None
    symbols: SymbolPositions | None = None


def greedy(
    model: GPT,
    prompt: Tensor,
    positions: Tensor,
    steps: int,
    *,
    lengths: Tensor | None = None,
    symbols: SymbolPositions | None = None,
    end: int = NO_TOKEN,
) -> Tensor:
    """The `steps` most likely next tokens, one after another: ids [M, B, steps].

    Once all answers hold the token `end`, which no prompt does, nothing more is written, and the rest is that
    token.
    """
    reading = Reading(prompt, positions, steps, lengths, symbols)
    lengths, tokens = prompt_lengths(reading), [_common_prompt(reading)]
    ended = torch.zeros_like(lengths, dtype=torch.bool)
    for number, (_, ids) in enumerate(write(model, reading), start=1):
        tokens.append(ids)
        ended |= ids.squeeze(-1) == end
        if number % LOOK_EVERY == 0 and ended.all():
            break
    missing = int(lengths.max()) + steps - sum(part.shape[-1] for part in tokens)
    whole = functional.pad(torch.cat(tokens, dim=-1), (0, missing), value=end)
    return after_prompt(whole, lengths, steps)


@torch.no_grad()
def write(model: GPT, reading: Reading) -> Iterator[tuple[Tensor, Tensor]]:
    """Read the prompts and write answers: logits [M, B, 1, V] and the token taken [M, B, 1], one by one.

    Prompts of different lengths start together, and those that are longer read their own tokens for a while
    instead of writing.
    """
    assert not model.training, "decoding is for a model in evaluation mode"
    prompt, positions, steps, _, symbols = reading
    assert steps >= 1 and positions.shape[-1] == prompt.shape[-1] + steps
    lengths = prompt_lengths(reading)
    cache = model.cache(batch=prompt.shape[1], length=positions.shape[-1])
    ids, start = _common_prompt(reading), 0
    for end in range(ids.shape[-1], int(lengths.max()) + steps):
        here = positions[..., start:end]
        if symbols is not None:
            here = torch.where(ids < symbols.base, here, symbols.positions[..., start:end])
        logits = model(ids, here, tail=1, cache=cache)
        ids = logits.argmax(-1)
        if end < prompt.shape[-1]:
            ids = torch.where((end < lengths).unsqueeze(-1), prompt[..., end : end + 1], ids)
        yield logits, ids
        start = end


def prompt_lengths(reading: Reading) -> Tensor:
    """[M, B]"""
    if reading.lengths is not None:
        return reading.lengths
    return torch.full(reading.prompt.shape[:2], reading.prompt.shape[-1], device=reading.prompt.device)


def _common_prompt(reading: Reading) -> Tensor:
    """What all prompts have at least: as many tokens as the shortest."""
    return reading.prompt[..., : int(prompt_lengths(reading).min())]


def after_prompt(tokens: Tensor, lengths: Tensor, steps: int) -> Tensor:
    """The `steps` tokens [M, B, steps] of [M, B, T] that follow prompts of lengths [M, B]."""
    places = lengths.unsqueeze(-1) + torch.arange(steps, device=tokens.device)
    return tokens.gather(-1, places)
