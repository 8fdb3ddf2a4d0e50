"""The training loop of a stack: steps, and between them evaluations and checkpoints.

A step is a function of its number and the state: the batch comes from the members' streams, what is dropped
from a hash of the step, the learning rate from the schedule. So a run that is killed and resumed ends in
the same bits as one that was not.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.model.gpt import GPT
from lengthwise.training.config import TrainingConfig
from lengthwise.training.optimizer import learning_rate_factor
from lengthwise.training.steps import Steps

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
    loss_steps: int = 0
    """Over how many steps that mean was taken."""
    alive: list[bool] = field(default_factory=list[bool])
    """Whether each member's gradients have stayed finite."""


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
    def __init__(self, model: GPT, steps: Steps, config: TrainingConfig) -> None:
        self.model, self.steps, self.config = model, steps, config
        self.progress = Progress(alive=[True] * model.members)

    def state(self) -> dict[str, Tensor]:
        """Every tensor that what follows depends on, each with its leading member axis."""
        model = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        return {**model, **{f"training/{name}": tensor for name, tensor in self.steps.state().items()}}

    def run(self, callbacks: Callbacks) -> None:
        """Train to the end, which is a number of steps, of seconds, or a target; or until asked to stop."""
        if self.progress.finished:
            return
        if self.progress.step == 0:
            self._measure(callbacks.evaluate)
        while not self._over():
            self._advance()
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

    def _advance(self) -> None:
        """As many steps as can be taken at once: up to the next evaluation, checkpoint or the end."""
        start, step = time.perf_counter(), self.progress.step
        ends = [every - step % every for every in (self.config.evaluate_every, self.config.checkpoint_every)]
        count = min(self.steps.most, self.config.steps - step, *ends)
        shares = [self._share_done() + k / self.config.steps for k in range(count)]
        self.steps.take(
            step, [learning_rate_factor(self.config, step + k, share) for k, share in enumerate(shares)]
        )
        self.progress.step += count
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
        self._look()
        losses = self.steps.losses
        if losses.steps > 0:
            self.progress.losses = (losses.sums / losses.steps).tolist()
            self.progress.loss_steps = losses.steps
        self.model.eval()
        measured = evaluate(self.progress)
        losses.clear()
        return measured

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
