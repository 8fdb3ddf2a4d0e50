"""Where problems come from and how wide their numbers are written."""

from typing import Literal, Self

from pydantic import PositiveInt, model_validator

from lengthwise.config import Config
from lengthwise.errors import InputError


class DataConfig(Config):
    sampling: Literal["uniform", "paper", "balanced", "chains"] = "uniform"
    """How problems are drawn: all pairs alike, the paper's coin, all pairs of operand lengths alike, or all
    lengths of the longest carry chain alike."""

    samples: PositiveInt | None = None
    """Train on a fixed set of this many distinct problems, nine tenths of it; by default on fresh ones."""

    operand_width: PositiveInt | None = None
    """Digits an operand is padded to; by default the longest length trained or tested."""

    answer_width: PositiveInt | None = None
    """Digits an answer is padded to; by default what the longest answer needs."""

    packing: Literal["lines", "concatenated"] = "lines"
    """What a training row holds: one problem, padded to the longest, or problems one after another without
    padding, the last one cut where the row ends. Evaluation always puts one problem alone."""

    row_tokens: PositiveInt | None = None
    """Tokens of a row where problems are concatenated; by default four times the longest problem's."""

    @model_validator(mode="after")
    def _rows_are_concatenated(self) -> Self:
        if self.row_tokens is not None and self.packing == "lines":
            raise InputError(f"row_tokens {self.row_tokens} without concatenated problems: allowed is with them")
        return self
