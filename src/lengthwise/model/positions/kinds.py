"""Halves of encodings: one way to number tokens, and two ways to use the numbers.

An encoding inherits the halves it shares with others and writes the rest: learned positions are numbered by
index and added, alibi's are numbered by index and bias attention.
"""

from typing import final

from torch import Tensor

from lengthwise.model.positions.encoding import Encoding, Relation


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
