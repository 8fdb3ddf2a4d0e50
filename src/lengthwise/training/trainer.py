"""The training loop of a stack: steps, and between them evaluations and checkpoints.

Steps are taken here in the plain way, for any device; training/graph.py has the fast ones for GPUs.

A step is a function of its number and the state: the batch comes from the members' streams, what is dropped
from a hash of the step, the learning rate from the schedule. So a run that is killed and resumed ends in
the same bits as one that was not.

Shapes: M members.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.gpt import GPT
from lengthwise.model.layers import Noise
from lengthwise.training.data import Batch, TrainingData
from lengthwise.training.optimizer import Optimizer, learning_rate_factor

Recorded = TypeVar("Recorded")

LOSS_READINGS = 200
"""A loss curve has about so many points, where evaluations do not make more. Each reading waits for the device."""


Logits = Callable[..., Tensor]
"""A model as a function: logits [M, B, tail, V] of ids and positions, and of what `answer_losses` names."""


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
        self.seconds: dict[str, float] = {}
        """What set-up took, by phase, where it takes long."""

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


@dataclass(frozen=True)
class Callbacks:
    """What happens between steps. Each is given the trainer, whose fields say where training stands."""

    evaluate: Callable[["Trainer"], Sequence[float]]
    """Measure and record; return each member's lowest accuracy on the lengths of its training domain."""
    finish: Callable[["Trainer"], None]
    """The same in full detail, once, after the last step."""
    record_losses: Callable[["Trainer"], None]
    """Record losses alone, between evaluations."""
    checkpoint: Callable[["Trainer"], None]
    after_step: Callable[["Trainer"], None]
    stop: Callable[[], bool]
    """Whether someone asked to stop early."""


class Trainer:
    """Members of a stack end together, but under the schedule wsd each has a cool-down of its own: when that is
    over its learning rate is zero, so that it stays as it is while others go on."""

    def __init__(self, steps: Steps) -> None:
        self.steps, self.model, self.config = steps, steps.model, steps.optimizer.config
        self.step, self.seconds = 0, 0.0
        """Steps done, and seconds spent in them."""
        self.finished = False
        """Whether training is over and its last evaluation recorded."""
        self.losses: list[float] = []
        """Mean loss of each member between the last two times that losses were read."""
        self.loss_steps = 0
        """Over how many steps that mean was taken."""
        self.losses_read_at = 0
        self.alive = [True] * self.model.members
        """Whether each member's gradients have stayed finite."""
        self.learned_at: list[int | None] = [None] * self.model.members
        """The step from which each member's learning rate falls, under the schedule wsd."""

    def state(self) -> dict[str, Tensor]:
        """Every tensor that what follows depends on, each with its leading member axis."""
        model = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        return {**model, **{f"training/{name}": tensor for name, tensor in self.steps.state().items()}}

    def run(self, callbacks: Callbacks) -> None:
        """Train to the end, which is a number of steps, of seconds, or a target; or until asked to stop."""
        if self.finished:
            return None
        self.losses_read_at = self.step - self.steps.losses.steps
        between_readings = max(1, self.config.steps // LOSS_READINGS)  # in steps: no clock, no device to wait for
        if self.step == 0:
            self._with_losses(callbacks.evaluate)
        while not self._over():
            self._advance()
            callbacks.after_step(self)
            if self._due(self.config.evaluate_every):
                if self._reached(self._with_losses(callbacks.evaluate)):
                    break
            elif self.step - self.losses_read_at >= between_readings and not self._over():
                self._with_losses(callbacks.record_losses)
            if callbacks.stop():
                return self._checkpoint(callbacks)
            if self._due(self.config.checkpoint_every):
                self._checkpoint(callbacks)
        self._with_losses(callbacks.finish)
        self.finished = True
        return self._checkpoint(callbacks)

    def steps_taken(self) -> list[int]:
        """How many steps have changed each member."""
        return [min(self.step, self._end(k)) for k in range(self.model.members)]

    def _reached(self, accuracies: Sequence[float]) -> bool:
        """Whether training stops here; the schedule wsd only starts the cool-down of those that have learned."""
        if self.config.target is None:
            return False
        learned = [accuracy >= self.config.target for accuracy in accuracies]
        if self.config.schedule != "wsd":
            return all(learned)
        before = zip(learned, self.learned_at, strict=True)
        self.learned_at = [self.step if done and at is None else at for done, at in before]
        return False

    def _advance(self) -> None:
        """As many steps as can be taken at once: up to the next evaluation, checkpoint or the end."""
        start, config = time.perf_counter(), self.config
        if config.schedule == "wsd" and config.seconds is not None and self.step > 0:
            cooldown_seconds = config.cooldown * (self.seconds / self.step)
            if config.seconds - self.seconds <= cooldown_seconds:  # it starts now, to end with the seconds
                self.learned_at = [self.step if at is None else at for at in self.learned_at]
        ends = [every - self.step % every for every in (config.evaluate_every, config.checkpoint_every)]
        count = min(self.steps.most, self.last_step() - self.step, *ends)
        self.steps.take(self.step, [self._factors(k) for k in range(count)])
        self.step += count
        self.seconds += time.perf_counter() - start

    def _factors(self, ahead: int) -> list[float]:
        """What each member's learning rates are multiplied by, `ahead` steps from here."""
        step, members = self.step + ahead, range(self.model.members)
        if self.config.schedule == "wsd":
            behind = [1 - (self._end(k) - step) / self.config.cooldown for k in members]
        else:
            behind = [self._share_done() + ahead / self.config.steps for _ in members]
        return [learning_rate_factor(self.config, step, share) for share in behind]

    def _end(self, member: int) -> int:
        """The step with which a member's training ends, as far as is known."""
        learned_at = self.learned_at[member]
        end = self.config.steps if learned_at is None else learned_at + self.config.cooldown
        return min(end, self.config.steps)

    def last_step(self) -> int:
        """The step with which the stack's training ends, as far as is known."""
        ends = [self._end(k) for k, alive in enumerate(self.alive) if alive]
        return max(ends, default=self.config.steps)

    def _share_done(self) -> float:
        by_time = self.seconds / self.config.seconds if self.config.seconds else 0.0
        return max(self.step / self.config.steps, by_time)

    def _over(self) -> bool:
        return self.step >= self.last_step() if self.config.schedule == "wsd" else self._share_done() >= 1

    def _due(self, every: int) -> bool:
        return self.step % every == 0 and not self._over()

    def _with_losses(self, record: Callable[["Trainer"], Recorded]) -> Recorded:
        """Read the losses since the reading before, and record them, or what is measured now too."""
        self._look()
        self.model.eval()
        losses = self.steps.losses
        if losses.steps > 0:
            self.losses = (losses.sums / losses.steps).tolist()
            self.loss_steps = losses.steps
        recorded = record(self)
        losses.clear()
        self.losses_read_at = self.step
        return recorded

    def _checkpoint(self, callbacks: Callbacks) -> None:
        self._look()
        callbacks.checkpoint(self)

    def _look(self) -> None:
        """See which members still live, before anything is written: a broken model helps nobody."""
        start = time.perf_counter()
        self.alive = self.steps.alive()  # waits for the device: still part of the steps' time
        self.seconds += time.perf_counter() - start
        if not any(self.alive):
            raise InputError(
                f"the loss is no longer finite at step {self.step}; "
                "an earlier checkpoint, if there is one, is intact; a lower learning rate may help"
            )
