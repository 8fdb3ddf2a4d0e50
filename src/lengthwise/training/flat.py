"""A stack's parameters as two tensors, so that an update is a few operations on a few pieces of memory.

One holds the matrices inside the blocks, the other the rest: embeddings, head, biases and scales of norms, and
queries and keys that are no maps of tokens.

Shapes: M members, N parameters of a member.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.model.layers import Linear


@dataclass(frozen=True, slots=True)
class Place:
    """Where a parameter [M, *shape] stands."""

    name: str
    shape: tuple[int, ...]
    size: int
    maps: int
    """A matrix holds so many maps side by side along its last axis."""


class FlatGroup:
    """Some parameters as one tensor `values` [M, N]. The model goes on using them as views of it."""

    def __init__(self, named: Sequence[tuple[str, nn.Parameter]], maps: Mapping[nn.Parameter, int]) -> None:
        self.parameters = [parameter for _, parameter in named]
        self.places = [Place(name, tuple(p.shape[1:]), p[0].numel(), maps.get(p, 1)) for name, p in named]
        self.values = torch.cat([p.detach().flatten(1) for p in self.parameters], dim=1)
        for parameter, view in zip(self.parameters, self.views(self.values), strict=True):
            parameter.data = view
        decays = [torch.full((p[0].numel(),), float(_is_matrix(p))) for p in self.parameters]
        self.decays = torch.cat(decays).to(self.values.device)
        """[N] 1 for what weight decay shrinks; biases and scales of norms, [M, 1, C], stay."""

    def views(self, flat: Tensor) -> list[Tensor]:
        """A tensor [M, N] as the parameters' shapes, in their order."""
        pieces = flat.split([place.size for place in self.places], dim=1)
        return [piece.unflatten(1, place.shape) for piece, place in zip(pieces, self.places, strict=True)]

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        return {place.name: view for place, view in zip(self.places, self.views(flat), strict=True)}

    def take_gradient(self) -> Tensor:
        """The parameters' gradients as one tensor [M, N], taken away from them."""
        gradients: list[Tensor] = []
        for parameter in self.parameters:
            assert parameter.grad is not None, "a parameter took no part in the loss"
            gradients.append(parameter.grad.flatten(1))
            parameter.grad = None
        return torch.cat(gradients, dim=1)


def flatten(model: nn.Module) -> tuple[FlatGroup, FlatGroup]:
    """The matrices inside a model's blocks, and the rest of its parameters."""
    maps = {module.weight: module.maps for module in model.modules() if isinstance(module, Linear)}
    inside, rest = [], []
    for name, p in model.named_parameters():
        (inside if name.startswith("blocks.") and p in maps else rest).append((name, p))
    return FlatGroup(inside, maps), FlatGroup(rest, maps)


def _is_matrix(parameter: Tensor) -> bool:
    return parameter.dim() == 3 and parameter.shape[1] > 1
