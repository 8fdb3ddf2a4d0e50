"""Measuring a stack: exact match, digits, probabilities, and how answers fail. Here, the config: what is measured.

Importing this package imports no torch.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lengthwise.arithmetic import Task
from lengthwise.config import Config, Count
from lengthwise.errors import InputError
from lengthwise.theory.encodings import ENCODING_FACTS, encoding_facts
from lengthwise.theory.hypotheses import Hypothesis

TEXT_PROBLEMS = 1_000
"""Number of problems per test domain for text models, which are slow."""

SetName = Literal["lopsided", "carry", "alternating", "repeated", "zeros", "sparse"]


class EvaluationConfig(Config):
    problems: Count = 10_000
    """Number of problems per test domain; domains of up to 10,000 pairs are tested completely."""

    interim_problems: Count = 1_000
    """Number of problems per test domain in evaluations during training, and per digit for `dynamics` and
    `dependence`."""

    details: bool = True
    # The command line has --evaluation.no-details, which this text describes.
    """After training, measure only exact match and loss, as during training: not the accuracy of each digit, the
    probability of whole answers, and the probability of digits that training never showed."""

    digits: bool = False
    """Measure the accuracy of each digit at every evaluation, not only at the last."""

    dynamics: bool = False
    """Measure at every evaluation how well its own column and the carry from the column below explain each answer
    digit (R2 of a decision tree)."""

    dependence: bool = False
    """After training, measure how often replacing an operand digit changes each answer digit."""

    chains: bool = False
    """After training, measure exact match by the length of the longest carry chain, on equally many problems for
    each (add without modulus)."""

    pairs: Count | None = None
    """Number of problems for each pair of operand lengths, after training; above 30 digits, for a selection of
    lengths."""

    sets: tuple[SetName, ...] = ()
    """Special problems of every tested length, after training. lopsided: one operand is short; carry: a carry goes
    through the whole number; alternating: every other digit carries; repeated: operands repeat one digit; zeros: a
    run of zeros; sparse: mostly zeros (add without modulus)."""

    changed_digits: Count | None = None
    """Number of problems per test domain in which one answer digit is replaced, after training, to see whether the
    carry into the next column follows it or the operands (add without modulus, answers with the lowest digit
    first)."""

    decoded: Count | None = None
    """Number of problems per test domain to decode token by token as well, after training."""

    offsets: Count | None = None
    """Number of problems per test domain to repeat at ten offsets of their positions, after training, and again
    with far digits hidden from attention (encodings abacus and coupled; evaluation/probes.py). Training draws
    offsets at random; other tests leave them at 0."""

    anatomy: Count | None = None
    """Number of problems per test domain to analyse internally after training: the position of the first wrong
    digit, the margin of right digits, and where attention goes (evaluation/anatomy.py)."""

    hypotheses: tuple[str, ...] = ()
    """Further functions to compare answers with on every test domain, after training: truncated:3, windowed:4,
    leading:2, folded:2 (theory/hypotheses.py). With `chains`, also by longest carry chain."""

    @property
    def leaves_domains(self) -> bool:
        """Whether some measurements use problems outside the run's domains."""
        return self.dynamics or self.dependence or self.pairs is not None or bool(self.sets)

    def check(self, task: Task, encoding: str) -> None:
        """Raise an InputError where an option is not defined for the task or the encoding."""
        for name in self.hypotheses:
            Hypothesis.parse(name).check(task)
        for name in ("chains", "sets", "changed_digits"):
            if getattr(self, name) and not task.plain_sum:
                raise InputError(f"evaluation.{name} requires add without a modulus, not {task}")
        if self.offsets and not encoding_facts(encoding).couples_digits:
            fitting = ", ".join(name for name, own in ENCODING_FACTS.working().items() if own.couples_digits)
            raise InputError(
                f"evaluation.offsets cannot be used with encoding {encoding!r}, which has no offsets "
                f"(choose from {fitting})"
            )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Options for Hugging Face models: the task, and how problems are written as text."""

    hf: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Measure the model in this Hugging Face folder: any causal LM, asked in text with its own tokenizer. A folder
    that `lengthwise export` wrote needs none of the options below."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """Operation and modulus: add, mul, sub, add%101, mul%150."""
    train: Annotated[str, tyro.conf.arg(metavar="DOMAIN")] = "D4"
    """Domain that the model is assumed to be trained on. Verdicts depend on it, and examples come from it."""
    encoding: str = "none"
    """Positional encoding of the model, for predictions; with none there are no predictions."""
    layout: str = "plain"
    """Layout to make predictions for."""
    base: int = 10
    """Number base, 2 to 36."""
    template: Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="(default: equation)")] = None
    """Prompt format: equation, spaced, question, or a text such as "{a}+{b}="."""
    reverse: bool = False
    """Read answers with the lowest digit first."""
    shots: int = 0
    """Number of examples before each problem."""
    trust_remote_code: bool = False
    """Allow the folder to run its own code."""

    @property
    def in_text(self) -> bool:
        """Whether the model is asked in text even if lengthwise exported it."""
        return self.task is not None or self.template is not None
