"""What is measured during and after training."""

from pydantic import BaseModel, ConfigDict, PositiveInt


class EvaluationConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    problems: PositiveInt = 10_000
    """Problems of a domain that is too large to be tested whole."""
