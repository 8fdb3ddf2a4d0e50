"""Layouts of fixed width: numbers are zero-padded, so that every position means the same in all problems.

Shapes: N columns, W operand digits; ... any leading dims.
"""

from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from lengthwise.arithmetic import Task, digit_count
from lengthwise.errors import InputError
from lengthwise.tokens.digits import column_products, split
from lengthwise.tokens.layouts.layout import (
    CARRY,
    EQUALS,
    SUM,
    C,
    Malformed,
    Place,
    PlacedLayout,
    Tokens,
    listed,
    number,
    problem,
    symbol,
)


@final
class FixedWidth(PlacedLayout):
    """A layout that writes all places of every problem."""

    fixed_width = True

    def encode(self, a: Tensor, b: Tensor, c: Tensor) -> Tokens:
        slot, *known = (table[: self.length] for table in self.tables(a.device))
        return Tokens(self.pool(a, b, c).index_select(-1, slot), *known)

    def read_answer(self, ids: Tensor | Sequence[int]) -> int | Malformed:
        places = self.places[self.prompt_length :]
        return self.read_places(listed(ids)[: len(places)], places)


def padded(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    """The paper's layout: `12+345=357` is written `012+345=7530`, with only the answer reversed."""
    places = problem(operand_width, number(C, answer_width), natural=True)
    return FixedWidth(task, operand_width, answer_width, places)


def aligned(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    """All numbers reversed: `12+345=357` is written `210+543=7530`.

    Digit i of a, b and c are at the same distances for every i, as relative positions require.
    """
    return FixedWidth(task, operand_width, answer_width, problem(operand_width, number(C, answer_width)))


def descending(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    """All numbers with the highest digit first: `12+345=357` is written `012+345=0357`.

    Digits are at constant distances as in `aligned`, but no carry can be read off the answer's digits so far.
    """
    answer = number(C, answer_width, natural=True)
    return FixedWidth(task, operand_width, answer_width, problem(operand_width, answer, natural=True))


def scratchpad(task: Task, operand_width: int, answer_width: int) -> FixedWidth:
    """The paper's chain: the answer follows the raw sum and the carry of every column.

    >>> from lengthwise.tokens.digits import from_ints
    >>> layout = scratchpad(Task.parse("mul"), operand_width=2, answer_width=4)
    >>> digits = [from_ints([n], w, 10) for n, w in ((12, 2), (34, 2), (408, 4))]
    >>> layout.render(layout.encode(*digits).ids[0])
    '[bos]21*43=800000101030000=8040;[eos]'

    In 12 * 34 column 1 sums to 8 and carries 0, column 2 sums to 10 and carries 1, column 3 sums to 3 and carries
    0: the first = is followed by `800 00`, `010 10` and `300 00`, then by another = and the answer. In 95 + 87 it
    is `21 1` and `71 1`. Every number is reversed and padded to the largest of its kind for the layout's operand
    width. The chain always follows from the operands, whatever answer is written after it.

    Widths are fixed so that the distances between a column's sum, its carry and its answer digit do not depend on
    the problem. Carry i follows sum i and carry i-1 at the same distances for every i: that is the part of
    multiplication which the paper finds to be the same at every position, and which relative positions can use. A
    chain as short as its problem would keep these distances, but not those to the answer.
    """
    chain = ScratchpadSteps(task, operand_width)
    answer = [*chain.places(), symbol(EQUALS), *number(C, answer_width)]
    return FixedWidth(task, operand_width, answer_width, problem(operand_width, answer), steps=chain)


COLUMN_SUMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: (a + b).int(),
    "mul": column_products,
}
"""Raw sums [..., N or more] of operands [..., W], by operation; those above N are always zero."""


class ScratchpadSteps:
    """The digits of all sums and carries, [..., N (sum digits + carry digits)], of operands [..., W]."""

    def __init__(self, task: Task, operand_width: int) -> None:
        if task.operation not in COLUMN_SUMS or task.modulus is not None:
            choices = ", ".join(COLUMN_SUMS)
            raise InputError(f"the scratchpad layout cannot be used for {task} (choose from {choices})")
        self.base, self.sums = task.base, COLUMN_SUMS[task.operation]
        # The largest operands have the largest sum in every column.
        highest = torch.full((operand_width,), self.base - 1, dtype=torch.int8)
        largest = self.sums(highest, highest)
        self.count = int((largest > 0).sum())
        self.sum_width = digit_count(int(largest.max()), self.base)
        # The largest carry is the first c that (largest + c) // base does not exceed.
        self.carry_width = digit_count((int(largest.max()) - 1) // (self.base - 1), self.base)

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        sums = self.sums(a, b)[..., : self.count].long()
        carry, carries = torch.zeros_like(sums[..., 0]), []
        for column in sums.unbind(-1):
            carry = (column + carry) // self.base
            carries.append(carry)
        written = (
            split(sums.unsqueeze(-1), self.base, self.sum_width),
            split(torch.stack(carries, -1).unsqueeze(-1), self.base, self.carry_width),
        )
        return torch.cat(written, -1).flatten(-2)

    def places(self) -> list[Place]:
        """A digit of the chain has the significance of its column."""
        numbers = [SUM] * self.sum_width + [CARRY] * self.carry_width
        every = enumerate(numbers * self.count)
        return [Place(which, source // len(numbers) + 1, source) for source, which in every]
