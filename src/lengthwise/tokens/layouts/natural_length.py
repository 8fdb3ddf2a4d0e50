"""Layouts where problems differ in length: numbers have as many digits as they, or their problem, need.

Shapes: T places of the longest problem, W operand digits, A answer digits; ... any leading dims.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import final

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
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
    """Leaves out the places of digits that are not written; line breaks fill up what is left.

    `written` says how many are of a, b and c [..., 3], from how many these have, where not as many.
    """

    fixed_width = False

    def __init__(
        self,
        task: Task,
        operand_width: int,
        answer_width: int,
        *,
        natural: bool = False,
        written: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        places = problem(operand_width, number(C, answer_width, natural=natural), natural=natural)
        super().__init__(task, operand_width, answer_width, places)
        self.natural, self.written = natural, written

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        tables, pool = self.tables(a.device), self.pool(a, b, c)
        lengths = torch.stack([digit_lengths(digits) for digits in (a, b, c)], -1)
        if self.written is not None:
            lengths = self.written(lengths)
        # A symbol, of number 0, is always there: its significance is 0 at most.
        allowed = torch.nn.functional.pad(lengths, (1, 0))
        places = slice(self.length)
        present = tables.significance[places] <= allowed[..., tables.number[places]]
        order = squeezed(present, self.length)
        slot, *known = (table[order] for table in tables)
        return Tokens(pool.gather(-1, slot), *known)

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        tokens = listed(ids)
        if self.vocabulary.eos in tokens:
            tokens = tokens[: tokens.index(self.vocabulary.eos) + 1]
        digits = list(takewhile(lambda token: 0 <= token < self.vocabulary.base, tokens))
        places = number(C, max(1, len(digits)), natural=self.natural)
        answer = self.read_places(tokens, [*places, symbol(END), symbol(EOS)])
        leading_zero = len(digits) > 1 and digits[0 if self.natural else -1] == 0
        if isinstance(answer, int) and leading_zero and self.written is None:
            return Malformed("the answer has a zero before its leading digit")
        return answer


def squeezed(present: Tensor, width: int) -> Tensor:
    """Which of S slots stand at `width` places once the absent are dropped; S where no slot is left.

    >>> squeezed(torch.tensor([True, False, True, True]), 4).tolist()
    [0, 2, 3, 4]
    >>> squeezed(torch.tensor([True, False, True, True]), 2).tolist()
    [0, 2]

    present is bool [..., S]; the result is int64 [..., width].
    """
    slots = present.shape[-1]
    # What is absent, or too far right, goes to one place more, which is cut off.
    place = torch.where(present, present.cumsum(-1) - 1, width).clamp(max=width)
    order = torch.full((*present.shape[:-1], width + 1), slots, device=present.device)
    number = torch.arange(slots, device=present.device).expand_as(place)
    return order.scatter(-1, place, number)[..., :width]


def digit_lengths(digits: Tensor) -> Tensor:
    """How many digits numbers [..., n] have without the zeros above: int64 [...]; zero has one."""
    columns = torch.arange(1, digits.shape[-1] + 1, device=digits.device)
    return (columns * (digits != 0)).amax(-1).clamp(min=1)


def all_reversed(task: Task, operand_width: int, answer_width: int) -> NaturalLength:
    """`12+345=357` is written `21+543=753`."""
    return NaturalLength(task, operand_width, answer_width)


class Level:
    """Operands as wide as the longer one, the answer as wide as the widest of such operands."""

    def __init__(self, task: Task, operand_width: int, answer_width: int) -> None:
        digits = [0, *(min(task.answer_digits(n), answer_width) for n in range(1, operand_width + 1))]
        self.answer_digits = torch.tensor(digits)

    def __call__(self, lengths: Tensor) -> Tensor:
        if self.answer_digits.device != lengths.device:
            self.answer_digits = self.answer_digits.to(lengths.device)
        longer = lengths[..., :2].amax(-1)
        # An answer that is not one of these operands may have more digits, and is written whole.
        answer = torch.maximum(lengths[..., 2], self.answer_digits[longer])
        return torch.stack([longer, longer, answer], -1)


def level(task: Task, operand_width: int, answer_width: int) -> NaturalLength:
    """`12+345=357` is written `210+543=7530`: as wide as its longer operand, which is how position coupling was
    published. Every column of a sum then has a digit of either operand, or of none."""
    return NaturalLength(task, operand_width, answer_width, written=Level(task, operand_width, answer_width))


def plain(task: Task, operand_width: int, answer_width: int) -> NaturalLength:
    """`12+345=357` is written as it stands.

    The significance of an answer's digit depends on how many follow, so nothing that a model is told while it
    writes may depend on it: encodings that number tokens by significance do not go with this layout.
    """
    return NaturalLength(task, operand_width, answer_width, natural=True)
