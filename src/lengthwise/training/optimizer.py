"""AdamW and Muon for stacks: every parameter has a leading member axis, and members never mix.

Muon replaces the averaged gradient of a matrix by the nearest matrix whose singular values are all alike, so
that every direction of the matrix learns at the same speed. The Newton-Schulz iteration that finds it is
batched over all matrices of equal shape, over layers and members at once.

A stack's parameters are two tensors, so that an update is a few operations on a few pieces of memory. One holds
the matrices inside the blocks, the other the rest: embeddings, head, biases and scales of norms, and queries and
keys that are no maps of tokens.

Shapes: M members, N parameters of a member, I and O features in and out.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.model.layers import Linear
from lengthwise.training import TrainingConfig

EPSILON = 1e-8
NEWTON_SCHULZ_STEPS = 5
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # tuned for speed by Muon's authors: values end near 1, not at 1


@dataclass(frozen=True, slots=True)
class FlatParameter:
    """A parameter [M, *shape] of a group."""

    name: str
    shape: tuple[int, ...]
    size: int
    maps: int
    """How many maps a matrix holds, side by side along its last axis."""


class FlatGroup:
    """Some parameters as one tensor `values` [M, N]. The model goes on using them as views of it."""

    def __init__(self, named: Sequence[tuple[str, nn.Parameter]], maps: Mapping[nn.Parameter, int]) -> None:
        self.parameters = [parameter for _, parameter in named]
        self.entries = [FlatParameter(name, tuple(p.shape[1:]), p[0].numel(), maps.get(p, 1)) for name, p in named]
        self.values = _joined([p.detach().flatten(1) for p in self.parameters])
        for parameter, view in zip(self.parameters, self.views(self.values), strict=True):
            parameter.data = view
        decays = [torch.full((1, p[0].numel()), float(_is_matrix(p))) for p in self.parameters]
        self.decays = _joined(decays)[0].to(self.values.device)
        """[N] 1 for what weight decay shrinks; biases and scales of norms, [M, 1, C], stay."""

    def views(self, flat: Tensor) -> list[Tensor]:
        """A tensor [M, N] as the parameters' shapes, in their order."""
        pieces = flat.split([entry.size for entry in self.entries], dim=1)
        return [piece.unflatten(1, entry.shape) for piece, entry in zip(pieces, self.entries, strict=True)]

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        return {entry.name: view for entry, view in zip(self.entries, self.views(flat), strict=True)}

    def take_gradient(self) -> Tensor:
        """The parameters' gradients as one tensor [M, N], taken away from them."""
        gradients: list[Tensor] = []
        for entry, parameter in zip(self.entries, self.parameters, strict=True):
            if parameter.grad is None:
                raise InputError(f"parameter {entry.name} takes no part in the loss")
            gradients.append(parameter.grad.flatten(1))
            parameter.grad = None
        return _joined(gradients)


def _joined(pieces: list[Tensor]) -> Tensor:
    """[M, N]; of a module of one's own no parameter is known to be a matrix inside a block."""
    return torch.cat(pieces, dim=1) if pieces else torch.zeros(1, 0)


def flatten(model: nn.Module) -> tuple[FlatGroup, FlatGroup]:
    """The matrices inside a model's blocks, and the rest of its parameters."""
    maps = {module.weight: module.maps for module in model.modules() if isinstance(module, Linear)}
    inside, rest = [], []
    for name, p in model.named_parameters():
        (inside if name.startswith("blocks.") and p in maps else rest).append((name, p))
    return FlatGroup(inside, maps), FlatGroup(rest, maps)


def _is_matrix(parameter: Tensor) -> bool:
    return parameter.dim() == 3 and parameter.shape[1] > 1


