"""The tokens that problems are written in.

>>> Vocabulary(10).text([13, 1, 2, 10, 3, 11, 5, 1, 12, 14])
'[bos]12+3=51;[eos]'
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lengthwise.arithmetic.task import DIGITS


@dataclass(frozen=True)
class Vocabulary:
    """Ids 0 .. base-1 are the digits, then come the operator, =, ;, [bos], [eos] and the line break.

    Both operators share an id: a model has one task. The line break pads, and does nothing else.
    """

    base: int
    symbol: str = "+"

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return (*DIGITS[: self.base], self.symbol, "=", ";", "[bos]", "[eos]", "\n")

    def __len__(self) -> int:
        return self.base + 6

    @property
    def operator(self) -> int:
        return self.base

    @property
    def equals(self) -> int:
        return self.base + 1

    @property
    def end(self) -> int:
        return self.base + 2

    @property
    def bos(self) -> int:
        return self.base + 3

    @property
    def eos(self) -> int:
        return self.base + 4

    @property
    def line_break(self) -> int:
        return self.base + 5

    def text(self, ids: Iterable[int]) -> str:
        return "".join(self.texts[i] for i in ids)

    def shown(self, token: int) -> str:
        """A token as a message names it; a model's padded logits may yield one that does not exist."""
        return repr(self.texts[token]) if 0 <= token < len(self) else f"token {token}"

    def ids(self, text: str) -> list[int] | None:
        """The tokens of a text; None if it holds anything else."""
        found: list[int] = []
        while text:
            token = next((i for i, own in enumerate(self.texts) if text.startswith(own)), None)
            if token is None:
                return None
            found.append(token)
            text = text[len(self.texts[token]) :]
        return found
