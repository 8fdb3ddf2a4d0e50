"""Training steps on a GPU as CUDA graphs: everything about speed on a GPU is in this file.

A step is launched as one recorded graph: no Python, no launch gaps. Data come from a second graph that makes
the batches of a whole window of steps at once. Forward and backward pass are compiled; the matrices are cast
to bfloat16 in one pass, and their gradients come back as one tensor.

Shapes: M members, B problems of a step, T tokens, W steps of a window, N parameters of a member.
"""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from lengthwise.model.gpt import GPT
from lengthwise.training.data import Batch, TrainingData
from lengthwise.training.optimizer import Optimizer
from lengthwise.training.trainer import Dropout, Factors, Steps, answer_losses

WINDOW = 32
WARM_UP = 3  # calls before capture: compilation, workspaces, autotuning


# Compiled programs outlive a process where the user's caches are, so that the same shape compiles once.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path.home() / ".cache" / "lengthwise" / "compiled"))


COMPILED: dict[str, Any] = {"fullgraph": True, "dynamic": False}
MOST_SHAPES = 3
"""Shapes of stacks with compiled programs at a time: the compiler keeps eight variants of a function, of which a
shape needs up to two."""
_compiled: dict[str, GPT] = {}


class GraphSteps(Steps):
    """Built with data that make WINDOW batches at a call. Training state is as it was after the capture."""

    most = WINDOW

    def __init__(self, model: GPT, data: TrainingData, optimizer: Optimizer, batch: int, dropout: Dropout) -> None:
        super().__init__(model, data, optimizer, batch, dropout)
        device = model.device
        self.first_problem = torch.zeros((), dtype=torch.long, device=device)
        self.cursor = torch.zeros(1, dtype=torch.long, device=device)
        self.numbers = torch.ones(WINDOW, device=device)
        self.factors = torch.zeros(WINDOW, model.members, device=device)
        self.rounded = optimizer.matrices.values.to(model.compute_dtype)
        made = data(self.first_problem)
        self.window = made._replace(**{name: part.clone() for name, part in _tensors(made).items()})
        self.program = compiled_model(model, (batch, *made.ids.shape[2:]))
        self.update = torch.compile(_update, **COMPILED)
        # Capture both graphs, and undo what warming up did to the state.
        model.train()
        mutable = [*(group.values for group in optimizer.groups), *self.state().values(), self.cursor]
        kept = [tensor.clone() for tensor in mutable]
        self.fill, self.step = _capture(self._fill_window), _capture(self._one_step)
        for tensor, before in zip(mutable, kept, strict=True):
            tensor.copy_(before)

    def take(self, first: int, factors: Factors) -> None:
        steps = torch.arange(first, first + WINDOW)
        self.rounded.copy_(self.optimizer.matrices.values)
        self.numbers.copy_(steps + 1)
        self.factors[: len(factors)] = torch.tensor(factors).view(len(factors), -1)
        self.first_problem.fill_(first * self.batch)
        self.cursor.zero_()
        self.fill.replay()
        for _ in factors:
            self.step.replay()

    def _fill_window(self) -> None:
        fresh = _tensors(self.data(self.first_problem))
        for name, held in _tensors(self.window).items():
            held.copy_(fresh[name])

    def _one_step(self) -> None:
        leaves = [t.detach().requires_grad_() for t in (self.optimizer.others.values, self.rounded)]
        others, matrices = self.optimizer.groups
        # The compiled model as a function of the flat parameters, the matrices in the compute dtype.
        weights = {**dict(self.model.named_buffers()), **others.named(leaves[0]), **matrices.named(leaves[1])}
        number, factor = (table.index_select(0, self.cursor) for table in (self.numbers, self.factors))
        losses = answer_losses(
            lambda ids, positions, **rest: functional_call(self.program, weights, (ids, positions), rest),
            self._current_batch(),
            self.dropout(number.long() - 1),
        )
        gradients = torch.autograd.grad(losses.sum(), leaves)
        self.update(self.optimizer, self.rounded, list(gradients), number, factor.mT)
        self.losses.add(losses.detach())
        self.cursor += 1

    def _current_batch(self) -> Batch:
        """The cursor's batch of the window. What differs from problem to problem, [M or 1, W B, T], is cut; what
        all steps share is not."""
        cut = {
            name: part.unflatten(1, (WINDOW, self.batch)).index_select(1, self.cursor).squeeze(1)
            for name, part in _tensors(self.window).items()
            if part.dim() == 3 and part.shape[1] > 1
        }
        return self.window._replace(**cut)


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


def _tensors(batch: Batch) -> dict[str, Tensor]:
    """Its tensors, by name."""
    return {name: part for name, part in batch._asdict().items() if isinstance(part, Tensor)}


def _capture(work: Callable[[], None]) -> torch.cuda.CUDAGraph:
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph
