"""The complete config of a run, re-runnable from its JSON.

>>> config = RunConfig(task="add%101", train="D4", test="B5..7")
>>> config.name, config.spec.layout, [str(d) for d in config.spec.tests]
('add-mod-101-D4-learned-s0', 'padded', ['B5', 'B6', 'B7'])
"""

import re
from functools import cached_property
from typing import Annotated, Any, Self

import tyro
from pydantic import Field, model_validator

from lengthwise.config import Config
from lengthwise.errors import InputError
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.model.config import ModelConfig
from lengthwise.records.spec import RunSpec
from lengthwise.theory.encodings import check_layout, encoding_facts, layout_facts
from lengthwise.tokens.config import DataConfig
from lengthwise.training.config import TrainingConfig

DEFAULT_TEST = "(default: lengths 1 to five above the trained ones)"
DEFAULT_LAYOUT = "(default: the encoding's natural one)"


class RunConfig(Config):
    """What to learn, where, with which positions, and how."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help_behavior_hint="(required)")]
    """Operation and modulus: add, mul, add%101, mul%150."""

    train: str = "D4"
    """Training domain: D4, B4, 40x2, D4+D5, 0.6*D6+0.4*D7, D1..4, 1..40x2, D4[lead>=6]."""

    test: Annotated[str | None, tyro.conf.arg(metavar="DOMAINS", help_behavior_hint=DEFAULT_TEST)] = None
    """Test domains, a row each: D1..9, B5,B6."""

    encoding: str = "learned"
    """Positional encoding: none, learned, sinusoidal, rotary, alibi, t5, shaw, fire, abacus, coupled, or
    randomized:NAME for one that is numbered by index (docs/encodings.md)."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint=DEFAULT_LAYOUT)] = None
    """How a problem becomes tokens: padded, aligned, descending, reversed, level, plain, scratchpad."""

    base: int = 10
    """Number base, 2 to 36."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Everything random in a run derives from it."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _everything_reads(self) -> Self:
        """Bad names and domains are refused when a config is made, not when it is used."""
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
        self.evaluation.check(self.spec.task)
        return self

    @cached_property
    def spec(self) -> RunSpec:
        """What the run asks, and what theory says of that."""
        return RunSpec.of(self.model_dump(mode="json"))

    @property
    def operand_width(self) -> int:
        return self.data.operand_width or max(domain.length for domain in self.spec.measured_domains())

    @property
    def answer_width(self) -> int:
        return self.data.answer_width or self._longest_answer

    @property
    def _longest_answer(self) -> int:
        """Its digits. Where one operand is short in all domains, and no other problems are asked, these are fewer
        than two operands of that width may give. Steps before the answer are always as many as these need."""
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
        words = f"{self.task.replace('%', '-mod-')}-{self.train}{base}-{written}-s{self.seed}"
        return re.sub(r"[^A-Za-z0-9.+=-]+", "_", words)

    def changed(self, **changes: object) -> Self:
        """A copy with changes, validated anew; a dict changes the fields of an inner config."""
        content = self.model_dump()
        for key, value in changes.items():
            content[key] = {**content[key], **value} if isinstance(value, dict) else value
        return type(self)(**content)


def read_config(content: Any, place: str) -> RunConfig:
    """A config from parsed JSON; an error names its place."""
    try:
        return RunConfig(**content)
    except (InputError, TypeError) as error:
        raise InputError(f"{place} is not a run config: {error}") from None


def completed(content: dict[str, Any]) -> dict[str, Any]:
    """A stored config with what it leaves out filled in, as an earlier version may not have known of it."""
    return read_config(content, "config.json").model_dump(mode="json")
