"""Training steps on a GPU as CUDA graphs: no Python, and no launch gaps.

A step is launched as one recorded graph. Data come from a second graph that makes the batches of a whole window
of steps at once. The steps of a plain GPT are written by hand (training/fused.py). Those of any other model are
compiled; its matrices are cast to bfloat16 in one pass, and their gradients come back as one tensor.

Shapes: M members, B problems of a step, W steps of a window.
"""

import copy
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from lengthwise.model.attention import HAS_TRITON, MOST_TOKENS, SHORT_WIDTHS
from lengthwise.model.gpt import GPT
from lengthwise.model.positions.learned import TableEncoding
from lengthwise.model.positions.none import NoPositions
from lengthwise.model.positions.sinusoidal import Sinusoidal
from lengthwise.training.data import TrainingData
from lengthwise.training.optimizer import Optimizer
from lengthwise.training.trainer import Dropout, Factors, Steps, answer_losses

WINDOW = 32
WARM_UP = 3  # calls before capture: compilation, workspaces, autotuning


# Compiled programs outlive a process where the user's caches are, so that the same shape compiles once.
CACHE = Path.home() / ".cache" / "lengthwise"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(CACHE / "compiled"))
os.environ.setdefault("TRITON_CACHE_DIR", str(CACHE / "triton"))


COMPILED: dict[str, Any] = {"fullgraph": True, "dynamic": False}
MOST_SHAPES = 3
"""Shapes of stacks with compiled programs at a time: the compiler keeps eight variants of a function, of which a
shape needs up to two."""
_compiled: dict[str, GPT] = {}


def suits(model: GPT, row_tokens: int) -> bool:
    """Whether its steps are written by hand: a plain GPT, to which the encoding adds rows of a table, on short
    rows of tokens. What another package adds may depend on more."""
    config, encoding = model.config, getattr(model.encoding, "inner", model.encoding)
    special = config.place_attention or config.position_waves or config.normalized_attention
    plain = config.block == "gpt" and config.loops == 1 and not (special or config.log_length_scale or config.bias)
    fits = row_tokens - 1 <= MOST_TOKENS and config.width // config.heads in SHORT_WIDTHS
    return HAS_TRITON and plain and fits and isinstance(encoding, TableEncoding | NoPositions | Sinusoidal)


