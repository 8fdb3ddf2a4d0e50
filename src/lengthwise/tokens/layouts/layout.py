"""What a layout is, and what it makes of problems.

Shapes: T tokens of a problem, W operand digits, A answer digits; ... any leading dims.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from lengthwise.tokens.layouts.vocabulary import Vocabulary


class Tokens(NamedTuple):
    """A batch of problems as tokens. Where a layout is fixed, all but the ids are [T] and broadcast.

    ids            int64, one per token
    answer         bool: the tokens a model must produce, all from the one after = to [eos]
    significance   int64: 1, 2, .. for digits from the least significant, 0 for operator and =, else -1
    number         int64: 1, 2, 3 for digits of a, b, c, more for digits of intermediate steps, else 0
    prompt_length  how many tokens precede the answer; a tensor [...] where problems differ in it
    """

    ids: Tensor
    answer: Tensor
    significance: Tensor
    number: Tensor
    prompt_length: int | Tensor

    def spread(self) -> "SpreadTokens":
        """The same with everything [..., T], and prompt lengths [...]."""
        shape, length = self.ids.shape, self.prompt_length
        if isinstance(length, int):
            length = torch.full(shape[:-1], length, device=self.ids.device)
        return SpreadTokens(
            self.ids,
            self.answer.expand(shape),
            self.significance.expand(shape),
            self.number.expand(shape),
            length,
        )


class SpreadTokens(NamedTuple):
    """Tokens whose every part has an entry of its own for each token, or problem."""

    ids: Tensor
    answer: Tensor
    significance: Tensor
    number: Tensor
    prompt_length: Tensor


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
