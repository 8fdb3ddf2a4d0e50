"""AdamW and Muon for stacks: every parameter has a leading member axis, and members never mix.

Muon replaces the averaged gradient of a matrix by the nearest matrix whose singular values are all alike, so
that every direction of the matrix learns at the same speed. The Newton-Schulz iteration that finds it is
batched over all matrices of equal shape, over layers and members at once.

Shapes: M members, I and O features in and out, N matrices of one shape.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.training.config import TrainingConfig

EPSILON = 1e-8
NEWTON_SCHULZ_STEPS = 5
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # tuned for speed by Muon's authors: values end near 1, not at 1


@dataclass(frozen=True)
class Averages:
    """AdamW's state of one parameter."""

    gradient: Tensor
    square: Tensor


class Optimizer:
    """One step of a stack's optimizer. The caller gives the step's number and the schedule's factor."""

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        self.config = config
        named = dict(model.named_parameters())
        matrices = {name: p for name, p in named.items() if _is_block_matrix(name, p)}
        self.muon = matrices if config.optimizer == "muon" else {}
        self.adamw = {name: p for name, p in named.items() if name not in self.muon}
        self.momenta = {name: torch.zeros_like(p) for name, p in self.muon.items()}
        self.averages = {
            name: Averages(torch.zeros_like(p), torch.zeros_like(p)) for name, p in self.adamw.items()
        }

    @torch.no_grad()
    def step(self, number: int, factor: float) -> Tensor:
        """Update after the backward pass of step `number` (from 1), with learning rates scaled by `factor`.

        Returns the gradient norm of each member [M], before clipping.
        """
        norms = self._clip()
        self._adamw_step(number, factor * self.config.learning_rate)
        self._muon_step(factor * self.config.muon_learning_rate)
        for parameter in (*self.adamw.values(), *self.muon.values()):
            parameter.grad = None
        return norms

    def state(self) -> dict[str, Tensor]:
        """Every tensor that the next step depends on, each with its leading member axis."""
        tensors = {f"{name}/momentum": momentum for name, momentum in self.momenta.items()}
        for name, averages in self.averages.items():
            tensors[f"{name}/gradient"] = averages.gradient
            tensors[f"{name}/square"] = averages.square
        return tensors

    def _clip(self) -> Tensor:
        gradients = [_gradient(p) for p in (*self.adamw.values(), *self.muon.values())]
        squares = torch.stack([g.flatten(1).square().sum(1) for g in gradients])
        norms = squares.sum(0).sqrt()
        scale = (self.config.clip / (norms + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(_along_members(scale, gradient))
        return norms

    def _adamw_step(self, number: int, rate: float) -> None:
        first, second = self.config.betas
        for name, parameter in self.adamw.items():
            gradient, averages = _gradient(parameter), self.averages[name]
            averages.gradient.lerp_(gradient, 1 - first)
            averages.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            spread = averages.square.sqrt().div_((1 - second**number) ** 0.5).add_(EPSILON)
            if _decays(parameter):
                parameter.mul_(1 - rate * self.config.weight_decay)
            parameter.addcdiv_(averages.gradient, spread, value=-rate / (1 - first**number))

    def _muon_step(self, rate: float) -> None:
        keep = self.config.muon_momentum
        directions: dict[str, Tensor] = {}
        for name, parameter in self.muon.items():
            gradient = _gradient(parameter)
            momentum = self.momenta[name].lerp_(gradient, 1 - keep)
            directions[name] = gradient.lerp_(momentum, keep)
        for name, update in _orthogonal_directions(directions).items():
            parameter = self.muon[name]
            parameter.mul_(1 - rate * self.config.weight_decay).sub_(update, alpha=rate)


def learning_rate_factor(config: TrainingConfig, step: int, progress: float) -> float:
    """The schedule's factor at a step (from 0), with `progress` the share of training that is over."""
    rise = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    if config.schedule == "linear":
        return rise * max(0.0, 1 - progress)
    if config.schedule == "cosine":
        return rise * (0.1 + 0.9 * (1 + math.cos(math.pi * min(1.0, progress))) / 2)
    return rise


def _is_block_matrix(name: str, parameter: nn.Parameter) -> bool:
    """Embeddings and heads are tables of vectors, not maps between them: they stay with AdamW."""
    return name.startswith("blocks.") and parameter.dim() == 3 and parameter.shape[1] > 1


def _decays(parameter: nn.Parameter) -> bool:
    """Biases and the scales of norms, [M, 1, C], do not decay."""
    return parameter.dim() > 2 and parameter.shape[1] > 1


def _gradient(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None, "a parameter took no part in the loss"
    return parameter.grad


def _along_members(values: Tensor, like: Tensor) -> Tensor:
    return values.view(-1, *[1] * (like.dim() - 1))


def _orthogonal_directions(directions: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each direction [M, I, O] made orthogonal; the three maps inside a qkv matrix each by itself."""
    pieces: list[tuple[str, Tensor]] = []
    for name, direction in directions.items():
        parts = 3 if name.endswith("qkv.weight") else 1
        pieces += [(name, piece) for piece in direction.chunk(parts, dim=-1)]
    updates: dict[str, list[Tensor]] = {}
    for name, update in zip((name for name, _ in pieces), _orthogonal([p for _, p in pieces]), strict=True):
        updates.setdefault(name, []).append(update)
    return {name: parts[0] if len(parts) == 1 else torch.cat(parts, -1) for name, parts in updates.items()}


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
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.to(matrices.dtype)
