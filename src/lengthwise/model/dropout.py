"""Dropout by counting: whether a value is kept is a hash of (its member's seed, place, index).

So a member drops the same values alone or in a stack, on a CPU and on a GPU, at a rate of its own.

>>> noise = Noise.of_step(torch.tensor([7, 8]), 0, torch.tensor([0.5, 0.0]))
>>> drop(torch.ones(2, 1, 1, 6), noise).flatten(1).tolist()
[[2.0, 0.0, 0.0, 0.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]

Shapes: M members.
"""

from typing import NamedTuple

import torch
from torch import Tensor

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
