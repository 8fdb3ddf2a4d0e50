"""The training loop of a stack: steps, and between them evaluations and checkpoints.

Steps are taken here in the plain way, for any device; training/graph.py has the fast one for GPUs.

A step is a function of its number and the state: the batch comes from the members' streams, what is dropped
from a hash of the step, the learning rate from the schedule. So a run that is killed and resumed ends in
the same bits as one that was not.

Shapes: M members.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.gpt import GPT
from lengthwise.model.layers import Noise
from lengthwise.training import TrainingConfig
from lengthwise.training.data import Batch, TrainingData
from lengthwise.training.optimizer import Optimizer, learning_rate_factor

Measured = TypeVar("Measured")

LOSS_READINGS = 200
"""A loss curve has about so many points, where evaluations do not make more. Each reading waits for the device."""


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


@dataclass
class Progress:
    """Where training stands."""

    step: int = 0
    """Steps done."""
    seconds: float = 0.0
    """Seconds spent in steps."""
    finished: bool = False
    """Whether training is over and its last evaluation recorded."""
    losses: list[float] = field(default_factory=list[float])
    """Mean loss of each member between the last two times that losses were read."""
    loss_steps: int = 0
    """Over how many steps that mean was taken."""
    alive: list[bool] = field(default_factory=list[bool])
    """Whether each member's gradients have stayed finite."""
    learned_at: list[int | None] = field(default_factory=list[int | None])
    """The step from which each member's learning rate falls, under the schedule wsd."""


@dataclass(frozen=True)
class Callbacks:
    """What happens between steps."""

    evaluate: Callable[[Progress], Sequence[float]]
    """Measure and record; return each member's lowest accuracy on the lengths of its training domain."""
    finish: Callable[[Progress], None]
    """The same in full detail, once, after the last step."""
    record_losses: Callable[[Progress], None]
    """Record losses alone, between evaluations."""
    checkpoint: Callable[[Progress], None]
    after_step: Callable[[Progress], None]
    stop: Callable[[], bool]
    """Whether someone asked to stop early."""


