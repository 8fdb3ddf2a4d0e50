"""Where problems come from and how wide their numbers are written."""

from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from lengthwise.arithmetic.domain import MAX_LENGTH
from lengthwise.arithmetic.task import Task
from lengthwise.config import Config, Count
from lengthwise.errors import InputError


class SparseDigits(NamedTuple):
    """A curriculum inside the training domain: problems with many zeros first."""

    share: float
    """The probability that a free digit of the first problem is set to zero."""
    problems: int
    """Over this many problems that probability falls linearly to 0."""
    leads: bool = False
    """Whether the top digit of the shorter operand may be set to zero too."""


Sampling = Literal["uniform", "paper", "balanced", "chains"]


def check_sampling(sampling: Sampling, task: Task) -> None:
    """Refuse what has no meaning for a task."""
    if sampling == "chains" and task.operation != "add":
        raise InputError(f"sampling chains requires an addition, which has carry chains, not {task}")


class DataConfig(Config):
    sampling: Sampling = "uniform"
    """How problems are drawn: uniform over pairs; paper: a coin decides which operand has the full length;
    balanced: uniform over pairs of operand lengths; chains: uniform over the length of the longest carry
    chain."""

    sparse: Annotated[float, Field(ge=0, lt=1)] = 0.8
    """Curriculum of sparse digits: the probability with which each digit of a training problem, but for the top
    digits, is set to zero at the start. It falls linearly to 0; no problem leaves the training domain. A fixed set
    of samples, and sampling by carry chains, are not affected."""

    sparse_problems: Count = 2_000_000
    """Training problems over which that probability falls to 0."""

    sparse_leads: bool = False
    """Set the top digit of the shorter operand to zero too. Models then do worse on shorter operands
    (docs/protocol.md)."""

    samples: Count | None = None
    """Take a fixed set of this many distinct problems, train on nine tenths and hold out the rest; by default
    every problem is fresh."""

    operand_width: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None
    """Digits an operand is padded to; by default the longest length trained or tested."""

    answer_width: Annotated[int, Field(ge=1, le=2 * MAX_LENGTH)] | None = None
    """Digits an answer is padded to; by default what the longest answer needs."""

    packing: Literal["lines", "concatenated"] = "lines"
    """What a training row holds: one problem, padded to the longest, or problems one after another without
    padding, the last one cut where the row ends. Evaluation always has one problem per row."""

    offsets: bool = True
    # Its flag is --data.no-offsets, which the words are for.
    """Number every training problem as evaluation does, instead of from a random position on (encodings abacus and
    coupled)."""

    own_offset_range: bool = False
    """Draw each problem's offset from all with which that problem fits the table, as position coupling was
    published, instead of those with which the longest one of training does. Requires packing lines, as offsets
    otherwise run in a circle."""

    row_tokens: Count | None = None
    """Tokens of a row where problems are concatenated; by default four times the longest problem's."""

    @property
    def sparse_digits(self) -> SparseDigits | None:
        """None where problems are given, or chosen by their carries, which zeros would change."""
        applies = self.sparse and self.samples is None and self.sampling != "chains"
        return SparseDigits(self.sparse, self.sparse_problems, self.sparse_leads) if applies else None

    @model_validator(mode="after")
    def _packing_fits(self) -> Self:
        if self.row_tokens is not None and self.packing == "lines":
            raise InputError("row_tokens requires packing concatenated")
        if self.own_offset_range and self.packing != "lines":
            raise InputError("own_offset_range requires packing lines")
        return self
