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
from itertools import accumulate

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.model.layers import Linear
from lengthwise.training import TrainingConfig

EPSILON = 1e-8
NEWTON_SCHULZ_STEPS = 5
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # tuned for speed by Muon's authors: values end near 1, not at 1


class FlatGroup:
    """Some parameters as one tensor `values` [M, N]. The model goes on using them as views of it."""

    def __init__(self, named: Mapping[str, nn.Parameter], maps: Mapping[nn.Parameter, int]) -> None:
        self.parameters = named
        self.maps = [maps.get(parameter, 1) for parameter in named.values()]
        """How many maps a matrix holds, side by side along its last axis."""
        self.sizes = [parameter[0].numel() for parameter in named.values()]
        self.values = _joined(parameter.detach().flatten(1) for parameter in named.values())
        for parameter, view in zip(named.values(), self.views(self.values), strict=True):
            parameter.data = view
        is_matrix = [p.dim() == 3 and p.shape[1] > 1 for p in named.values()]
        decays = [torch.full((1, size), float(own)) for size, own in zip(self.sizes, is_matrix, strict=True)]
        self.decays = _joined(decays)[0].to(self.values.device)
        """[N] 1 for what weight decay shrinks; biases and scales of norms, [M, 1, C], stay."""

    def views(self, flat: Tensor) -> list[Tensor]:
        """A tensor [M, N] as the parameters' shapes, in their order."""
        pieces = zip(flat.split(self.sizes, dim=1), self.parameters.values(), strict=True)
        return [piece.unflatten(1, parameter.shape[1:]) for piece, parameter in pieces]

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        return dict(zip(self.parameters, self.views(flat), strict=True))

    def take_gradient(self) -> Tensor:
        """The parameters' gradients as one tensor [M, N], taken away from them."""
        gradients: list[Tensor] = []
        for name, parameter in self.parameters.items():
            if parameter.grad is None:
                raise InputError(f"parameter {name} takes no part in the loss")
            gradients.append(parameter.grad.flatten(1))
            parameter.grad = None
        return _joined(gradients)


def _joined(pieces: Iterable[Tensor]) -> Tensor:
    """[M, N]; of a module of one's own no parameter is known to be a matrix inside a block."""
    found = [*pieces]
    return torch.cat(found, dim=1) if found else torch.zeros(1, 0)


class Optimizer:
    """Updates a stack. A member whose gradient is no longer finite is frozen, the others go on.

    Members may differ in learning rates and decay; the rest of their configs is the same.
    """

    def __init__(self, model: nn.Module, configs: Sequence[TrainingConfig]) -> None:
        self.config = config = configs[0]
        maps = {module.weight: module.maps for module in model.modules() if isinstance(module, Linear)}
        named = dict(model.named_parameters())
        inside = {name: p for name, p in named.items() if name.startswith("blocks.") and p in maps}
        self.matrices = FlatGroup(inside, maps)
        self.others = FlatGroup({name: p for name, p in named.items() if name not in inside}, maps)
        assert len(configs) == len(self.others.values), "a config for each member"
        self.rates = self._column([c.learning_rate for c in configs])
        self.muon_rates = self._column([c.muon_learning_rate for c in configs])
        self.decays = self._column([c.weight_decay for c in configs])
        self.groups = [group for group in (self.others, self.matrices) if group.parameters]
        self.uses_muon = config.optimizer == "muon" and bool(inside)
        self.adamw_groups = self.groups[:1] if self.uses_muon else self.groups
        self.means = [torch.zeros_like(group.values) for group in self.groups]  # Muon's momentum is one too
        self.squares = [torch.zeros_like(group.values) for group in self.adamw_groups]
        self.alive = torch.ones(len(self.others.values), 1, device=self.others.values.device)

    def _column(self, values: list[float]) -> Tensor:
        """[M, 1]"""
        return torch.tensor(values, device=self.others.values.device).unsqueeze(1)

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
        norms = torch.stack([gradient.float().square().sum(1) for gradient in gradients]).sum(0).sqrt()
        self.alive *= norms.isfinite().unsqueeze(1)
        scale = (self.config.clip / (norms + 1e-6)).clamp(max=1.0).unsqueeze(1)
        clipped = [torch.where(self.alive > 0, gradient * scale, 0.0) for gradient in gradients]
        rates = self.alive * factor * self.rates
        first, second = self.config.betas
        adamw = zip(self.adamw_groups, clipped, self.means, self.squares, strict=False)
        for group, gradient, means, squares in adamw:
            means.lerp_(gradient, 1 - first)
            squares.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            spread = squares.sqrt() / (1 - second**number) ** 0.5 + EPSILON
            group.values.mul_(1 - rates * (group.decays * self.decays))
            group.values.sub_(rates / (1 - first**number) * means / spread)
        if self.uses_muon:
            self._muon(clipped[1], factor)
        return norms

    def _muon(self, gradient: Tensor, factor: float | Tensor) -> None:
        """Update matrices by Nesterov's momentum made orthogonal."""
        group, means, momentum = self.matrices, self.means[1], self.config.muon_momentum
        rate = self.alive * factor * self.muon_rates
        means.lerp_(gradient, 1 - momentum)
        updates = _orthogonal(group.views(gradient.lerp(means, momentum)), group.maps)
        group.values.mul_(1 - rate * self.decays).sub_(rate * torch.cat([u.flatten(1) for u in updates], dim=1))

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the next step depends on, each with its leading member axis."""
        means = {f"means/{index}": tensor for index, tensor in enumerate(self.means)}
        squares = {f"squares/{index}": tensor for index, tensor in enumerate(self.squares)}
        return {**means, **squares, "alive": self.alive}


def learning_rate_factor(config: TrainingConfig, step: int, progress: float) -> float:
    """The schedule's factor at a step (from 0), with `progress` the share of training, or of the schedule wsd's
    cool-down, that is over: negative before that starts."""
    rise = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    if config.schedule in ("linear", "wsd"):
        return rise * min(1.0, max(0.0, 1 - progress))
    if config.schedule == "cosine":
        return rise * (0.1 + 0.9 * (1 + math.cos(math.pi * min(1.0, progress))) / 2)
    return rise


def _orthogonal(directions: Sequence[Tensor], maps: Sequence[int]) -> list[Tensor]:
    """Each direction [M, I, O] made orthogonal; where it holds several maps side by side, each by itself. Those of
    equal shape are one batch, their wide side last."""
    pieces = [piece for own, count in zip(directions, maps, strict=True) for piece in own.chunk(count, -1)]
    wide = [piece if piece.shape[1] <= piece.shape[2] else piece.mT for piece in pieces]
    found: dict[int, Tensor] = {}
    for shape in {piece.shape for piece in wide}:
        indices = [index for index, piece in enumerate(wide) if piece.shape == shape]
        batch = newton_schulz(torch.cat([wide[index] for index in indices]))
        found |= zip(indices, batch.chunk(len(indices)), strict=True)
    for index, piece in enumerate(pieces):
        inputs, outputs = piece.shape[1:]
        found[index] = (found[index] if inputs <= outputs else found[index].mT) * max(1.0, outputs / inputs) ** 0.5
    ends = accumulate(maps)
    parts = [[found[index] for index in range(end - count, end)] for end, count in zip(ends, maps, strict=True)]
    return [part[0] if len(part) == 1 else torch.cat(part, -1) for part in parts]


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
