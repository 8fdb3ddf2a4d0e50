"""The cost of a run in memory and time, and its speed, measured by building it and taking a few steps.

`costs` has one run's parameters, memory and time. `bench` compares training, evaluation and data with the device's
ceilings: a rate is also given as a share of the rate that the model's matrix products alone would allow, at the
fastest matrix product measured in the same run.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from lengthwise.model.gpt import GPT
from lengthwise.progress import Watch, duration, unwatched
from lengthwise.runs.build import (
    Form,
    build,
    check_memory,
    training_data,
    training_steps,
)
from lengthwise.runs.config import RunConfig
from lengthwise.runs.evaluate import Assessment, domain_rows
from lengthwise.runs.machine import choose_device, memory_errors_explained, wait_for
from lengthwise.training.trainer import Steps, Trainer

TIMED = 5
"""Repetitions of short work between two readings of the clock."""
ID_BYTES, DRAWN = 8, 1 << 14
SLOWER = 0.9
"""A share of the ceiling below this fraction of an earlier one counts as slower; smaller differences are noise."""


def costs_text(costs: Mapping[str, Any]) -> str:
    total = costs["seconds_per_step"] * costs["steps"]
    lines = {
        "parameters": f"{costs['parameters']:,}",
        "tokens/problem": f"{costs['tokens_per_problem']}",
        "memory": f"{costs['state_bytes'] / 2**20:,.1f} MB for weights, gradients and optimizer, "
        f"{costs['activation_bytes'] / 2**20:,.1f} MB for activations",
        "time": f"{1000 * costs['seconds_per_step']:.1f} ms per step on {costs['device']}, "
        f"{duration(total)} for {costs['steps']:,} steps without evaluations",
    }
    if costs["samples"] is not None:
        lines["samples"] = counts_text(costs["samples"])
    return "\n".join(f"{name:<15} {text}" for name, text in lines.items())


def costs(config: RunConfig, device: str) -> dict[str, Any]:
    """What `train --dry-run --json` prints.

    The state is weights, gradients and the optimizer's averages; activations are what the forward pass saves for
    the backward pass. For a fixed set of problems, `samples` has by part the numbers of problems for training and
    held out.
    """
    with memory_errors_explained(1):
        check_memory([config], choose_device(device))
        stack = build([config], choose_device(device))
        steps = training_steps(stack, "plain")
        state = Trainer(steps).state()
        return {
            "parameters": stack.model.parameter_count(),
            "tokens_per_problem": Form(config).training.length,
            "state_bytes": _bytes(stack.model.parameters()) + _bytes(state.values()),
            "activation_bytes": _activation_bytes(stack.model, steps),
            "seconds_per_step": _seconds_each(lambda: steps.take(0, [0.0]), stack.device, at_once=TIMED),
            "steps": config.training.steps,
            "device": stack.device.type,
            "samples": steps.data.sets[0].counts if steps.data.sets else None,
        }


def counts_text(counts: Mapping[str, tuple[int, int]]) -> str:
    """
    >>> counts_text({"D1": (90, 10), "D3": (450, 50)})
    'D1 90 (and 10 held out), D3 450 (and 50 held out)'
    """
    return ", ".join(f"{part} {trained:,} (and {held:,} held out)" for part, (trained, held) in counts.items())


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _activation_bytes(model: GPT, steps: Steps) -> int:
    """Bytes of distinct storage that one step saves, without parameters."""
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


def _seconds_each(
    work: Callable[[], object], device: torch.device, seconds: float = 0.0, *, at_once: int = 1
) -> float:
    """The mean time of some work, including the device's, over at least these seconds after a warm-up. The clock
    waits for the device once every `at_once` repetitions."""
    for _ in range(at_once):
        work()
    wait_for(device)
    start, done = time.perf_counter(), 0
    while done == 0 or time.perf_counter() - start < seconds:
        for _ in range(at_once):
            work()
        done += at_once
        wait_for(device)
    return (time.perf_counter() - start) / done


# --- benchmarks ---------------------------------------------------------------------------------------------


def bench(
    config: RunConfig, device: torch.device, *, members: int, seconds: float = 3.0, watch: Watch = unwatched
) -> dict[str, Any]:
    """Measure one config alone and as a stack of `members` that differ in their seeds.

    An interim evaluation is one during training, which has fewer problems; the other has all problems of all
    domains, against truth and prediction. `watch` is called with the number of measurements done.
    """
    check_memory([config] * members, device)
    sizes = sorted({1, members})
    total = len(sizes) + 4
    watch(0, total)
    ceilings = measure_ceilings(device)
    configs = [config.changed(seed=config.seed + k) for k in range(members)]
    rates: list[dict[str, Any]] = []
    for size in sizes:
        watch(len(rates) + 1, total)
        rates.append(_training_rate(configs[:size], device, ceilings, seconds))
    stack = build([config], device)
    assess = Assessment(stack)
    stack.model.eval()
    watch(total - 3, total)
    interim = _seconds_each(lambda: assess([0], detail=False), device)
    watch(total - 2, total)
    evaluation = _seconds_each(lambda: assess([0], detail=True), device)
    problems = sum(row.problems.a.shape[1] for row in domain_rows(stack))
    watch(total - 1, total)
    data = training_data(stack, DRAWN)
    drawing = _seconds_each(lambda: data(0), device, seconds / 3, at_once=TIMED)
    return {
        "ceilings": ceilings,
        "parameters": stack.model.parameter_count(),
        "tokens": stack.layout.length,
        "batch": config.training.batch,
        "optimizer": config.training.optimizer,
        "training": rates,
        "interim_evaluation_seconds": interim,
        "evaluation_seconds": evaluation,
        "evaluation_problems_per_second": problems / evaluation,
        "data_problems_per_second": DRAWN / drawing,
    }


def shares_of_ceilings(found: Mapping[str, Any]) -> dict[str, float]:
    """The rates of a bench, given as its JSON, as shares of the ceilings measured in the same run."""
    products, bytes_moved = (found["ceilings"][name] for name in ("products_per_second", "bytes_per_second"))
    answering = 2 * found["parameters"] * found["tokens"] / products
    writing = ID_BYTES * found["tokens"] / bytes_moved
    return {
        **{stack_words(rate["members"]): rate["share_of_ceiling"] for rate in found["training"]},
        "evaluation": found["evaluation_problems_per_second"] * answering,
        "data": found["data_problems_per_second"] * writing,
    }


def stack_words(members: int) -> str:
    return "one model" if members == 1 else f"stack of {members}"


def measure_ceilings(device: torch.device) -> dict[str, Any]:
    """The device's ceilings: floating-point operations per second of a large matrix product, in the dtype of
    training, and bytes per second read and written by a large copy."""
    gpu = device.type == "cuda"
    side, dtype = (8192, torch.bfloat16) if gpu else (1024, torch.float32)
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    source = torch.randn(2**28 if gpu else 2**24, device=device)
    target = torch.empty_like(source)
    product = _seconds_each(lambda: torch.mm(a, b), device, 0.5, at_once=TIMED)
    copy = _seconds_each(lambda: target.copy_(source), device, 0.5, at_once=TIMED)
    return {
        "device": torch.cuda.get_device_name(device) if gpu else f"CPU, {torch.get_num_threads()} threads",
        "products_per_second": 2 * side**3 / product,
        "bytes_per_second": 2 * _bytes([source]) / copy,
    }


def step_operations(steps: Steps) -> float:
    """Floating-point operations of the matrix products of one member's step, forward and backward."""
    matrices = sum(p.numel() for p in steps.model.parameters() if p.dim() == 3 and p.shape[1] > 1)
    return 6.0 * matrices / steps.model.members * steps.batch * (steps.data.length - 1)