class Optimizer:
    """Updates a stack. A member whose gradient is no longer finite is frozen, the others go on.

    Members may differ in learning rates and decay; the rest of their configs is the same.
    """

    def __init__(self, model: nn.Module, configs: Sequence[TrainingConfig]) -> None:
        self.config = config = configs[0]
        self.matrices, self.others = flatten(model)
        assert len(configs) == len(self.others.values), "a config for each member"
        self.rates = self._column([c.learning_rate for c in configs])
        self.muon_rates = self._column([c.muon_learning_rate for c in configs])
        self.decays = self._column([c.weight_decay for c in configs])
        self.uses_muon = config.optimizer == "muon" and bool(self.matrices.entries)
        self.means = [torch.zeros_like(group.values) for group in self.groups]  # Muon's momentum is one too
        self.squares = [torch.zeros_like(group.values) for group in self.adamw_groups]
        self.alive = torch.ones(len(self.others.values), 1, device=self.others.values.device)

    def _column(self, values: list[float]) -> Tensor:
        """[M, 1]"""
        return torch.tensor(values, device=self.others.values.device).unsqueeze(1)

    @property
    def groups(self) -> list[FlatGroup]:
        return [group for group in (self.others, self.matrices) if group.entries]

    @property
    def adamw_groups(self) -> list[FlatGroup]:
        return self.groups[:1] if self.uses_muon else self.groups

    @torch.no_grad()
    def step(self, number: int | Tensor, factor: float | Tensor) -> Tensor:
        """Update after the backward pass of step `number` (from 1), with learning rates scaled by `factor`, one
        for all members or one each [M, 1].

        Returns the gradient norm of each member [M], before clipping.
        """
        return self.update([group.take_gradient() for group in self.groups], number, factor)

    @torch.no_grad()
    def update(self, gradients: list[Tensor], number: int | Tensor, factor: float | Tensor) -> Tensor:
        """The same with the gradients [M, N] of the groups given."""
        norms = sum_of_squares(gradients).sqrt()
        self.alive *= norms.isfinite().unsqueeze(1)
        scale = (self.config.clip / (norms + 1e-6)).clamp(max=1.0).unsqueeze(1)
        for index, group in enumerate(self.adamw_groups):
            self._adamw(index, group, torch.where(self.alive > 0, gradients[index] * scale, 0.0), number, factor)
        if self.uses_muon:
            self._muon(torch.where(self.alive > 0, gradients[1] * scale, 0.0), factor)
        return norms

    def _adamw(
        self, index: int, group: FlatGroup, gradient: Tensor, number: int | Tensor, factor: float | Tensor
    ) -> None:
        (first, second), means, squares = self.config.betas, self.means[index], self.squares[index]
        rate, decay = self.alive * factor * self.rates, group.decays * self.decays
        means.lerp_(gradient, 1 - first)
        squares.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        spread = squares.sqrt() / (1 - second**number) ** 0.5 + EPSILON
        group.values.mul_(1 - rate * decay).sub_(rate / (1 - first**number) * means / spread)

    def _muon(self, gradient: Tensor, factor: float | Tensor) -> None:
        """Update matrices by Nesterov's momentum made orthogonal."""
        group, means, momentum = self.matrices, self.means[1], self.config.muon_momentum
        rate = self.alive * factor * self.muon_rates
        means.lerp_(gradient, 1 - momentum)
        directions = group.views(gradient.lerp(means, momentum))
        updates = _orthogonal_directions(directions, [entry.maps for entry in group.entries])
        group.values.mul_(1 - rate * self.decays).sub_(rate * torch.cat([u.flatten(1) for u in updates], dim=1))

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the next step depends on, each with its leading member axis."""
        means = {f"means/{index}": tensor for index, tensor in enumerate(self.means)}
        squares = {f"squares/{index}": tensor for index, tensor in enumerate(self.squares)}
        return {**means, **squares, "alive": self.alive}


def sum_of_squares(gradients: list[Tensor]) -> Tensor:
    """[M]"""
    first, *others = (gradient.float().square().sum(1) for gradient in gradients)
    return sum(others, first)


def learning_rate_factor(config: TrainingConfig, step: int, progress: float) -> float:
    """The schedule's factor at a step (from 0), with `progress` the share of training, or of the schedule wsd's
    cool-down, that is over: negative before that starts."""
    rise = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    if config.schedule in ("linear", "wsd"):
        return rise * min(1.0, max(0.0, 1 - progress))
    if config.schedule == "cosine":
        return rise * (0.1 + 0.9 * (1 + math.cos(math.pi * min(1.0, progress))) / 2)
    return rise


def _orthogonal_directions(directions: Sequence[Tensor], maps: Sequence[int]) -> list[Tensor]:
    """Each direction [M, I, O] made orthogonal; where it holds several maps side by side, each by itself."""
    pieces = [
        piece for direction, count in zip(directions, maps, strict=True) for piece in direction.chunk(count, -1)
    ]
    results = list(_orthogonal(pieces))
    updates: list[Tensor] = []
    for count in maps:
        parts, results = results[:count], results[count:]
        updates.append(parts[0] if count == 1 else torch.cat(parts, -1))
    return updates


def _orthogonal(matrices: list[Tensor]) -> Iterable[Tensor]:
    """Newton-Schulz over a list of [M, I, O], in batches of equal shape, wide side last."""
    wide = [m if m.shape[-2] <= m.shape[-1] else m.mT for m in matrices]
    results: list[Tensor] = list(wide)
    for shape in {m.shape for m in wide}:
        indices = [i for i, m in enumerate(wide) if m.shape == shape]
        batch = newton_schulz(torch.cat([wide[i] for i in indices]))
        for i, result in zip(indices, batch.chunk(len(indices)), strict=True):
            results[i] = result
    for matrix, result in zip(matrices, results, strict=True):
        inputs, outputs = matrix.shape[-2:]
        yield (result if inputs <= outputs else result.mT) * max(1.0, outputs / inputs) ** 0.5


def newton_schulz(matrices: Tensor) -> Tensor:
    """[N, I, O] with I <= O: the singular vectors are kept, the singular values brought near 1."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = torch.bmm(x, x.mT)
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        polynomial.diagonal(dim1=-2, dim2=-1).add_(a)
        x = torch.bmm(polynomial, x)
    return x.to(matrices.dtype)
