"""Layers of a stack: M models of equal shape side by side, every parameter with a leading member axis.

>>> stack = Linear(Initializer(seeds=[7, 8]), 4, 3, bias=True)
>>> stack.weight.shape, stack(torch.ones(2, 5, 4)).shape
(torch.Size([2, 4, 3]), torch.Size([2, 5, 3]))

Member 0 of that stack is the single model of seed 7: no layer lets members see each other.

Shapes: M members, I and O features in and out, C width; dots stand for batch and tokens.
"""

from collections.abc import Callable, Sequence

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
        members = [torch.randn(shape, generator=generator) * std for generator in self._generators]
        return nn.Parameter(torch.stack(members))

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
