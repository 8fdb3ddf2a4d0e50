"""Layouts of variable length: numbers have as many digits as they, or their problem, need.

Shapes: T places of the longest problem, W operand digits, A answer digits; ... any leading dims.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import final

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.tokens.digits import digit_lengths
from lengthwise.tokens.layouts.layout import (
    END,
    EOS,
    C,
    Malformed,
    PlacedLayout,
    Tokens,
    listed,
    number,
    problem,
    symbol,
)


@final
class NaturalLength(PlacedLayout):
    """A layout that skips the places of digits that are not written, and pads with line breaks.

    With `level`, both operands are as wide as the longer one, and the answer as wide as the longest possible
    answer for such operands.
    """

    fixed_width = False

    def __init__(
        self,
        task: Task,
        operand_width: int,
        answer_width: int,
        *,
        natural: bool = False,
        level: bool = False,
    ) -> None:
        places = problem(operand_width, number(C, answer_width, natural=natural), natural=natural)
        super().__init__(task, operand_width, answer_width, places)
        self.natural, self.level = natural, level
        answer_digits = (min(task.answer_digits(n), answer_width) for n in range(1, operand_width + 1))
        self.answer_digits = torch.tensor([0, *answer_digits])
        """The width of the longest answer, by the digits of the longer operand."""

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        tables, pool = self.tables(a.device), self.pool(a, b, c)
        lengths = torch.stack([digit_lengths(digits) for digits in (a, b, c)], -1)
        if self.level:
            lengths = self._levelled(lengths)
        # Symbols have number 0 and a significance of at most 0, so they are always present.
        allowed = torch.nn.functional.pad(lengths, (1, 0))
        places = slice(self.length)
        present = tables.significance[places] <= allowed[..., tables.number[places]]
        order = squeezed(present, self.length)
        slot, *known = (table[order] for table in tables)
        return Tokens(pool.gather(-1, slot), *known)

    def _levelled(self, lengths: Tensor) -> Tensor:
        """The number of digits of a, b and c [..., 3] that are written, from the number they have."""
        if self.answer_digits.device != lengths.device:
            self.answer_digits = self.answer_digits.to(lengths.device)
        longer = lengths[..., :2].amax(-1)
        # An answer that is not that of these operands may have more digits, and is not cut.
        answer = torch.maximum(lengths[..., 2], self.answer_digits[longer])
        return torch.stack([longer, longer, answer], -1)

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        tokens = listed(ids)
        if self.vocabulary.eos in tokens:
            tokens = tokens[: tokens.index(self.vocabulary.eos) + 1]
        digits = list(takewhile(lambda token: 0 <= token < self.vocabulary.base, tokens))
        places = number(C, max(1, len(digits)), natural=self.natural)
        answer = self.read_places(tokens, [*places, symbol(END), symbol(EOS)])
        leading_zero = len(digits) > 1 and digits[0 if self.natural else -1] == 0
        if isinstance(answer, int) and leading_zero and not self.level:
            return Malformed("the answer has a zero before its leading digit")
        return answer


def squeezed(present: Tensor, width: int) -> Tensor:
    """The indices of the present slots, in order, at `width` places; S, the number of slots, where none is left.

    >>> squeezed(torch.tensor([True, False, True, True]), 4).tolist()
    [0, 2, 3, 4]
    >>> squeezed(torch.tensor([True, False, True, True]), 2).tolist()
    [0, 2]

    present is bool [..., S]; the result is int64 [..., width].
    """
    slots = present.shape[-1]
    # Absent slots, and those too far right, go to an extra place, which is cut off.
    place = torch.where(present, present.cumsum(-1) - 1, width).clamp(max=width)
    order = torch.full((*present.shape[:-1], width + 1), slots, device=present.device)
    number = torch.arange(slots, device=present.device).expand_as(place)
    return order.scatter(-1, place, number)[..., :width]


def all_reversed(task: Task, operand_width: int, answer_width: int) -> NaturalLength:
    """`12+345=357` is written `21+543=753`."""
    return NaturalLength(task, operand_width, answer_width)


def level(task: Task, operand_width: int, answer_width: int) -> NaturalLength:
    """`12+345=357` is written `210+543=7530`: as wide as its longer operand, as published for position coupling.
    Every column of a sum then has digits of both operands, or of neither."""
    return NaturalLength(task, operand_width, answer_width, level=True)


def plain(task: Task, operand_width: int, answer_width: int) -> NaturalLength:
    """`12+345=357` is written unchanged.

    The significance of an answer's digit depends on how many digits follow, so it is not known while the model
    writes: encodings that number tokens by significance cannot be used with this layout.
    """
    return NaturalLength(task, operand_width, answer_width, natural=True)
