"""Numbers as tensors: arithmetic on digits, sampled problems, and their layout as tokens. Here, the config of the
training data: how problems are drawn, and how wide numbers are written.

Importing this package imports no torch.
"""

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
    """Number of problems over which that probability falls linearly to 0."""
    leads: bool = False
    """Whether the top digit of the shorter operand may be set to zero too."""


Sampling = Literal["uniform", "paper", "balanced", "chains"]


def check_sampling(sampling: Sampling, task: Task) -> None:
    """Raise an InputError where the sampling is not defined for the task."""
    if sampling == "chains" and task.operation != "add":
        raise InputError(f"sampling chains requires an addition, which has carry chains, not {task}")


class DataConfig(Config):
    sampling: Sampling = "uniform"
    """How problems are drawn. uniform: uniform over pairs; paper: a coin decides which operand has the full
    length; balanced: uniform over pairs of operand lengths; chains: uniform over the length of the longest carry
    chain."""

    sparse: Annotated[float, Field(ge=0, lt=1)] = 0.8
    """Curriculum of sparse digits: probability that a digit of a training problem, except the top digits, is set
    to zero at the start of training. It falls linearly to 0; no problem leaves the training domain. It has no
    effect with --data.samples or with sampling chains."""

    sparse_problems: Count = 2_000_000
    """Number of training problems over which that probability falls to 0."""

    sparse_leads: bool = False
    """Also set the top digit of the shorter operand to zero. Models then do worse on shorter operands
    (docs/protocol.md)."""

    samples: Count | None = None
    """Use a fixed set of this many distinct problems: train on nine tenths, hold out the rest. By default every
    problem is new."""

    operand_width: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None
    """Number of digits that operands are padded to; by default the longest length trained or tested."""

    answer_width: Annotated[int, Field(ge=1, le=2 * MAX_LENGTH)] | None = None
    """Number of digits that answers are padded to; by default that of the longest answer."""

    packing: Literal["lines", "concatenated"] = "lines"
    """Content of a training row. lines: one problem, padded to the longest; concatenated: problems one after
    another without padding, the last one cut off where the row ends. Evaluation always has one problem per row."""

    offsets: bool = True
    # The command line has --data.no-offsets, which this text describes.
    """Number the positions of training problems as in evaluation, without a random offset (encodings abacus and
    coupled)."""

    own_offset_range: bool = False
    """Draw each problem's offset from all that fit this problem into the position table, as published for position
    coupling, instead of those that fit the longest training problem. Requires packing lines."""

    row_tokens: Count | None = None
    """Tokens per row with packing concatenated; by default four times the longest problem."""

    @property
    def sparse_digits(self) -> SparseDigits | None:
        """The curriculum; None for a fixed set of problems, and for sampling chains, as zeros change carries."""
        applies = self.sparse and self.samples is None and self.sampling != "chains"
        return SparseDigits(self.sparse, self.sparse_problems, self.sparse_leads) if applies else None

    @model_validator(mode="after")
    def _packing_fits(self) -> Self:
        if self.row_tokens is not None and self.packing == "lines":
            raise InputError("row_tokens requires packing concatenated")
        if self.own_offset_range and self.packing != "lines":
            raise InputError("own_offset_range requires packing lines")
        return self
