"""The places of a problem's tokens, in the order they are written.

A place is either a symbol's or a digit's. Its id comes from a row of candidates, the *pool*: the digits of a,
b and c, those of intermediate steps where there are any, and the symbols.

Shapes: T places, W operand digits, A answer digits, S = 2 W + A + steps + 6 candidates; ... any leading dims.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError
from lengthwise.tokens.digits import resize, to_ints
from lengthwise.tokens.layouts.layout import Vocabulary

A, B, C, SUM, CARRY = 1, 2, 3, 4, 5
"""Numbers whose digits have places; the last two are the intermediate steps of a scratchpad."""

OPERATOR, EQUALS, END, BOS, EOS, LINE_BREAK = range(6)


class Steps(Protocol):
    """Digits of intermediate steps [..., width], from operands [..., W]."""

    width: int

    def __call__(self, a: Tensor, b: Tensor) -> Tensor: ...


class Place(NamedTuple):
    """`source` is where its id stands among the candidates of its kind: digits of one number, or symbols."""

    number: int
    significance: int
    source: int


def symbol(kind: int) -> Place:
    return Place(0, 0 if kind in (OPERATOR, EQUALS) else -1, kind)


def number(which: int, width: int, *, natural: bool = False) -> list[Place]:
    """The digits of a number, least significant first unless in natural order."""
    places = [Place(which, i + 1, i) for i in range(width)]
    return places[::-1] if natural else places


def problem(operand_width: int, answer: Sequence[Place], *, natural: bool = False) -> list[Place]:
    """`[bos] a + b = answer ; [eos]`"""
    return [
        symbol(BOS),
        *number(A, operand_width, natural=natural),
        symbol(OPERATOR),
        *number(B, operand_width, natural=natural),
        symbol(EQUALS),
        *answer,
        symbol(END),
        symbol(EOS),
    ]


class Tables(NamedTuple):
    """What is known of each place: int64 [T], and `answer` bool."""

    slot: Tensor
    """Where its id stands in the pool."""
    number: Tensor
    significance: Tensor
    answer: Tensor


class Places:
    """Places with the widths of their numbers, and the tables of them on every device that asked."""

    def __init__(
        self,
        task: Task,
        operand_width: int,
        answer_width: int,
        places: Sequence[Place],
        *,
        steps: Steps | None = None,
    ) -> None:
        self.vocabulary = Vocabulary(task.base, task.symbol)
        self.operand_width, self.answer_width = operand_width, answer_width
        self.places, self.steps = places, steps
        self.prompt_length = next(i for i, place in enumerate(places) if place == symbol(EQUALS)) + 1
        b, c = operand_width, 2 * operand_width
        end = c + answer_width
        self.starts = {A: 0, B: b, C: c, SUM: end, CARRY: end, 0: end + (steps.width if steps else 0)}
        self._tables: dict[torch.device, Tables] = {}

    def pool(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        """The candidates [..., S]."""
        width = self.operand_width
        for name, digits, allowed in (("a", a, width), ("b", b, width), ("c", c, self.answer_width)):
            if digits.shape[-1] > allowed:
                raise InputError(f"{name} has {digits.shape[-1]} digits (up to {allowed})")
        a, b, c = resize(a, width), resize(b, width), resize(c, self.answer_width)
        steps = [] if self.steps is None else [self.steps(a, b)]
        base = self.vocabulary.base
        symbols = torch.arange(base, len(self.vocabulary), dtype=a.dtype, device=a.device)
        return torch.cat([a, b, c, *steps, symbols.expand(*a.shape[:-1], -1)], -1).long()

    def tables(self, device: torch.device) -> Tables:
        """Of all places, and last of one more: the line break that pads."""
        if device not in self._tables:
            places = [*self.places, symbol(LINE_BREAK)]
            slots = [self.starts[place.number] + place.source for place in places]
            table = torch.tensor(places, device=device)
            index = torch.arange(len(places), device=device)
            answer = (index >= self.prompt_length) & (index < len(self.places))
            self._tables[device] = Tables(torch.tensor(slots, device=device), table[:, 0], table[:, 1], answer)
        return self._tables[device]

    def id(self, place: Place) -> int:
        """Of a symbol."""
        return self.vocabulary.base + place.source

    def name(self, place: Place) -> str:
        """As messages name it."""
        if place.number == 0:
            return self.vocabulary.shown(self.id(place))
        if place.number in (SUM, CARRY):
            return f"a digit of {'sum' if place.number == SUM else 'carry'} {place.significance}"
        return f"digit {place.significance} of {('a', 'b', 'the answer')[place.number - 1]}"

    def value(self, digits: Sequence[int]) -> int:
        """Least significant first. Python's int() stops at 4300 digits."""
        return to_ints(torch.tensor(digits), self.vocabulary.base)[0]
