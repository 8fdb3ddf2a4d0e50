"""Training steps of a plain GPT without a compiler: passes written by hand, captured in a CUDA graph. On a CPU the
same operations run one by one, the kernels in Triton's interpreter.

The numbers are those of PlainSteps and GraphSteps up to rounding, dropout included.

Shapes: M members, B problems of a step, T tokens, Q the last of them, W steps of a window, L layers.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.model.gpt import GPT
from lengthwise.runs.build import Stack, training_data
from lengthwise.tokens.hashing import derive
from lengthwise.training.data import TrainingData
from lengthwise.training.optimizer import Optimizer
from lengthwise.training.trainer import Dropout, Factors, Steps
from trials.fused.network import Inputs, Network, Options, suits
from trials.fused.update import FusedUpdate

WINDOW, WARM_UP = 32, 2


def fused_steps(stack: Stack, *, window: int = WINDOW, **options: Any) -> "FusedSteps":
    """As `lengthwise.runs.build.training_steps`."""
    optimizer = Optimizer(stack.model, [config.training for config in stack.configs])
    keys = [derive(config.seed, "dropout") for config in stack.configs]
    dropout = Dropout(keys, [config.model.dropout for config in stack.configs], stack.device)
    batch = stack.config.training.batch
    data = training_data(stack, window * batch)
    return FusedSteps(stack.model, data, optimizer, batch, dropout, window=window, **options)


class FusedSteps(Steps):
    """Built with data that make `window` batches at a call. `choices` are those of Options."""

    def __init__(
        self, model: GPT, data: TrainingData, optimizer: Optimizer, batch: int, dropout: Dropout, *,
        window: int = WINDOW, **choices: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, data, optimizer, batch, dropout)
        assert suits(model, data.length), "this model needs GraphSteps"
        self.most = window
        options = Options(**{"dtype": model.compute_dtype, **choices})
        self.update = FusedUpdate(optimizer, window, model.config.width, options.dtype)
        shape, each = (batch, data.length - 1, data.tail), -(-model.members // options.parts)
        self.networks = [
            Network(model, self.update, slice(first, first + each), shape, dropout, options)
            for first in range(0, model.members, each)
        ]
        self.streams: list[torch.cuda.Stream] = []
        self.first = torch.zeros((), dtype=torch.long, device=model.device)
        self.cursor = torch.zeros(1, dtype=torch.long, device=model.device)
        self.window = self._made()
        self.update.plan(0, [0.0])
        self.fill, self.step = self._fill_window, self._one_step
        self.seconds: dict[str, float] = {}
        """What set-up took, by phase."""
        if model.device.type == "cuda":
            self.streams = [torch.cuda.Stream() for _ in self.networks if len(self.networks) > 1]
            self._record()

    def take(self, first: int, factors: Factors) -> None:
        self.update.plan(first, factors)
        self.first.fill_(first)
        self.cursor.zero_()
        self.fill()
        for _ in factors:
            self.step()

    def _record(self) -> None:
        """Capture both graphs, and undo what warming up did to the state."""
        kept = [(tensor, tensor.clone()) for tensor in self._mutable()]
        self.fill = self._captured("data", self._fill_window)
        self.step = self._captured("step", self._one_step)
        for tensor, before in kept:
            tensor.copy_(before)

    def _mutable(self) -> list[Tensor]:
        return [*(group.values for group in self.optimizer.groups), *self.state().values()]

    def _captured(self, name: str, work: Callable[[], None]) -> Callable[[], None]:
        start, aside, graph = time.perf_counter(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                work()
        torch.cuda.synchronize()
        self.seconds[f"{name}: first calls"] = time.perf_counter() - start
        start = time.perf_counter()
        with torch.cuda.graph(graph):
            work()
        self.seconds[f"{name}: capture"] = time.perf_counter() - start
        return graph.replay

    def _one_step(self) -> None:
        self.losses.add(self._passes(self._current()))
        self.update(self.cursor)
        self.cursor += 1

    def _passes(self, inputs: Inputs) -> Tensor:
        """Forward and backward pass: losses [M]. Parts of a stack run beside each other."""
        inputs_of = [inputs.of(network.part) for network in self.networks]
        if not self.streams:
            return torch.cat([network(own) for network, own in zip(self.networks, inputs_of, strict=True)])
        now, losses = torch.cuda.current_stream(), list[Tensor]()
        for network, own, stream in zip(self.networks, inputs_of, self.streams, strict=True):
            stream.wait_stream(now)
            with torch.cuda.stream(stream):
                losses.append(network(own))
        for stream in self.streams:
            now.wait_stream(stream)
        return torch.cat(losses)

    # --- what a window needs --------------------------------------------------------------------------------

    def _fill_window(self) -> None:
        for held, fresh in zip(self.window, self._made(), strict=True):
            held.copy_(fresh)

    def _made(self) -> Inputs:
        made, queries = self.data(self.first * self.batch), self.data.tail
        answers = made.answer[..., -queries:].expand_as(made.ids[..., -queries:])
        counts = answers.float().unflatten(1, (self.most, self.batch))
        weights = (counts / counts.sum((2, 3), keepdim=True)).flatten(1, 2)
        return Inputs(made.ids.contiguous(), made.positions.contiguous(), weights, self._seeds())

    def _seeds(self) -> Tensor:
        """Padded, as a kernel's arguments have to start at multiples of 16 bytes, always or never."""
        steps = self.first + torch.arange(self.most, device=self.first.device)
        noise = self.dropout(steps.unsqueeze(1))
        if noise is None:
            return steps.new_zeros(self.most, 1, 4, dtype=torch.int32)
        shape, layers = noise.seeds.shape, self.model.config.layers
        of_steps = noise._replace(seeds=noise.seeds.flatten())
        of_layers = noise._replace(seeds=torch.cat([one.seeds for one in of_steps.of_layers(layers)]))
        within = torch.stack([of_layers.at(place).seeds for place in range(3)]).view(3, layers, *shape)
        seeds = torch.cat([noise.seeds.unsqueeze(1), within.permute(2, 1, 0, 3).flatten(1, 2)], 1)
        return functional.pad(seeds, (0, -shape[1] % 4))

    def _current(self) -> Inputs:
        """The cursor's part of the window; positions that all steps share are not cut."""
        ids, positions, weights, seeds = self.window
        if positions.shape[1] > 1:
            positions = self._cut(positions)
        return Inputs(self._cut(ids), positions, self._cut(weights), seeds.index_select(0, self.cursor)[0])

    def _cut(self, part: Tensor) -> Tensor:
        return part.unflatten(1, (self.most, self.batch)).index_select(1, self.cursor).squeeze(1)
