"""What a layout is: the vocabulary that problems are written in, and what is known of each token.

>>> Vocabulary(10).text([13, 1, 2, 10, 3, 11, 5, 1, 12, 14])
'[bos]12+3=51;[eos]'

Shapes: T tokens of a problem, W operand digits, A answer digits; ... any leading dims.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from torch import Tensor

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


class Tokens(NamedTuple):
    """A batch of problems as tokens. Where a layout is fixed, all but the ids are [T] and broadcast.

    ids            int64, one per token
    answer         bool: the tokens a model must produce, all from the one after = to [eos]
    significance   int64: 1, 2, .. for digits from the least significant, 0 for operator and =, else -1
    number         int64: 1, 2, 3 for digits of a, b, c, more for digits of intermediate steps, else 0
    """

    ids: Tensor
    answer: Tensor
    significance: Tensor
    number: Tensor

    @property
    def prompt_length(self) -> Tensor:
        """How many tokens precede the answer: [...], or [] where that is the same for all."""
        return (self.answer.cumsum(-1) == 0).sum(-1)

    def spread(self) -> "Tokens":
        """The same with everything [..., T]."""
        return Tokens(*(part.expand(self.ids.shape) for part in self))


class Problem(NamedTuple):
    a: int
    b: int
    c: int


class Malformed(NamedTuple):
    reason: str


class Layout(Protocol):
    """How a problem becomes tokens.

    `length` is the longest sequence; shorter ones end in line breaks, which stand nowhere else. 0 and 0 with
    the answer 0 give the shortest prompt and the shortest sequence. What is known of an answer's token, its
    significance and number, follows from its place in the answer and from whether it is a digit, so that it
    is known as soon as the token is written.
    """

    vocabulary: Vocabulary
    operand_width: int
    answer_width: int
    length: int
    fixed_width: bool
    """Whether every problem has the same places."""

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        """Digits [..., up to W] and answers [..., up to A], least significant first, as tokens [..., T]."""
        ...

    def render(self, ids: Tensor | Sequence[int]) -> str: ...

    def parse(self, text: str) -> Problem | Malformed: ...

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        """The number in the tokens after =; what follows its [eos] is not read."""
        ...


def listed(ids: Tensor | Sequence[int]) -> list[int]:
    return ids.tolist() if isinstance(ids, Tensor) else list(ids)
