"""What is measured during and after training."""

from typing import Literal

from lengthwise.arithmetic import Task
from lengthwise.config import Config, Count
from lengthwise.errors import InputError
from lengthwise.theory.hypotheses import Hypothesis

SetName = Literal["lopsided", "carry", "alternating", "repeated", "zeros", "sparse"]


class EvaluationConfig(Config):
    problems: Count = 10_000
    """Number of problems per domain that is too large to be tested whole."""

    interim_problems: Count = 1_000
    """Number of problems per domain at evaluations during training, and per digit for `dynamics` and
    `dependence`."""

    details: bool = True
    # Its flag is --evaluation.no-details, which the words are for.
    """Measure exact match and loss alone after training, as during it: not each digit, the probability of whole
    answers, and how much of it lies outside the digits that training showed."""

    digits: bool = False
    """Measure digit-wise accuracy at every evaluation, not only at the last."""

    dynamics: bool = False
    """Measure at every evaluation how well its own column and the carry of the one below explain each answer digit
    (R2 of a decision tree)."""

    dependence: bool = False
    """Measure after training how often each operand digit changes each answer digit."""

    chains: bool = False
    """Measure exact match by longest carry chain after training, on equally many problems of each (add without
    modulus)."""

    pairs: Count | None = None
    """Number of problems for each pair of operand lengths, measured after training; above 30 digits not every
    length is taken."""

    sets: tuple[SetName, ...] = ()
    """Special problems of every tested length, measured after training: one operand short, a carry through the
    whole number, carries at every other digit, one digit all along, a run of zeros, mostly zeros (add without
    modulus)."""

    changed_digits: Count | None = None
    """Number of problems per test domain in which one answer digit is replaced, after training, to see whether the
    next digit follows it or the operands (add without modulus, answers from the lowest digit on)."""

    decoded: Count | None = None
    """Number of problems per test domain to answer by real decoding too, after training."""

    anatomy: Count | None = None
    """Number of problems per test domain to analyse internally after training: where the first wrong digit falls,
    the margin of right digits, and where attention goes (evaluation/anatomy.py)."""

    hypotheses: tuple[str, ...] = ()
    """Further functions to compare answers with on every test domain, after training: truncated:3, windowed:4,
    leading:2, folded:2 (theory/hypotheses.py); by longest carry chain too where that is asked for."""

    @property
    def leaves_domains(self) -> bool:
        """Whether problems are asked that need not belong to any domain of the run."""
        return self.dynamics or self.dependence or self.pairs is not None or bool(self.sets)

    def check(self, task: Task) -> None:
        """Refuse what has no meaning for a task."""
        for name in self.hypotheses:
            Hypothesis.parse(name).check(task)
        for name in ("chains", "sets", "changed_digits"):
            if getattr(self, name) and not task.plain_sum:
                raise InputError(f"evaluation.{name} requires add without a modulus, not {task}")
