"""What a trained model will compute, exactly. No torch, no measurement.

Here is the interface between theory and an operation, which each file of `lengthwise.operations` implements.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

from lengthwise.arithmetic import Task

Matrix = list[list[Fraction | None]]
"""Row i - 1, column j - 1; None where the entry is not derived: digits of long products, large moduli."""


class OperationTheory(ABC):
    in_paper: ClassVar[bool] = False
    """Whether the paper's theorems cover it. Results for other operations count as outside the theorems."""

    relative: ClassVar[str] = ""
    """Why nothing is predicted with relative positions, for operations that the paper does not cover."""

    by_columns: ClassVar[bool] = False
    """Whether, without a modulus, a digit of a is combined only with the digit of b in the same column."""

    @abstractmethod
    def argument(self, task: Task, length: int) -> str:
        """The theorem that a model with absolute positions, trained on operands of up to `length` digits, uses
        only the last `length` digits."""

    @abstractmethod
    def count_truncated(self, task: Task, size: int, rows: range, columns: range) -> int:
        """The number of pairs (a, b) of a rectangle that `truncated:size` answers right. The bounds of an interval
        are multiples of base^size unless it lies below base^size (`residues.cut`)."""

    def count_steps(self, task: Task, size: int) -> int:
        """Roughly the number of array operations of `count_truncated` on one domain."""
        return 1

    def last_digits_decide(self, task: Task, length: int) -> bool:
        """Whether answers depend only on the last `length` digits of the operands, however long they are."""
        return self.in_paper and modulus_divides(task, length)

    def dependence(self, task: Task, length: int, window: int | None) -> Matrix | None:
        """How often each digit of a changes each answer digit (`dependence_matrix`), or None."""
        return None


def theory_of(task: Task) -> OperationTheory | None:
    """The theory of the task's operation; None if it has none."""
    return task.op.theory


def modulus_divides(task: Task, length: int) -> bool:
    """Whether the modulus divides base^length: a sum or product then depends only on the last digits."""
    return task.modulus is not None and pow(task.base, length, task.modulus) == 0
