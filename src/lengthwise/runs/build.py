"""From configs to the objects they describe: layout, encoding, model, data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lengthwise.errors import InputError
from lengthwise.model.gpt import GPT
from lengthwise.model.positions import Encoding, find_encoding
from lengthwise.runs.config import RunConfig
from lengthwise.theory.encodings import layout_facts
from lengthwise.tokens.counter import derive
from lengthwise.tokens.layouts import Layout, build_layout
from lengthwise.training.data import TrainingData, TrainingMember, row_length
from lengthwise.training.optimizer import Optimizer
from lengthwise.training.steps import Dropout, PlainSteps, Steps


@dataclass(frozen=True)
class Parts:
    """The objects of a stack. Its configs differ in what `stack_key` leaves out alone."""

    configs: Sequence[RunConfig]
    layout: Layout
    encoding: Encoding
    model: GPT

    @property
    def seeds(self) -> list[int]:
        return [config.seed for config in self.configs]


def build(configs: Sequence[RunConfig], device: torch.device) -> Parts:
    first = configs[0]
    assert all(stack_key(config) == stack_key(first) for config in configs), "members of a stack differ"
    layout = build_layout(first.resolved_layout, first.task_object, first.operand_width, first.answer_width)
    needed = positions_needed(first, layout)
    model = GPT(
        first.model,
        first.encoding,
        len(layout.vocabulary),
        position_rows(first, needed),
        [derive(config.seed, "initialisation") for config in configs],
    )
    model.encoding.check(needed)
    return Parts(configs, layout, model.encoding, model.to(device))


def training_steps(parts: Parts, *, plain: bool = False) -> Steps:
    """The fastest way to train this stack where it is; `plain` asks for the readable one."""
    config, model = parts.configs[0].training, parts.model
    optimizer = Optimizer(model, [c.training for c in parts.configs])
    keys = [derive(seed, "dropout") for seed in parts.seeds]
    dropout = Dropout(keys, [c.model.dropout for c in parts.configs], model.device)
    if plain or model.device.type != "cuda":
        return PlainSteps(model, training_data(parts, config.batch), optimizer, config.batch, dropout)
    from lengthwise.training.graph import WINDOW, GraphSteps  # noqa: PLC0415 (needs a GPU)

    data = training_data(parts, WINDOW * config.batch)
    return GraphSteps(model, data, optimizer, config.batch, dropout)


def training_data(parts: Parts, rows: int) -> TrainingData:
    first = parts.configs[0]
    layout = training_layout(first, parts.layout)
    there = position_rows(first, positions_needed(first, parts.layout))
    return TrainingData(
        [TrainingMember(c.seed, c.task_object, c.train_domain) for c in parts.configs],
        layout,
        parts.encoding,
        config=first.data,
        batch=rows,
        offsets=parts.encoding.offsets(there, _positions_of(first, layout, row_length(layout, first.data))),
        device=parts.model.device,
    )


def tokens_per_step(parts: Parts) -> int:
    """Of one member, padding included."""
    config = parts.configs[0]
    return config.training.batch * row_length(training_layout(config, parts.layout), config.data)


def training_layout(config: RunConfig, layout: Layout) -> Layout:
    """A layout whose problems differ in length has no room in training for more than is trained on."""
    if layout.fixed_width:
        return layout
    return build_layout(config.resolved_layout, config.task_object, *_training_widths(config))


def _training_widths(config: RunConfig) -> tuple[int, int]:
    """Digits of the longest operand and answer of training."""
    domain, task = config.train_domain, config.task_object
    if layout_facts(config.resolved_layout).levels_answers:
        # As wide as evaluation writes them, also where one operand is short throughout training.
        return domain.length, min(task.answer_digits(domain.length), config.answer_width)
    return domain.length, domain.answer_digits(task)


def positions_needed(config: RunConfig, layout: Layout) -> int:
    """How many positions the longest sequence takes up, in evaluation or in training."""
    longest = max(layout.length, row_length(training_layout(config, layout), config.data))
    return _positions_of(config, layout, longest)


def _positions_of(config: RunConfig, layout: Layout, tokens: int) -> int:
    digits = max(layout.operand_width, layout.answer_width)
    return find_encoding(config.encoding).needs(tokens, digits)


def position_rows(config: RunConfig, needed: int) -> int:
    """Positions there are: as configured, or what the encoding takes by default."""
    return config.model.context or find_encoding(config.encoding).default_rows(needed)


def stack_key(config: RunConfig) -> str:
    """Runs of equal key can train side by side: all but task, training domain, seed, learning rates,
    weight decay and dropout is the same.

    Where problems differ in length, the longest ones of training have to be as long too; where the task decides
    what is written, as intermediate steps or zeros above an answer, it is the same.
    """
    content, facts = config.model_dump(mode="json"), layout_facts(config.resolved_layout)
    own = {
        "task": config.task if facts.with_steps or facts.levels_answers else "",
        "train": "" if facts.fixed_width else _training_widths(config),
        "test": [str(domain) for domain in config.test_domains],
        "seed": 0,
    }
    widths = {"operand_width": config.operand_width, "answer_width": config.answer_width}
    rates = dict.fromkeys(("learning_rate", "muon_learning_rate", "weight_decay"))
    shape = {
        "model": {**content["model"], "dropout": None},
        "data": {**content["data"], **widths},
        "training": {**content["training"], **rates},
    }
    return json.dumps({**content, **own, **shape})


def wait_for(device: torch.device) -> None:
    """Until all work given to the device is done, as a clock must."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def choose_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device {name!r}: allowed are auto, cpu, cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {name!r} is not there: allowed here are auto, cpu")
    if device.type not in ("cpu", "cuda"):
        raise InputError(f"device {name!r} is not supported: allowed are auto, cpu, cuda")
    return device
