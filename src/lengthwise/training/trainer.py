"""The training loop of a stack.

    trainer = Trainer(model, data, config, seeds)
    trainer.run(Callbacks(...))

A step is a function of its number and the state: the batch comes from the members' streams, dropout from a
generator seeded by the step, the learning rate from the schedule. So a run that is killed and resumed ends in
the same bits as one that was not.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.gpt import GPT
from lengthwise.tokens import derive
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import Batch, TrainingData
from lengthwise.training.optimizer import Optimizer, learning_rate_factor

Measured = TypeVar("Measured")


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
    """Mean loss of each member since the evaluation before, as of the last one."""


@dataclass(frozen=True)
class Callbacks:
    """What happens between steps."""

    evaluate: Callable[[Progress], Sequence[float]]
    """Measure and record; return each member's accuracy on its training domain."""
    finish: Callable[[Progress], None]
    """The same in full detail, once, after the last step."""
    checkpoint: Callable[[Progress], None]
    after_step: Callable[[Progress], None]
    stop: Callable[[], bool]
    """Whether someone asked to stop early."""


class Trainer:
    def __init__(self, model: GPT, data: TrainingData, config: TrainingConfig, seeds: Sequence[int]) -> None:
        self.model, self.data, self.config = model, data, config
        self.optimizer = Optimizer(model, config)
        self.progress = Progress()
        self.loss_sums = torch.zeros(model.members, device=model.device)
        self.loss_steps = torch.zeros(model.members, device=model.device)
        self.dropout_key = derive(seeds[0], "dropout")

    def state(self) -> dict[str, Tensor]:
        """Every tensor that what follows depends on, each with its leading member axis."""
        model = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        optimizer = {f"optimizer/{name}": tensor for name, tensor in self.optimizer.state().items()}
        return {**model, **optimizer, "losses/sums": self.loss_sums, "losses/steps": self.loss_steps}

    def run(self, callbacks: Callbacks) -> None:
        """Train to the end, which is a number of steps, of seconds, or a target; or until asked to stop."""
        if self.progress.finished:
            return
        if self.progress.step == 0:
            self._measure(callbacks.evaluate)
        while not self._over():
            self._timed_step()
            callbacks.after_step(self.progress)
            if self._due(self.config.evaluate_every):
                accuracies = self._measure(callbacks.evaluate)
                if self.config.target is not None and min(accuracies) >= self.config.target:
                    break
            if callbacks.stop():
                self._checkpoint(callbacks)
                return
            if self._due(self.config.checkpoint_every):
                self._checkpoint(callbacks)
        self._measure(callbacks.finish)
        self.progress.finished = True
        self._checkpoint(callbacks)

    def step(self) -> Tensor:
        """One update. Returns the loss of each member [M]."""
        number = self.progress.step
        torch.manual_seed(self.dropout_key + number)
        self.model.train()
        losses = answer_losses(self.model, self.data(number))
        losses.sum().backward()
        self.optimizer.step(number + 1, learning_rate_factor(self.config, number, self._share_done()))
        return losses.detach()

    def _timed_step(self) -> None:
        start = time.perf_counter()
        self.loss_sums += self.step()
        self.loss_steps += 1
        self.progress.step += 1
        self.progress.seconds += time.perf_counter() - start

    def _share_done(self) -> float:
        by_steps = self.progress.step / self.config.steps
        by_time = self.progress.seconds / self.config.seconds if self.config.seconds else 0.0
        return max(by_steps, by_time)

    def _over(self) -> bool:
        return self._share_done() >= 1

    def _due(self, every: int) -> bool:
        return self.progress.step % every == 0 and not self._over()

    def _measure(self, evaluate: Callable[[Progress], Measured]) -> Measured:
        self._refuse_nonfinite()
        if self.loss_steps[0] > 0:
            self.progress.losses = (self.loss_sums / self.loss_steps).tolist()
        self.model.eval()
        measured = evaluate(self.progress)
        self.loss_sums.zero_()
        self.loss_steps.zero_()
        return measured

    def _checkpoint(self, callbacks: Callbacks) -> None:
        self._refuse_nonfinite()
        callbacks.checkpoint(self.progress)

    def _refuse_nonfinite(self) -> None:
        """Before anything is written: a checkpoint or a record of a broken model helps nobody."""
        start = time.perf_counter()
        sums = self.loss_sums.tolist()  # waits for the device: still part of the steps' time
        self.progress.seconds += time.perf_counter() - start
        broken = [k for k, loss in enumerate(sums) if not math.isfinite(loss)]
        if broken:
            raise InputError(
                f"the loss of member {broken[0]} is no longer finite at step {self.progress.step}; "
                "the last checkpoint is intact, a lower learning rate may help"
            )


def answer_losses(model: GPT, batch: Batch) -> Tensor:
    """Mean cross-entropy per answer token, for each member [M]."""
    logits = model(batch.ids[..., :-1], batch.positions[..., :-1], tail=batch.tail)
    targets = batch.ids[..., -batch.tail :]
    losses = functional.cross_entropy(logits.flatten(0, 2), targets.flatten(), reduction="none")
    counts = batch.answer[..., -batch.tail :].expand_as(targets).float()
    return (losses.view_as(counts) * counts).sum((1, 2)) / counts.sum((1, 2))