def profile_steps(
    configs: Sequence[RunConfig], device: torch.device, steps: int = 16
) -> list[tuple[str, float, float]]:
    """The kernels of a step: (name, microseconds per step, calls per step), longest first."""
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 (slow to import)

    check_memory(configs, device)
    taken = training_steps(build(configs, device))
    take, windows = _window_taker(taken), -(-steps // taken.most)
    for _ in range(windows):
        take()
    activity = ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU
    with profile(activities=[activity]) as seen:
        for _ in range(windows):
            take()
        wait_for(device)
    time_field = "self_device_time_total" if device.type == "cuda" else "self_cpu_time_total"
    count = windows * taken.most
    rows = [(event.key, getattr(event, time_field) / count, event.count / count) for event in seen.key_averages()]
    return sorted(rows, key=lambda row: -row[1])


def _window_taker(steps: Steps) -> Callable[[], object]:
    """A function that takes the next window of training steps."""
    first = itertools.count(step=steps.most)
    return lambda: steps.take(next(first), [1e-6] * steps.most)


def _training_rate(
    configs: Sequence[RunConfig], device: torch.device, ceilings: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """The speed of training, and the seconds of set-up, once per run."""
    steps, phases = set_up(configs, device)
    rate = steps.most / _seconds_each(_window_taker(steps), device, seconds)
    return {
        "members": len(configs),
        "steps_per_second": rate,
        "model_steps_per_second": rate * len(configs),
        "share_of_ceiling": rate * len(configs) * step_operations(steps) / ceilings["products_per_second"],
        "setup_seconds": sum(phases.values()),
        "setup_phases": phases,
    }


def set_up(
    configs: Sequence[RunConfig], device: torch.device, kind: str | None = None
) -> tuple[Steps, dict[str, float]]:
    """Training steps of which the first window is done, and the seconds of each part of it."""
    times = [time.perf_counter()]
    torch.zeros(1, device=device)
    times.append(time.perf_counter())
    stack = build(configs, device)
    times.append(time.perf_counter())
    steps = training_steps(stack, kind)
    times.append(time.perf_counter())
    _window_taker(steps)()
    wait_for(device)
    times.append(time.perf_counter())
    start, model, rest, window = (after - before for before, after in itertools.pairwise(times))
    rest -= sum(steps.seconds.values())
    phases = {"device": start, "model": model, "data and optimizer": rest, **steps.seconds, "first window": window}
    return steps, phases
