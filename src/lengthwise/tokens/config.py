"""Where problems come from and how wide their numbers are written."""

from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from lengthwise.arithmetic.domain import MAX_LENGTH
from lengthwise.config import Config, Count
from lengthwise.errors import InputError


class SparseDigits(NamedTuple):
    """A curriculum inside the training domain: problems with many zeros first."""

    share: float
    """The probability that a free digit of the first problem is set to zero."""
    problems: int
    """Over this many problems that probability falls linearly to 0."""


class DataConfig(Config):
    sampling: Literal["uniform", "paper", "balanced", "chains"] = "uniform"
    """How problems are drawn: all pairs alike, the paper's coin, all pairs of operand lengths alike, or all
    lengths of the longest carry chain alike."""

    sparse: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Curriculum of sparse digits: the probability with which each free digit of a training problem is set to zero
    at the start. It falls linearly to 0; no problem leaves the training domain. A fixed set of samples, and
    sampling by carry chains, stay as they are."""

    sparse_problems: Count = 3_500_000
    """Training problems over which that probability falls to 0."""

    samples: Count | None = None
    """Train on a fixed set of this many distinct problems, nine tenths of it; by default on fresh ones."""

    operand_width: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None
    """Digits an operand is padded to; by default the longest length trained or tested."""

    answer_width: Annotated[int, Field(ge=1, le=2 * MAX_LENGTH)] | None = None
    """Digits an answer is padded to; by default what the longest answer needs."""

    packing: Literal["lines", "concatenated"] = "lines"
    """What a training row holds: one problem, padded to the longest, or problems one after another without
    padding, the last one cut where the row ends. Evaluation always puts one problem alone."""

    row_tokens: Count | None = None
    """Tokens of a row where problems are concatenated; by default four times the longest problem's."""

    @property
    def sparse_digits(self) -> SparseDigits | None:
        """None where problems are given, or chosen by their carries, which zeros would change."""
        applies = self.sparse and self.samples is None and self.sampling != "chains"
        return SparseDigits(self.sparse, self.sparse_problems) if applies else None

    @model_validator(mode="after")
    def _rows_are_concatenated(self) -> Self:
        if self.row_tokens is not None and self.packing == "lines":
            raise InputError("row_tokens requires packing concatenated")
        return self
