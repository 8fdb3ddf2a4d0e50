"""Addition."""

from typing import Any, final

from lengthwise.arithmetic import Operation, Task
from lengthwise.theory import Matrix, OperationTheory, modulus_divides
from lengthwise.theory.accuracy import modular_dependence, sum_dependence
from lengthwise.theory.residues import count_cancelling, cut, len_big, open_modulus


class AdditionTheory(OperationTheory):
    in_paper, by_columns = True, True

    def argument(self, task: Task, length: int) -> str:
        if task.modulus is None:
            return "Theorem 1 and Corollary 2"
        return "Theorem 4" if modulus_divides(task, length) else "Theorem 5"

    def count_truncated(self, task: Task, size: int, rows: range, columns: range) -> int:
        """Right where the high parts, which the truncated sum ignores, add up to zero modulo the rest of p."""
        unit = task.base**size
        (a_low, a_high), (b_low, b_high) = cut(rows, unit), cut(columns, unit)
        # Without a modulus only zero is right: use one that no sum reaches.
        rest = a_high.stop + b_high.stop if task.modulus is None else open_modulus(task, size)
        return count_cancelling(a_high, b_high, rest) * len_big(a_low) * len_big(b_low)

    def dependence(self, task: Task, length: int, window: int | None) -> Matrix:
        if task.modulus is not None:
            return modular_dependence(task, task.modulus, length)
        return sum_dependence(task.base, length, window)


@final
class Addition(Operation):
    symbol, noun, verb, answers = "+", "Addition", "add", "sums"
    has_carries, theory = True, AdditionTheory()

    def compute(self, a: int, b: int) -> int:
        return a + b

    def answer_digits(self, n: int, m: int) -> int:
        return max(n, m) + 1

    def digits(self, a: Any, b: Any, base: int) -> Any:
        from lengthwise.tokens.digits import add

        return add(a, b, base)


ADDITION = Addition()
