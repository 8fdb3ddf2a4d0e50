"""What a run will cost, found by building it and taking a few steps: parameters, memory, time."""

import time
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from lengthwise.model.gpt import GPT
from lengthwise.runs.build import build, choose_device, training_layout, training_steps, wait_for
from lengthwise.runs.config import RunConfig
from lengthwise.runs.memory import memory_told
from lengthwise.runs.samples import Counts, counts_text, fixed_set, sample_counts
from lengthwise.training.steps import Steps
from lengthwise.training.trainer import Trainer

WARM_UP, TIMED = 2, 5


@dataclass(frozen=True)
class Costs:
    parameters: int
    tokens_per_problem: int
    state_bytes: int
    """Weights, gradients and the optimizer's averages."""
    activation_bytes: int
    """What the forward pass keeps for the backward pass."""
    seconds_per_step: float
    steps: int
    device: str
    samples: Counts | None = None
    """Where the problems are a fixed set: by part, how many are trained on and how many held out."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def as_text(self) -> str:
        total = self.seconds_per_step * self.steps
        samples = [] if self.samples is None else [f"samples         {counts_text(self.samples)}"]
        return "\n".join(
            [
                f"parameters      {self.parameters:,}",
                f"tokens/problem  {self.tokens_per_problem}",
                f"memory          {_megabytes(self.state_bytes)} for weights, gradients and optimizer, "
                f"{_megabytes(self.activation_bytes)} for activations",
                f"time            {1000 * self.seconds_per_step:.1f} ms per step on {self.device}, "
                f"{duration(total)} for {self.steps:,} steps without evaluations",
                *samples,
            ]
        )


def duration(seconds: float) -> str:
    """
    >>> duration(42.4), duration(600), duration(10_000), duration(181_083)
    ('42 s', '10 minutes', '2.8 hours', '2.1 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3_600:.1f} hours" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def costs(config: RunConfig, device_name: str) -> Costs:
    device = choose_device(device_name)
    with memory_told(1):
        return _costs(config, device)


def _costs(config: RunConfig, device: torch.device) -> Costs:
    parts = build([config], device)
    steps = training_steps(parts, plain=True)
    trainer = Trainer(parts.model, steps, config.training)
    fixed = fixed_set(config)
    kept = _activation_bytes(parts.model, steps)
    gradients = sum(p.numel() * p.element_size() for p in parts.model.parameters())
    return Costs(
        parameters=parts.model.parameter_count(),
        tokens_per_problem=training_layout(config, parts.layout).length,
        state_bytes=gradients + sum(t.numel() * t.element_size() for t in trainer.state().values()),
        activation_bytes=kept,
        seconds_per_step=_seconds_per_step(steps, device),
        steps=config.training.steps,
        device=device.type,
        samples=None if fixed is None else sample_counts(fixed),
    )


def _activation_bytes(model: GPT, steps: Steps) -> int:
    """Bytes of distinct storage that one step saves, parameters aside."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        steps.take(0, [0.0])
    return sum(saved.values())


def _seconds_per_step(steps: Steps, device: torch.device) -> float:
    steps.take(0, [0.0] * WARM_UP)
    wait_for(device)
    start = time.perf_counter()
    steps.take(WARM_UP, [0.0] * TIMED)
    wait_for(device)
    return (time.perf_counter() - start) / TIMED


def _megabytes(count: int) -> str:
    return f"{count / 2**20:,.1f} MB"
