"""What is measured during and after training."""

from typing import Literal

from pydantic import PositiveInt

from lengthwise.arithmetic import Task
from lengthwise.config import Config
from lengthwise.errors import InputError
from lengthwise.theory.hypotheses import Hypothesis

SetName = Literal["lopsided", "carry", "alternating"]


class EvaluationConfig(Config):
    problems: PositiveInt = 10_000
    """Problems of a domain that is too large to be tested whole."""

    interim_problems: PositiveInt = 1_000
    """Problems of a domain at evaluations during training, where fewer do; and of each digit that `dynamics` or
    `dependence` looks at."""

    details: bool = True
    """Whether to measure, after training, also each digit alone, the probability of whole answers, and what of it
    lies outside the digits that training showed; without, exact match and loss, as during training."""

    digits: bool = False
    """Digit-wise accuracy at every evaluation, not only at the last."""

    dynamics: bool = False
    """At every evaluation, how well each answer digit is told by its own column and the carry of the one below
    (R2 of a decision tree)."""

    dependence: bool = False
    """After training, how often each operand digit changes each answer digit."""

    chains: bool = False
    """After training, exact match by longest carry chain, on problems that have every chain alike (add)."""

    pairs: PositiveInt | None = None
    """After training, so many problems for every pair of operand lengths; of widths above 30, for some lengths."""

    sets: tuple[SetName, ...] = ()
    """After training, special problems of every tested length: one operand short, a carry through the whole
    number, carries at every other digit (add without modulus)."""

    decoded: PositiveInt | None = None
    """After training, so many problems of every test domain by real decoding too."""

    anatomy: PositiveInt | None = None
    """After training, so many problems of every test domain looked at from inside: where the first wrong digit
    falls, the margin of right digits, and where attention goes (evaluation/anatomy.py)."""

    hypotheses: tuple[str, ...] = ()
    """After training, agreement with further functions on every test domain: truncated:3, windowed:4, leading:2,
    folded:2 (theory/hypotheses.py); by longest carry chain too where that is asked for."""

    @property
    def leaves_domains(self) -> bool:
        """Whether problems are asked that need not belong to any domain of the run."""
        return self.dynamics or self.dependence or self.pairs is not None or bool(self.sets)

    def check(self, task: Task) -> None:
        """Refuse what has no meaning for a task."""
        for name in self.hypotheses:
            Hypothesis.parse(name).check(task)
        if self.chains and task.operation != "add":
            raise InputError(f"evaluation.chains is set for {task}: allowed is addition, which has carry chains")
        if self.sets and (task.operation != "add" or task.modulus is not None):
            raise InputError(f"evaluation.sets is set for {task}: allowed is add without a modulus")