class CapturedSteps(Steps):
    """Built with data that make the batches of a window at a call. Training state is as it was after the capture.

    On a CPU the same operations run one by one.
    """

    def __init__(self, model: GPT, data: TrainingData, optimizer: Optimizer, batch: int, dropout: Dropout) -> None:
        super().__init__(model, data, optimizer, batch, dropout)
        device, self.most = model.device, len(data.within_batch) // batch
        self.first = torch.zeros((), dtype=torch.long, device=device)
        self.cursor = torch.zeros(1, dtype=torch.long, device=device)
        self.factors = torch.zeros(self.most, model.members, device=device)
        self.fill, self.step = self._fill_window, self._one_step
        model.train()
        with self._phase("first batches"):
            self.window = {name: part.clone() for name, part in self._batches().items()}

    @abstractmethod
    def _batches(self) -> dict[str, Tensor]:
        """What a window's steps need. Of tensors of three axes, the second is W B, W or 1."""

    @abstractmethod
    def _plan(self, first: int) -> None:
        """Before a window: what else depends on its first step, and the parameters rounded as they are now."""

    @abstractmethod
    def _one_step(self) -> None:
        """The step that the cursor is at."""

    def take(self, first: int, factors: Factors) -> None:
        self._plan(first)
        self.factors[: len(factors)] = torch.tensor(factors, device=self.factors.device).view(len(factors), -1)
        self.first.fill_(first)
        self.cursor.zero_()
        self.fill()
        for _ in factors:
            self.step()

    def _fill_window(self) -> None:
        for name, part in self._batches().items():
            self.window[name].copy_(part)

    def _current(self) -> dict[str, Tensor]:
        """The cursor's part of the window; what all steps share is not cut."""
        cut = {
            name: part.unflatten(1, (self.most, -1)).index_select(1, self.cursor).squeeze(1)
            for name, part in self.window.items()
            if part.dim() == 3 and part.shape[1] > 1
        }
        return {**self.window, **cut}

    def _capture(self) -> None:
        """Both graphs; what warming up did to the state is undone."""
        if self.model.device.type != "cuda":
            return
        mutable = [*(group.values for group in self.optimizer.groups), *self.state().values()]
        kept = [tensor.clone() for tensor in mutable]
        self.fill, self.step = self._captured(self._fill_window), self._captured(self._one_step)
        for tensor, before in zip(mutable, kept, strict=True):
            tensor.copy_(before)

    def _captured(self, work: Callable[[], None]) -> Callable[[], None]:
        aside, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        aside.wait_stream(torch.cuda.current_stream())
        with self._phase("first calls"), torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                work()
        with self._phase("capture"), torch.cuda.graph(graph):
            work()
        return graph.replay

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Counts the time of a part of set-up."""
        start = time.perf_counter()
        yield
        if self.model.device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


class FusedSteps(CapturedSteps):
    """For models that suit."""

    def __init__(self, model: GPT, data: TrainingData, optimizer: Optimizer, batch: int, dropout: Dropout) -> None:
        from lengthwise.training import fused  # noqa: PLC0415 (needs Triton)

        super().__init__(model, data, optimizer, batch, dropout)
        self.inputs = fused.Inputs
        self.update = fused.Update(optimizer, self.factors, model.config.width, model.compute_dtype)
        self.passes = fused.Passes(model, self.update, (batch, data.length - 1, data.tail), dropout)
        self._plan(0)
        if model.device.type == "cuda":
            with self._phase("kernels"):
                self.update.launch.prepare(self._passes_and_update)
        self._capture()

    def _plan(self, first: int) -> None:
        self.update.plan(first)

    def _one_step(self) -> None:
        self.losses.add(self._passes_and_update())
        self.cursor += 1

    def _passes_and_update(self) -> Tensor:
        losses = self.passes(self.inputs(**self._current()))
        self.update(self.cursor)
        return losses

    def _batches(self) -> dict[str, Tensor]:
        made, queries = self.data(self.first * self.batch), self.data.tail
        answers = made.answer[..., -queries:].expand_as(made.ids[..., -queries:])
        counts = answers.float().unflatten(1, (self.most, self.batch))
        weights = (counts / counts.sum((2, 3), keepdim=True)).flatten(1, 2)
        ids, positions = made.ids.contiguous(), made.positions.contiguous()
        return {"ids": ids, "positions": positions, "weights": weights, "seeds": self._seeds()}

    def _seeds(self) -> Tensor:
        """Of each place of dropout, step and member. Padded, as a kernel's arguments have to start at multiples of
        16 bytes, always or never."""
        steps, layers = self.first + torch.arange(self.most, device=self.first.device), self.model.config.layers
        noise = self.dropout(steps.unsqueeze(1))
        if noise is None:
            return steps.new_zeros(1, self.most, 4, dtype=torch.int32)
        shape = noise.seeds.shape
        of_steps = noise._replace(seeds=noise.seeds.flatten())
        of_layers = noise._replace(seeds=torch.cat([one.seeds for one in of_steps.of_layers(layers)]))
        within = torch.stack([of_layers.at(place).seeds.view(layers, *shape) for place in range(3)], 1)
        seeds = torch.cat([noise.seeds.unsqueeze(0), within.flatten(0, 1)])
        return functional.pad(seeds, (0, -shape[1] % 4))


class CompiledSteps(CapturedSteps):
    """For any model."""

    def __init__(self, model: GPT, data: TrainingData, optimizer: Optimizer, batch: int, dropout: Dropout) -> None:
        super().__init__(model, data, optimizer, batch, dropout)
        self.numbers = torch.ones(self.most, device=model.device)
        self.rounded = optimizer.matrices.values.to(model.compute_dtype)
        self.program = compiled_model(model, (batch, *self.made.ids.shape[2:]))
        self.update = torch.compile(_update, **COMPILED)
        self._capture()

    def _batches(self) -> dict[str, Tensor]:
        self.made = self.data(self.first * self.batch)
        return {name: part for name, part in self.made._asdict().items() if isinstance(part, Tensor)}

    def _plan(self, first: int) -> None:
        self.rounded.copy_(self.optimizer.matrices.values)
        self.numbers.copy_(torch.arange(first, first + self.most) + 1)

    def _one_step(self) -> None:
        leaves = [t.detach().requires_grad_() for t in (self.optimizer.others.values, self.rounded)]
        others, matrices = self.optimizer.groups
        # The compiled model as a function of the flat parameters, the matrices in the compute dtype.
        weights = {**dict(self.model.named_buffers()), **others.named(leaves[0]), **matrices.named(leaves[1])}
        number, factor = (table.index_select(0, self.cursor) for table in (self.numbers, self.factors))
        losses = answer_losses(
            lambda ids, positions, **rest: functional_call(self.program, weights, (ids, positions), rest),
            self.made._replace(**self._current()),
            self.dropout(number.long() - 1),
        )
        gradients = torch.autograd.grad(losses.sum(), leaves)
        self.update(self.optimizer, self.rounded, list(gradients), number, factor.mT)
        self.losses.add(losses.detach())
        self.cursor += 1


def compiled_model(model: GPT, batch_shape: tuple[int, ...]) -> GPT:
    """A copy of the model without weights whose pieces are compiled: the embedding, the read-out, and one block
    for all of its blocks but the last, which may answer for fewer tokens.

    Models of equal shape share it, whatever their seeds and rates.
    """
    weights = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    config = model.config.model_copy(update={"dropout": 0.0})
    shape = repr((config, type(model.encoding), weights, batch_shape))
    if shape not in _compiled:
        if len(_compiled) == MOST_SHAPES:
            torch.compiler.reset()
            _compiled.clear()
        program = copy.deepcopy(model).to("meta")
        for block in program.blocks:
            block.compile(**COMPILED)
        for piece in ("embed", "read_out"):
            setattr(program, piece, torch.compile(getattr(program, piece), **COMPILED))
        _compiled[shape] = program
    return _compiled[shape]


def _update(
    optimizer: Optimizer, rounded: Tensor, gradients: list[Tensor], number: Tensor, factor: Tensor
) -> None:
    """The optimizer's update, and in the same pass over memory the matrices rounded for the next step."""
    optimizer.update(gradients, number, factor)
    rounded.copy_(optimizer.matrices.values)
