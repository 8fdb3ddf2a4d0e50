"""The complete config of a run, which can be run again from its JSON.

>>> config = RunConfig(task="add%101", train="D4", test="B5..7")
>>> config.name, config.spec.layout, [str(d) for d in config.spec.tests]
('add-mod-101-D4-learned-s0', 'padded', ['B5', 'B6', 'B7'])
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import tyro
from pydantic import Field, model_validator

from lengthwise.config import Config
from lengthwise.errors import InputError
from lengthwise.evaluation import EvaluationConfig
from lengthwise.model.config import ModelConfig
from lengthwise.records.spec import RunSpec
from lengthwise.theory.encodings import check_layout, encoding_facts, layout_facts
from lengthwise.tokens import DataConfig, check_sampling
from lengthwise.training import TrainingConfig

DEFAULT_TEST = "(default: lengths from 1 to 5 digits above training)"
DEFAULT_LAYOUT = "(default: the encoding's usual one)"

EARLIER_DEFAULTS: dict[str, dict[str, Any]] = {
    "model": {"dropout": 0.0, "tied": True, "embedding_std": 0.02, "position_std": None},
    "data": {"sparse": 0.0, "sparse_problems": 3_500_000},
    "training": {
        "weight_decay": 0.05,
        "schedule": "linear",
        "cooldown": 2_000,
        "batch": 256,
        "steps": 6_500,
        "target": None,
        "evaluate_every": 1_000,
        "checkpoint_every": 1_000,
    },
}
"""Defaults of version 0.1 that have changed since: a stored config without such a key still means this value."""


class RunConfig(Config):
    """The config of a run: task, domains, positions, model, data, training and evaluation. The defaults are those
    of `lengthwise train`: the preset `fast` at size mini."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help_behavior_hint="(required)")]
    """Operation and modulus: add, mul, sub, add%101, mul%150."""

    train: str = "D4"
    """Training domain: D4, B4, 40x2, D4+D5, 0.6*D6+0.4*D7, D1..4, 1..40x2, D4[lead>=6]."""

    test: Annotated[str | None, tyro.conf.arg(metavar="DOMAINS", help_behavior_hint=DEFAULT_TEST)] = None
    """Test domains, one row each: D1..9, B5,B6."""

    encoding: str = "learned"
    """Positional encoding: none, learned, sinusoidal, rotary, alibi, t5, shaw, fire, abacus, coupled, or
    randomized:NAME for one that numbers tokens by index (docs/encodings.md)."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint=DEFAULT_LAYOUT)] = None
    """How a problem is written as tokens: padded, aligned, descending, reversed, level, plain, scratchpad."""

    base: int = 10
    """Number base, 2 to 36."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Random seed of the whole run."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _everything_reads(self) -> Self:
        """Refuse bad names and domains when a config is made, not when it is used."""
        widest = max([self.spec.train.length, *(d.length for d in self.spec.tests)])
        if self.operand_width < widest:
            raise InputError(
                f"operand_width {self.operand_width} is less than the longest operand (must be {widest} or more)"
            )
        needed = self._longest_answer
        if self.data.answer_width is not None and self.data.answer_width < needed:
            raise InputError(
                f"answer_width {self.data.answer_width} is too narrow for {self.task} with operands of up to "
                f"{self.operand_width} digits (must be {needed} or more)"
            )
        check_layout(self.spec.layout, self.spec.task, self.encoding)
        check_sampling(self.data.sampling, self.spec.task)
        self.evaluation.check(self.spec.task, self.encoding)
        return self

    @cached_property
    def spec(self) -> RunSpec:
        """The question of the run, and its predictions."""
        return RunSpec.of(self.model_dump(mode="json"))

    @property
    def operand_width(self) -> int:
        return self.data.operand_width or max(domain.length for domain in self.spec.measured_domains())

    @property
    def answer_width(self) -> int:
        return self.data.answer_width or self._longest_answer

    @property
    def _longest_answer(self) -> int:
        """The number of digits of the longest answer. If one operand is short in all domains and no other problems
        are measured, that is less than for two operands of the full width. Layouts with intermediate steps always
        use the full width."""
        with_steps = layout_facts(self.spec.layout).with_steps
        if with_steps or self.data.operand_width is not None or self.evaluation.leaves_domains:
            return self.spec.task.answer_digits(self.operand_width)
        return max(domain.answer_digits(self.spec.task) for domain in self.spec.measured_domains())

    @property
    def name(self) -> str:
        """A folder name that says what the run is."""
        base = "" if self.base == 10 else f"-base{self.base}"
        natural = self.spec.layout == encoding_facts(self.encoding).layout
        written = self.encoding if natural else f"{self.encoding}-{self.layout}"
        return file_name(f"{self.task.replace('%', '-mod-')}-{self.train}{base}-{written}-s{self.seed}")

    def folder_name(self, name: str | None = None) -> str:
        """The given name, checked to be a folder name, or the run's own."""
        if name is None:
            return self.name
        if name in ("", "..") or Path(name).name != name:
            raise InputError(f"name {name!r} is not a folder name (no slashes, not empty)")
        return name

    def changed(self, **changes: object) -> Self:
        """A validated copy with changes; a dict changes fields of an inner config."""
        return type(self)(**merged(self.model_dump(), changes))

    @classmethod
    def stored(cls, **content: Any) -> Self:
        """A config from a run's config.json, which may be of an earlier version with fewer keys."""
        return cls(**merged(EARLIER_DEFAULTS, content))


def merged(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a config with changes; a dict changes fields of an inner config."""
    inner = {
        key for key, value in changes.items() if isinstance(value, dict) and isinstance(content.get(key), dict)
    }
    return {**content, **changes, **{key: {**content[key], **changes[key]} for key in inner}}


def file_name(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+=-]+", "_", words)


def read_config(content: Any, place: str) -> RunConfig:
    """A config from parsed JSON; an error message names the `place` it was read from."""
    try:
        return RunConfig.stored(**content)
    except (InputError, TypeError) as error:
        raise InputError(f"{place} is not a run config: {error}") from None


def completed(content: dict[str, Any]) -> dict[str, Any]:
    """A stored config with missing keys filled in, as it may be of an earlier version."""
    return read_config(content, "config.json").model_dump(mode="json")
