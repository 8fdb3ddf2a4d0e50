"""The right answers of a stack of members, each with its own task.

>>> from lengthwise.tokens.digits import from_ints, to_ints
>>> answers = Answers([Task.parse("add"), Task.parse("mul%7")], answer_width=3)
>>> a, b = from_ints([12], 2, 10), from_ints([34], 2, 10)
>>> to_ints(answers(torch.stack([a, a]), torch.stack([b, b])), 10)
[46, 2]

Shapes: M members, B problems, n operand digits, A answer digits.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError
from lengthwise.tokens.digits import add, check_modulus, modulo, multiply, resize

DIGITWISE: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {"add": add, "mul": multiply}
"""The operations of `arithmetic.OPERATIONS` on digits (a, b, base) -> c; a user's own joins both tables."""


class Answers:
    """Called with operands [M, B, n], gives answers [M, B, A], zeros above.

    Where one operand is short, answers may be narrower than those of any two operands of n digits.
    """

    def __init__(self, tasks: Sequence[Task], answer_width: int, device: torch.device | str = "cpu") -> None:
        assert len({task.base for task in tasks}) == 1
        for task in tasks:
            _check(task)
            assert task.modulus is None or task.answer_digits(1) <= answer_width
        self.tasks, self.base, self.answer_width = tuple(tasks), tasks[0].base, answer_width
        self.members = _members_by_operation(tasks, device)
        moduli = [task.modulus for task in tasks]
        self.modular = torch.tensor([p is not None for p in moduli], device=device).reshape(-1, 1, 1)
        self.moduli = torch.tensor([p or 1 for p in moduli], device=device).reshape(-1, 1)

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        values = self._operate(a, b)
        self._check_fit(values)
        numbers = resize(values, self.answer_width)
        if all(task.modulus is None for task in self.tasks):
            return numbers
        return torch.where(self.modular, modulo(values, self.moduli, self.base, self.answer_width), numbers)

    def _check_fit(self, values: Tensor) -> None:
        # A look at numbers on a GPU would wait for it.
        if values.shape[-1] > self.answer_width and not values.is_cuda:
            plain = values[~self.modular.flatten()]
            assert not plain[..., self.answer_width :].any(), f"answers do not fit into {self.answer_width} digits"

    def _operate(self, a: Tensor, b: Tensor) -> Tensor:
        """Every operation present is computed for all members; each member then takes its own."""
        results = {name: DIGITWISE[name](a, b, self.base) for name in self.members}
        width = max(result.shape[-1] for result in results.values())
        first, *others = (resize(result, width) for result in results.values())
        for result, members in zip(others, list(self.members.values())[1:], strict=True):
            first = torch.where(members, result, first)
        return first


def _check(task: Task) -> None:
    if task.operation not in DIGITWISE:
        raise InputError(
            f"operation {task.operation!r} has no form on digits (choose from {', '.join(DIGITWISE)})"
        )
    if task.modulus is not None:
        check_modulus(task.modulus)


def _members_by_operation(tasks: Sequence[Task], device: torch.device | str) -> dict[str, Tensor]:
    names = [task.operation for task in tasks]
    return {
        name: torch.tensor([own == name for own in names], device=device).reshape(-1, 1, 1)
        for name in dict.fromkeys(names)
    }
