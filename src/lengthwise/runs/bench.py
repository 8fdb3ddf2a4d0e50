"""Benchmarks, as ratios within one run: training, evaluation and data beside the device's own ceilings.

A rate is also given as a share of the ceiling: of the rate that the model's matrix products alone would
allow, at the fastest that this device was seen to multiply matrices in the same run.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from lengthwise.runs.assess import Assessment, domain_rows
from lengthwise.runs.build import Parts, build, training_data, training_steps, wait_for
from lengthwise.runs.config import RunConfig


@dataclass(frozen=True)
class Ceilings:
    """What the device can do at best."""

    device: str
    products_per_second: float
    """Floating-point operations of a large matrix product, in the dtype that training uses."""
    bytes_per_second: float
    """Bytes read and written by a large copy."""


@dataclass(frozen=True)
class TrainingRate:
    members: int
    steps_per_second: float
    model_steps_per_second: float
    share_of_ceiling: float
    setup_seconds: float
    """Building, compiling and capturing, once per run."""


@dataclass(frozen=True)
class Bench:
    ceilings: Ceilings
    parameters: int
    tokens: int
    batch: int
    optimizer: str
    training: list[TrainingRate]
    interim_evaluation_seconds: float
    """An evaluation between training steps, which has fewer problems."""
    evaluation_seconds: float
    """All domains of the config, against truth and prediction."""
    evaluation_problems_per_second: float
    data_problems_per_second: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def bench(config: RunConfig, device: torch.device, *, members: int, seconds: float = 3.0) -> Bench:
    """Measure one config alone and as a stack of `members` that differ in their seeds."""
    ceilings = measure_ceilings(device)
    sizes = [1] if members == 1 else [1, members]
    rates: list[TrainingRate] = []
    for size in sizes:
        configs = [config.changed(seed=config.seed + k) for k in range(size)]
        rates.append(_training_rate(configs, device, ceilings, seconds))
    parts = build([config], device)
    interim, _ = _evaluation(parts, detail=False)
    evaluation, problems = _evaluation(parts, detail=True)
    return Bench(
        ceilings=ceilings,
        parameters=parts.model.parameter_count(),
        tokens=parts.layout.length,
        batch=config.training.batch,
        optimizer=config.training.optimizer,
        training=rates,
        interim_evaluation_seconds=interim,
        evaluation_seconds=evaluation,
        evaluation_problems_per_second=problems / evaluation,
        data_problems_per_second=_data_rate(parts, seconds / 3),
    )


def measure_ceilings(device: torch.device) -> Ceilings:
    side, dtype = (8192, torch.bfloat16) if device.type == "cuda" else (1024, torch.float32)
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    source = torch.randn(2**28 if device.type == "cuda" else 2**24, device=device)
    target = torch.empty_like(source)
    product = _seconds_each(lambda: torch.mm(a, b), device, 0.5)
    copy = _seconds_each(lambda: target.copy_(source), device, 0.5)
    name = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    )
    return Ceilings(name, 2 * side**3 / product, 2 * source.numel() * source.element_size() / copy)


def step_operations(parts: Parts, batch: int) -> float:
    """Floating-point operations of the matrix products of one member's step, forward and backward."""
    matrices = sum(p.numel() for p in parts.model.parameters() if p.dim() == 3 and p.shape[1] > 1)
    return 6.0 * matrices / parts.model.members * batch * (parts.layout.length - 1)


def profile_steps(
    configs: Sequence[RunConfig], device: torch.device, steps: int = 16
) -> list[tuple[str, float, float]]:
    """Where a step's time goes: (kernel, microseconds per step, calls per step), longest first."""
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 (slow to import)

    taken = training_steps(build(configs, device))
    _take(taken, 0, steps)
    activity = ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU
    with profile(activities=[activity]) as seen:
        _take(taken, steps, steps)
        wait_for(device)
    rows = [
        (
            event.key,
            event.self_device_time_total if device.type == "cuda" else event.self_cpu_time_total,
            event.count,
        )
        for event in seen.key_averages()
    ]
    return sorted(((key, total / steps, count / steps) for key, total, count in rows), key=lambda r: -r[1])


def _training_rate(
    configs: Sequence[RunConfig], device: torch.device, ceilings: Ceilings, seconds: float
) -> TrainingRate:
    start = time.perf_counter()
    parts = build(configs, device)
    steps = training_steps(parts)
    _take(steps, 0, steps.most)
    wait_for(device)
    setup = time.perf_counter() - start
    done, start = steps.most, time.perf_counter()
    while time.perf_counter() - start < seconds:
        _take(steps, done, steps.most)
        done += steps.most
        wait_for(device)
    rate = (done - steps.most) / (time.perf_counter() - start)
    floor = step_operations(parts, configs[0].training.batch) / ceilings.products_per_second
    return TrainingRate(len(configs), rate, rate * len(configs), rate * len(configs) * floor, setup)


def _evaluation(parts: Parts, *, detail: bool) -> tuple[float, int]:
    """Seconds for an evaluation, the second time, and how many problems it scores."""
    device, assess = parts.model.device, Assessment(parts, ["bench"])
    parts.model.eval()
    scored = sum(row.problems.a.shape[1] for row in domain_rows(parts, interim=not detail))
    assess([0], detail=detail)
    wait_for(device)
    start = time.perf_counter()
    assess([0], detail=detail)
    wait_for(device)
    return time.perf_counter() - start, scored


def _data_rate(parts: Parts, seconds: float) -> float:
    count = 1 << 14
    data = training_data(parts, count)
    return count / _seconds_each(lambda: data(0), parts.model.device, seconds)


def _take(steps: Any, first: int, count: int) -> None:
    while count > 0:
        now = min(count, steps.most)
        steps.take(first, [1e-6] * now)
        first, count = first + now, count - now


def _seconds_each(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    for _ in range(3):
        work()
    wait_for(device)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(5):
            work()
        done += 5
        wait_for(device)
    return (time.perf_counter() - start) / done
