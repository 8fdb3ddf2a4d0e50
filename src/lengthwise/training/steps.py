"""Taking training steps. This is the plain way, for any device; training/graph.py is the fast one for GPUs.

Shapes: M members.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.model.gpt import GPT
from lengthwise.model.layers import Noise
from lengthwise.training.data import Batch, TrainingData
from lengthwise.training.optimizer import Optimizer


class Logits(Protocol):
    """A model as a function: logits [M, B, tail, V]."""

    def __call__(
        self, ids: Tensor, positions: Tensor, *, tail: int, noise: Noise | None, problem: Tensor | None
    ) -> Tensor: ...


class Dropout:
    """The noise of each step; None where no member drops anything."""

    def __init__(self, keys: Sequence[int], rates: Sequence[float], device: torch.device) -> None:
        self.keys, self.rates = torch.tensor(keys, device=device), torch.tensor(rates, device=device)
        self.drops = any(rates)

    def __call__(self, number: int | Tensor) -> Noise | None:
        return Noise.of_step(self.keys, number, self.rates) if self.drops else None


Factors = Sequence[float] | Sequence[Sequence[float]]
"""What learning rates are multiplied by, step by step: one number for all members, or one for each."""


class Losses:
    """Each member's loss, summed up since it was last looked at."""

    def __init__(self, members: int, device: torch.device) -> None:
        self.sums = torch.zeros(members, device=device)
        self.counts = torch.zeros(members, device=device)

    def add(self, losses: Tensor) -> None:
        self.sums += losses
        self.counts += 1

    @property
    def steps(self) -> int:
        return int(self.counts[0])

    def clear(self) -> None:
        self.sums.zero_()
        self.counts.zero_()


class Steps(ABC):
    """Takes steps of a stack and keeps their losses."""

    most = 1
    """Steps that may be taken at once."""

    def __init__(self, model: GPT, data: TrainingData, optimizer: Optimizer, batch: int, dropout: Dropout) -> None:
        self.model, self.data, self.optimizer = model, data, optimizer
        self.batch, self.dropout = batch, dropout
        self.losses = Losses(model.members, model.device)

    @abstractmethod
    def take(self, first: int, factors: Factors) -> None:
        """Take steps `first`, `first` + 1, ..., one per entry of `factors`."""

    def alive(self) -> list[bool]:
        """Whether each member's gradients have stayed finite."""
        return (self.optimizer.alive.flatten() > 0).tolist()

    def state(self) -> dict[str, Tensor]:
        """Every tensor that later steps and their records depend on, each with its leading member axis."""
        return {**self.optimizer.state(), "loss_sums": self.losses.sums, "loss_counts": self.losses.counts}


class PlainSteps(Steps):
    def take(self, first: int, factors: Factors) -> None:
        self.model.train()
        columns = torch.tensor(factors, device=self.model.device).unsqueeze(-1)
        for number, factor in enumerate(columns, start=first):
            losses = answer_losses(self.model, self.data(number * self.batch), self.dropout(number))
            losses.sum().backward()
            self.optimizer.step(number + 1, factor)
            self.losses.add(losses.detach())


def answer_losses(model: Logits, batch: Batch, noise: Noise | None) -> Tensor:
    """Mean cross-entropy per answer token, for each member [M]."""
    problem = None if batch.problem is None else batch.problem[..., :-1]
    logits = model(batch.ids[..., :-1], batch.positions[..., :-1], tail=batch.tail, noise=noise, problem=problem)
    targets = batch.ids[..., -batch.tail :]
    losses = functional.cross_entropy(logits.flatten(0, 2), targets.flatten(), reduction="none")
    counts = batch.answer[..., -batch.tail :].expand_as(targets).float()
    return (losses.view_as(counts) * counts).sum((1, 2)) / counts.sum((1, 2))
