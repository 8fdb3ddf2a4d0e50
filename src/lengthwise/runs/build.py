"""From configs to objects: layout, model and data; and which configs can train together as a stack."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, final

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lengthwise.errors import InputError
from lengthwise.evaluation.problems import Drawing, Member, Subject
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import find_encoding
from lengthwise.runs.config import RunConfig
from lengthwise.runs.machine import FLOAT, SMALLER_MODEL, parameter_count, refuse_beyond, training_memory
from lengthwise.theory.encodings import layout_facts
from lengthwise.tokens.hashing import derive
from lengthwise.tokens.layouts import build_layout
from lengthwise.tokens.sampling import Stream
from lengthwise.training.data import TrainingData, problems_per_row, row_length
from lengthwise.training.optimizer import Optimizer
from lengthwise.training.trainer import Dropout, PlainSteps, Steps

log = logging.getLogger(__name__)


class Form:
    """The layouts of a run in evaluation and in training, and the number of positions they need."""

    def __init__(self, config: RunConfig) -> None:
        spec, encoding = config.spec, find_encoding(config.encoding)
        self.layout = build_layout(spec.layout, spec.task, config.operand_width, config.answer_width)
        self.training = self.layout
        if not self.layout.fixed_width:  # then training rows are only as wide as training needs
            self.training = build_layout(spec.layout, spec.task, *_training_widths(config))
        self.row_tokens = row_length(self.training, config.data)
        """Tokens of a training row, including padding."""
        widest = [max(own.operand_width, own.answer_width) for own in (self.training, self.layout)]
        self.training_positions = encoding.needs(self.row_tokens, widest[0])
        self.positions = encoding.needs(max(self.layout.length, self.row_tokens), widest[1])
        """Positions that the longest sequence needs, in evaluation or training."""
        self.position_rows = config.model.context or encoding.default_rows(self.positions)
        """Positions of the model: as configured, or the encoding's default."""


def _training_widths(config: RunConfig) -> tuple[int, int]:
    """The number of digits of the longest operand and answer in training."""
    domain, task = config.spec.train, config.spec.task
    if layout_facts(config.spec.layout).levels_answers:
        # As wide as in evaluation, even if one operand is always short in training.
        return domain.length, min(task.answer_digits(domain.length), config.answer_width)
    return domain.length, domain.answer_digits(task)


@dataclass(frozen=True)
class Stack(Subject):
    """Runs that train and are measured as one program. Their configs differ only in what `stack_key` leaves
    out."""

    model: GPT
    configs: Sequence[RunConfig] = ()

    @property
    def config(self) -> RunConfig:
        """The first config, for what all have in common."""
        return self.configs[0]

    @property
    def device(self) -> torch.device:
        return self.model.device

    def after(self, steps: Sequence[int]) -> "Stack":
        """The same stack with each member's number of steps."""
        draws = self.config.training.batch * problems_per_row(Form(self.config).training, self.config.data)
        members = zip(self.members, steps, strict=True)
        return replace(self, members=[replace(one, step=step, draws=step * draws) for one, step in members])

    def drawing(self, count: int) -> Drawing:
        """How `count` test problems are drawn for each member."""
        seeds = [config.seed for config in self.configs]
        return Drawing(seeds, self.layout.operand_width, self.config.base, count, self.device)


Module = Callable[[int, int], nn.Module]
"""Builds a custom network, from ids [B, T] to logits [B, T, V], for a vocabulary size and a longest sequence."""


def build(
    configs: Sequence[RunConfig],
    device: torch.device,
    names: Sequence[str] | None = None,
    *,
    module: Module | None = None,
) -> Stack:
    """A stack with new weights; runs have the names of their configs unless others are given. A `module` replaces
    the config's model by a custom network."""
    first, form = configs[0], Form(configs[0])
    assert all(stack_key(config) == stack_key(first) for config in configs), "members of a stack differ"
    layout, vocabulary = form.layout, len(form.layout.vocabulary)
    weights = FLOAT * parameter_count(first.model, vocabulary, form.position_rows)
    refuse_beyond({SMALLER_MODEL: len(configs) * weights}, device, len(configs))
    seeds = [derive(config.seed, "initialisation") for config in configs]
    model = GPT(first.model, first.encoding, vocabulary, form.position_rows, seeds)
    model.encoding.check(form.positions)
    if first.evaluation.offsets is not None and model.encoding.rows is None:
        raise InputError(f"evaluation.offsets cannot be used with encoding {first.encoding!r}, which has no table")
    names = [config.name for config in configs] if names is None else names
    log.info("%s: %d x %s parameters on %s", names[0], len(configs), f"{model.parameter_count():,}", device)
    runs = zip(names, configs, strict=True)
    members = [Member(name, c.seed, c.spec.task, c.spec.train, data=c.data) for name, c in runs]
    stack = Stack(model.to(device), layout, model.encoding, members, configs)
    if module is None:
        return stack
    for name in ("anatomy", "offsets"):
        if getattr(first.evaluation, name) is not None:
            raise InputError(f"evaluation.{name} cannot be used with a custom module, whose attention is unknown")
    return replace(stack, model=as_gpt(Single(module(vocabulary, layout.length)).to(device)))


