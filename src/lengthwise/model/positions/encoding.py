"""What a positional encoding is: a way to number tokens, and what the network makes of the numbers.

An encoding is one final class in one file, named in the table of `lengthwise.model.positions`. Its methods
fall into two halves. Four number tokens:

    needs(length, digits)    how many positions sequences of that size take up
    default_rows(needed)     how many positions there are, unless the config says
    offsets(rows, needed)    from how many offsets training draws one per example
    locate(index, ...)       the positions themselves

and three are the network's: `embed` adds to the token embeddings, `relate` prepares once per pass what every
layer needs of two lists of positions, and `attend` uses that on the queries and keys of each layer.

An encoding inherits the halves it shares with others and writes the rest: learned positions are numbered by index
and added, alibi's are numbered by index and bias attention, coupled ones are numbered by significance and added.

Shapes: M members, B batch, T tokens, Q queries, K keys, H heads, D head width, C width. Positions are int64
[M or 1, B or 1, T].
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar, cast, final

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.layers import Initializer

Relation = Tensor | tuple[Tensor, ...] | None


class Encoding(nn.Module, ABC):
    """The interface: a final subclass implements what is abstract here."""

    rows: int | None = None
    """How many positions fit, or None where there is no bound."""

    numbers_each_problem: ClassVar[bool] = False
    """Whether every problem of a row is numbered by itself, so that each may have an offset of its own."""

    shift_invariant: bool = False
    """Whether attention between positions depends on their distance alone, around the circle of all rows but 0."""

    def __init__(self, config: ModelConfig, rows: int, init: Initializer) -> None:
        super().__init__()

    @staticmethod
    @abstractmethod
    def needs(length: int, digits: int) -> int:
        """How many rows are needed, offset aside, for `length` tokens of up to `digits` digits."""

    @staticmethod
    def default_rows(needed: int) -> int:
        """How many rows there are unless the config says; more than needed where training draws from them."""
        return needed

    @staticmethod
    @abstractmethod
    def offsets(rows: int, needed: int) -> int:
        """Training draws an offset below this per example; 1 where there is no offset but 0."""

    @abstractmethod
    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        """Positions [..., T] of tokens, from int64 tensors that broadcast to that.

        index: 0 to T - 1. significance: 1, 2, ... for digits from the least significant one, 0 for the
        operator and `=`, -1 for the rest. number: 1, 2, 3 for digits of a, b and c, 0 for the rest.
        offset: one per example, [..., 1], or one per token, [..., T], where several problems share a row and
        the encoding `numbers_each_problem`; 0 in evaluation.
        """

    @abstractmethod
    def embed(self, positions: Tensor) -> Tensor | None:
        """[M or 1, B or 1, T, C], added to the token embeddings, or nothing."""

    @abstractmethod
    def relate(self, queries: Tensor, keys: Tensor) -> Relation:
        """What `attend` needs of the positions of queries and keys."""

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, Tensor | None]:
        """Queries [M, B, H, Q, D] and keys [M, B, H, K, D] as they meet, and what is added to their product
        over sqrt(D): something that broadcasts to [M, B, H, Q, K], or nothing."""

    def check(self, needed: int) -> None:
        """Refuse positions that do not fit. Whoever builds batches calls this: `forward` cannot without
        waiting for the device."""
        if self.rows is not None and needed > self.rows:
            raise InputError(
                f"{needed} positions do not fit in a table of {self.rows} rows; "
                f"try shorter problems or --model.context {needed}"
            )


class IndexEncoding(Encoding):
    """A token's position is its index. `randomized:` goes with encodings of this kind."""

    @staticmethod
    @final
    def needs(length: int, digits: int) -> int:
        return length

    @staticmethod
    @final
    def offsets(rows: int, needed: int) -> int:
        return 1

    @final
    def locate(self, index: Tensor, significance: Tensor, number: Tensor, offset: Tensor) -> Tensor:
        return index + offset


class SignificanceEncoding(Encoding):
    """A digit's position is its significance, plus an offset as large as the rows allow."""

    numbers_each_problem: ClassVar[bool] = True

    @staticmethod
    @final
    def default_rows(needed: int) -> int:
        return 2 * needed

    @staticmethod
    @final
    def offsets(rows: int, needed: int) -> int:
        return rows - needed + 1


class AddedEncoding(Encoding):
    """Positions are added to the token embeddings, by `embed`, and that is all."""

    @final
    def relate(self, queries: Tensor, keys: Tensor) -> None:
        return None

    @final
    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, None]:
        return q, k, None


class BiasEncoding(Encoding):
    """Positions bias attention, in every layer alike: `relate` gives the bias, and that is all."""

    @final
    def embed(self, positions: Tensor) -> None:
        return None

    @final
    def attend(self, q: Tensor, k: Tensor, relation: Relation) -> tuple[Tensor, Tensor, Tensor]:
        assert isinstance(relation, Tensor)
        return q, k, relation


def has_position(positions: Tensor) -> Tensor:
    """Which tokens have a position, bool: those that have none are at 0."""
    return positions > 0


def number_tokens(
    encoding: Encoding | type[Encoding], significance: Tensor, number: Tensor, offset: Tensor | None = None
) -> Tensor:
    """Positions [M or 1, B or 1, T] of tokens whose facts are [T] or [M, B, T], with offsets [M, B, 1 or T].

    Where there is no model, the encoding's class will do, unless its numbering depends on its rows.
    """
    index = torch.arange(significance.shape[-1], device=significance.device)
    offset = torch.zeros(1, dtype=torch.long, device=index.device) if offset is None else offset
    locate = encoding.locate if isinstance(encoding, Encoding) else partial(encoding.locate, cast(Any, None))
    positions = locate(index, significance, number, offset)
    return positions.reshape(*[1] * (3 - positions.dim()), *positions.shape)


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """How far each key lies before each query: [M or 1, B or 1, Q, K], negative for keys after it."""
    return queries.unsqueeze(-1) - keys.unsqueeze(-2)
