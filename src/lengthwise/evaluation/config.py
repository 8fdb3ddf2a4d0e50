"""What is measured during and after training."""

from pydantic import PositiveInt

from lengthwise.config import Config


class EvaluationConfig(Config):
    problems: PositiveInt = 10_000
    """Problems of a domain that is too large to be tested whole."""
