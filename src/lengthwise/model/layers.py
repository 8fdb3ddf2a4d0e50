"""Layers of a stack, M models of equal shape side by side: every parameter has a leading member axis. And dropout.

>>> stack = Linear(Initializer(seeds=[7, 8]), 4, 3, bias=True)
>>> stack.weight.shape, stack(torch.ones(2, 5, 4)).shape
(torch.Size([2, 4, 3]), torch.Size([2, 5, 3]))

Member 0 of that stack is the single model of seed 7: no layer lets members see each other.

*Dropout by counting.* Whether a value is kept is a hash of (its member's seed, place, index). So a member drops
the same values alone or in a stack, on a CPU and on a GPU, at a rate of its own.

>>> noise = Noise.of_step(torch.tensor([7, 8]), 0, torch.tensor([0.5, 0.0]))
>>> drop(torch.ones(2, 1, 1, 6), noise).flatten(1).tolist()
[[2.0, 0.0, 0.0, 0.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]

Shapes: M members, I and O features in and out, C width; dots stand for batch and tokens.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Initializer:
    """Initial parameters of a stack. Member k's are drawn from a CPU generator seeded with seeds[k] alone."""

    def __init__(self, seeds: Sequence[int]) -> None:
        assert seeds, "a stack has at least one member"
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def normal(self, *shape: int, std: float) -> nn.Parameter:
        """[M, *shape]"""
        values = torch.empty(len(self._generators), *shape)
        for member, generator in zip(values, self._generators, strict=True):
            member.normal_(generator=generator)
        return nn.Parameter(values.mul_(std))

    def made(self, make: Callable[[torch.Generator], Tensor]) -> Tensor:
        """[M, ...] of what is drawn otherwise, and not trained."""
        return torch.stack([make(generator) for generator in self._generators])

    def constant(self, *shape: int, value: float) -> nn.Parameter:
        """[M, *shape]"""
        return nn.Parameter(torch.full((len(self._generators), *shape), value))


class Linear(nn.Module):
    """[M, ..., I] -> [M, ..., O], in the dtype of what comes in.

    `maps` says that the outputs are those of so many maps side by side, as of queries, keys and values. It changes
    nothing here: an optimizer may treat each map by itself.
    """

    def __init__(
        self, init: Initializer, inputs: int, outputs: int, *, bias: bool, std: float = 0.02, maps: int = 1
    ) -> None:
        super().__init__()
        self.maps = maps
        self.weight = init.normal(inputs, outputs, std=std)
        self.bias = init.constant(1, outputs, value=0.0) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        rows, weight = x.flatten(1, -2), self.weight.to(x.dtype)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        y = torch.bmm(rows, weight) if bias is None else torch.baddbmm(bias, rows, weight)
        return y.view(*x.shape[:-1], -1)


class LayerNorm(nn.Module):
    """[M, ..., C] -> [M, ..., C]"""

    def __init__(self, init: Initializer, width: int, *, bias: bool) -> None:
        super().__init__()
        self.weight = init.constant(1, width, value=1.0)
        self.bias = init.constant(1, width, value=0.0) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if len(self.weight) == 1:  # one fused kernel, which on a CPU shows
            bias = None if self.bias is None else self.bias.flatten()
            return functional.layer_norm(x, x.shape[-1:], self.weight.flatten(), bias)
        y = functional.layer_norm(x, x.shape[-1:]).flatten(1, -2) * self.weight
        if self.bias is not None:
            y = y + self.bias
        return y.view(x.shape)


class RMSNorm(nn.Module):
    """[M, ..., C] -> [M, ..., C]"""

    def __init__(self, init: Initializer, width: int) -> None:
        super().__init__()
        self.weight = init.constant(1, width, value=1.0)

    def forward(self, x: Tensor) -> Tensor:
        if len(self.weight) == 1:  # compiled for a GPU, torch 2.10 and 2.11 lose a gradient's shape [1, 1, C]
            return functional.rms_norm(x, x.shape[-1:], self.weight.flatten(), eps=1e-6)
        return (functional.rms_norm(x, x.shape[-1:], eps=1e-6).flatten(1, -2) * self.weight).view(x.shape)


class Embedding(nn.Module):
    """int64 [M or 1, ...] -> [M, ..., C]: each member looks up its own table."""

    def __init__(self, init: Initializer, rows: int, width: int, *, std: float) -> None:
        super().__init__()
        self.weight = init.normal(rows, width, std=std)

    def forward(self, ids: Tensor) -> Tensor:
        members, rows, _ = self.weight.shape
        first_row = rows * torch.arange(members, device=ids.device).view(-1, *[1] * (ids.dim() - 1))
        return functional.embedding(ids + first_row, self.weight.flatten(0, 1))


def freeze(module: nn.Module, name: str = "weight") -> None:
    """Keep a parameter as it is: the state still holds it, and no optimizer sees it."""
    parameter = getattr(module, name)
    if parameter is not None:
        delattr(module, name)
        module.register_buffer(name, parameter.detach())


BITS = 24
"""A hash is compared as a number of so many bits, which float32 holds exactly."""


class Noise(NamedTuple):
    seeds: Tensor
    """int32 [M]"""
    rates: Tensor
    """float32 [M]: the share of values that each member drops."""

    @classmethod
    def of_step(cls, keys: Tensor, number: int | Tensor, rates: Tensor) -> "Noise":
        """For training step `number` of members with random keys int64 [M]."""
        low, high = keys & 0x7FFFFFFF, keys >> 32 & 0x7FFFFFFF
        return cls(_mixed(_mixed(low.int()) ^ high.int() ^ (number + torch.zeros_like(low)).int()), rates)

    def at(self, place: int) -> "Noise":
        """The noise of one of a model's places, independent of that of the others."""
        return self._replace(seeds=_mixed(self.seeds + place))

    def of_layers(self, count: int) -> "list[Noise]":
        """The noise at places 1 to `count`, worked out together: a GPU then has few small things to do."""
        places = torch.arange(1, count + 1, dtype=torch.int32, device=self.seeds.device)
        return [self._replace(seeds=seeds) for seeds in _mixed(self.seeds + places.unsqueeze(1))]


def drop(x: Tensor, noise: Noise | None) -> Tensor:
    """[M, ...] with a share of the values set to zero and the rest grown so that the mean stays."""
    if noise is None:
        return x
    rates = noise.rates.view(-1, *[1] * (x.dim() - 1))
    return x * (kept(x.shape, noise) / (1 - rates)).to(x.dtype)


def kept(shape: torch.Size, noise: Noise) -> Tensor:
    """Which values of a tensor [M, ...] stay: bool."""
    index = torch.arange(shape[1:].numel(), dtype=torch.int32, device=noise.seeds.device)
    hashes = _mixed(index ^ noise.seeds.unsqueeze(1)).bitwise_right_shift_(32 - BITS).bitwise_and_((1 << BITS) - 1)
    return (hashes >= (noise.rates * (1 << BITS)).int().unsqueeze(1)).view(shape)


def _mixed(x: Tensor) -> Tensor:
    """A hash of int32 to int32. The multipliers are those of Chris Wellons's `lowbias32`."""
    x = (x >> 16).bitwise_and_(0xFFFF).bitwise_xor_(x).mul_(0x7FEB352D)
    x = (x >> 15).bitwise_and_(0x1FFFF).bitwise_xor_(x).mul_(_signed(0x846CA68B))
    return (x >> 16).bitwise_and_(0xFFFF).bitwise_xor_(x)


def _signed(value: int) -> int:
    return value - (1 << 32)
