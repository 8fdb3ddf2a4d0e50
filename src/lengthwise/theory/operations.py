"""The interface between theory and an operation: what each file of `lengthwise.operations` states and counts."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

from lengthwise.arithmetic import Task

Matrix = list[list[Fraction | None]]
"""Row i - 1, column j - 1; None where the entry is not derived: digits of long products, large moduli."""


class OperationTheory(ABC):
    in_paper: ClassVar[bool] = False
    """Whether the paper's theorems cover it. What is derived for other operations is within no theorem."""

    relative: ClassVar[str] = ""
    """Why nothing is predicted with relative positions, for operations that the paper does not cover."""

    by_columns: ClassVar[bool] = False
    """Whether, without a modulus, a digit of a is combined only with the digit of b in the same column."""

    @abstractmethod
    def argument(self, task: Task, length: int) -> str:
        """What proves that a model with absolute positions, trained on operands of up to `length` digits, computes
        on the last `length` digits alone: a theorem's name."""

    @abstractmethod
    def count_truncated(self, task: Task, size: int, rows: range, columns: range) -> int:
        """How many pairs (a, b) of a rectangle `truncated:size` answers right. An interval that is not below
        base^size has multiples of that as its bounds (`residues.cut`)."""

    def count_steps(self, task: Task, size: int) -> int:
        """About how many steps of array arithmetic that takes on one domain."""
        return 1

    def last_digits_decide(self, task: Task, length: int) -> bool:
        """Whether answers follow from the last `length` digits of the operands, however long these are."""
        return False

    def dependence(self, task: Task, length: int, window: int | None) -> Matrix | None:
        """How often each digit of a changes each answer digit (`dependence_matrix`), or None."""
        return None


def theory_of(task: Task) -> OperationTheory | None:
    """None where nothing is derived for the task's operation."""
    return task.op.theory


def modulus_divides(task: Task, length: int) -> bool:
    """Whether the modulus divides base^length: a sum or a product then depends on the last digits alone."""
    return task.modulus is not None and pow(task.base, length, task.modulus) == 0
