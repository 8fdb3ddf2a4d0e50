"""What is measured during and after training."""

from pydantic import PositiveInt

from lengthwise.config import Config


class EvaluationConfig(Config):
    problems: PositiveInt = 10_000
    """Problems of a domain that is too large to be tested whole."""

    interim_problems: PositiveInt = 1_000
    """Problems of a domain at evaluations during training, where fewer do; and of each digit that `dynamics` or
    `dependence` looks at."""

    digits: bool = False
    """Digit-wise accuracy at every evaluation, not only at the last."""

    dynamics: bool = False
    """At every evaluation, how well each answer digit is told by its own column and the carry of the one below
    (R2 of a decision tree)."""

    dependence: bool = False
    """After training, how often each operand digit changes each answer digit."""