@final
class Single(nn.Module):
    """Any module [B, T] -> [B, T, V] as a stack of one, which trains, is scored and is asked as a `GPT` is. Its
    parameters and buffers get the member axis of a stack, and it numbers tokens by itself. `logits` takes the
    logits out of what it returns, where that is more.

    >>> model = Single(nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16)))
    >>> model(torch.zeros(1, 5, 9, dtype=torch.long)).shape
    torch.Size([1, 5, 9, 16])
    >>> model.get_parameter("1/weight").shape
    torch.Size([1, 16, 8])
    """

    members = 1

    def __init__(self, module: nn.Module, logits: Callable[[Any], Tensor] = lambda returned: returned) -> None:
        super().__init__()
        self._module, self._logits = (module,), logits  # in a tuple it is no part of this one
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        self._names = {name: name.replace(".", "/") for name in tensors}
        for name, tensor in tensors.items():
            if tensor.requires_grad:
                self.register_parameter(self._names[name], nn.Parameter(tensor.detach()[None]))
            else:
                self.register_buffer(self._names[name], tensor[None])

    def forward(
        self,
        ids: Tensor,
        positions: Tensor | None = None,
        *,
        tail: int | None = None,
        cache: list[Tensor] | None = None,
        noise: object = None,
        problem: Tensor | None = None,
    ) -> Tensor:
        """As `GPT.forward`: logits [1, B, T or tail, V] of ids [1, B, T]."""
        count = tail or ids.shape[-1]
        if cache is not None:
            cache.append(ids)
            ids = torch.cat(cache, -1)
        tensors = {name: getattr(self, own)[0] for name, own in self._names.items()}
        returned = functional_call(self._module[0], tensors, (ids[0],))
        return self._logits(returned)[None, :, -count:].float()

    def train(self, mode: bool = True) -> "Single":
        self._module[0].train(mode)
        return super().train(mode)

    def cache(self, batch: int, length: int) -> list[Tensor]:
        """All ids so far, which are read again."""
        return []

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def as_gpt(model: Single) -> GPT:
    """A cast for the type checker: a Single has the methods of a GPT that are used here."""
    return cast(GPT, model)


def check_memory(configs: Sequence[RunConfig], device: torch.device) -> None:
    """Raise an InputError if training cannot fit into memory, before anything is built."""
    first, form = configs[0], Form(configs[0])
    parameters = parameter_count(first.model, len(form.layout.vocabulary), form.position_rows)
    refuse_beyond(training_memory(first, parameters, form.row_tokens, len(configs), device), device, len(configs))


def training_steps(stack: Stack, kind: str | None = None) -> Steps:
    """The fastest training steps for this stack and device, or those of a kind: plain, compiled, fused."""
    configs, model, batch = stack.configs, stack.model, stack.config.training.batch
    optimizer = Optimizer(model, [config.training for config in configs])
    keys = [derive(config.seed, "dropout") for config in configs]
    dropout = Dropout(keys, [config.model.dropout for config in configs], stack.device)
    plain = stack.device.type != "cuda" or isinstance(model, Single)
    if kind == "plain" or (plain and kind is None):
        return PlainSteps(model, training_data(stack, batch), optimizer, batch, dropout)
    from lengthwise.training import graph  # noqa: PLC0415 (needs a GPU)

    fused = graph.suits(model, Form(stack.config).row_tokens) if kind is None else kind == "fused"
    log.info("%s the training step and capturing its graph", "preparing" if fused else "compiling")
    data = training_data(stack, graph.WINDOW * batch)
    return (graph.FusedSteps if fused else graph.CompiledSteps)(model, data, optimizer, batch, dropout)


def training_data(stack: Stack, rows: int) -> TrainingData:
    config, form = stack.config, Form(stack.config)
    offsets = stack.encoding.offsets(form.position_rows, form.training_positions) if config.data.offsets else 1
    return TrainingData(
        [Stream(c.seed, c.spec.train) for c in stack.configs],
        [c.spec.task for c in stack.configs],
        form.training,
        stack.encoding,
        config=config.data,
        batch=rows,
        offsets=offsets,
        device=stack.device,
    )


def tokens_per_step(stack: Stack) -> int:
    """Tokens per step of one member, including padding."""
    return stack.config.training.batch * Form(stack.config).row_tokens


def stack_key(config: RunConfig) -> str:
    """A key that is equal for runs that can train as a stack: everything but task, training domain, seed, learning
    rates, weight decay and dropout is the same.

    In layouts of variable length, the longest training problems must also have the same length; where the task
    decides what is written, such as intermediate steps or leading zeros, it must be the same.
    """
    content, facts = config.model_dump(mode="json"), layout_facts(config.spec.layout)
    content |= {
        "task": config.task if facts.with_steps or facts.levels_answers else "",
        "train": "" if facts.fixed_width else _training_widths(config),
        "test": [str(domain) for domain in config.spec.tests],
        "seed": 0,
    }
    content["model"]["dropout"] = None
    content["data"] |= {"operand_width": config.operand_width, "answer_width": config.answer_width}
    content["training"] |= dict.fromkeys(("learning_rate", "muon_learning_rate", "weight_decay"))
    return json.dumps(content)