class Trainer:
    """Members of a stack end together, but under the schedule wsd each has a cool-down of its own: when that is
    over its learning rate is zero, so that it stays as it is while others go on."""

    def __init__(self, model: GPT, steps: Steps, config: TrainingConfig) -> None:
        self.model, self.steps, self.config = model, steps, config
        self.progress = Progress(alive=[True] * model.members, learned_at=[None] * model.members)
        self.losses_read_at = 0

    def state(self) -> dict[str, Tensor]:
        """Every tensor that what follows depends on, each with its leading member axis."""
        model = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        return {**model, **{f"training/{name}": tensor for name, tensor in self.steps.state().items()}}

    def run(self, callbacks: Callbacks) -> None:
        """Train to the end, which is a number of steps, of seconds, or a target; or until asked to stop."""
        if self.progress.finished:
            return
        self.losses_read_at = self.progress.step - self.steps.losses.steps
        if self.progress.step == 0:
            self._measure(callbacks.evaluate)
        while not self._over():
            self._advance()
            callbacks.after_step(self.progress)
            if self._due(self.config.evaluate_every):
                if self._reached(self._measure(callbacks.evaluate)):
                    break
            elif self._losses_due():
                self._with_losses(callbacks.record_losses)
            if callbacks.stop():
                self._checkpoint(callbacks)
                return
            if self._due(self.config.checkpoint_every):
                self._checkpoint(callbacks)
        self._measure(callbacks.finish)
        self.progress.finished = True
        self._checkpoint(callbacks)

    def steps_taken(self) -> list[int]:
        """How many steps have changed each member."""
        return [min(self.progress.step, self._end(k)) for k in range(self.model.members)]

    def _reached(self, accuracies: Sequence[float]) -> bool:
        """Whether training stops here; the schedule wsd only starts the cool-down of those that have learned."""
        if self.config.target is None:
            return False
        learned = [accuracy >= self.config.target for accuracy in accuracies]
        if self.config.schedule != "wsd":
            return all(learned)
        for k, done in enumerate(learned):
            if done and self.progress.learned_at[k] is None:
                self.progress.learned_at[k] = self.progress.step
        return False

    def _advance(self) -> None:
        """As many steps as can be taken at once: up to the next evaluation, checkpoint or the end."""
        start, step = time.perf_counter(), self.progress.step
        if self.config.schedule == "wsd" and self._no_time_left():
            self.progress.learned_at = [step if at is None else at for at in self.progress.learned_at]
        ends = [every - step % every for every in (self.config.evaluate_every, self.config.checkpoint_every)]
        count = min(self.steps.most, self.last_step() - step, *ends)
        self.steps.take(step, [self._factors(step, k) for k in range(count)])
        self.progress.step += count
        self.progress.seconds += time.perf_counter() - start

    def _factors(self, step: int, ahead: int) -> list[float]:
        """What each member's learning rates are multiplied by, `ahead` steps from here."""
        step, members = step + ahead, range(self.model.members)
        if self.config.schedule == "wsd":
            behind = [1 - (self._end(k) - step) / self.config.cooldown for k in members]
        else:
            behind = [self._share_done() + ahead / self.config.steps for _ in members]
        return [learning_rate_factor(self.config, step, share) for share in behind]

    def _end(self, member: int) -> int:
        """The step with which a member's training ends, as far as is known."""
        learned_at = self.progress.learned_at[member]
        end = self.config.steps if learned_at is None else learned_at + self.config.cooldown
        return min(end, self.config.steps)

    def last_step(self) -> int:
        """The step with which the stack's training ends, as far as is known."""
        ends = [self._end(k) for k, alive in enumerate(self.progress.alive) if alive]
        return max(ends, default=self.config.steps)

    def _no_time_left(self) -> bool:
        """Whether the cool-down has to start now to end with the seconds that training may take."""
        if self.config.seconds is None or self.progress.step == 0:
            return False
        step_seconds = self.progress.seconds / self.progress.step
        return self.config.seconds - self.progress.seconds <= self.config.cooldown * step_seconds

    def _share_done(self) -> float:
        by_steps = self.progress.step / self.config.steps
        by_time = self.progress.seconds / self.config.seconds if self.config.seconds else 0.0
        return max(by_steps, by_time)

    def _over(self) -> bool:
        if self.config.schedule == "wsd":
            return self.progress.step >= self.last_step()
        return self._share_done() >= 1

    def _due(self, every: int) -> bool:
        return self.progress.step % every == 0 and not self._over()

    def _losses_due(self) -> bool:
        """Counted in steps, so that nothing waits for the device."""
        steps = self.progress.step - self.losses_read_at
        return steps >= max(1, self.config.steps // LOSS_READINGS) and not self._over()

    def _measure(self, evaluate: Callable[[Progress], Measured]) -> Measured:
        self.model.eval()
        return self._with_losses(evaluate)

    def _with_losses(self, record: Callable[[Progress], Measured]) -> Measured:
        """Read the losses since the reading before, and record them."""
        self._look()
        losses = self.steps.losses
        if losses.steps > 0:
            self.progress.losses = (losses.sums / losses.steps).tolist()
            self.progress.loss_steps = losses.steps
        recorded = record(self.progress)
        losses.clear()
        self.losses_read_at = self.progress.step
        return recorded

    def _checkpoint(self, callbacks: Callbacks) -> None:
        self._look()
        callbacks.checkpoint(self.progress)

    def _look(self) -> None:
        """See which members still live, before anything is written: a broken model helps nobody."""
        start = time.perf_counter()
        self.progress.alive = self.steps.alive()  # waits for the device: still part of the steps' time
        self.progress.seconds += time.perf_counter() - start
        if not any(self.progress.alive):
            raise InputError(
                f"the loss is no longer finite at step {self.progress.step}; "
                "an earlier checkpoint, if there is one, is intact; a lower learning rate may help"
            )
