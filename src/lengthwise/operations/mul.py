"""Multiplication."""

from typing import Any, final

from lengthwise.arithmetic import Operation, Task
from lengthwise.theory import Matrix, OperationTheory
from lengthwise.theory.accuracy import modular_dependence, product_dependence
from lengthwise.theory.residues import count_agreeing, count_vanishing, cut, len_big, open_modulus


class MultiplicationTheory(OperationTheory):
    in_paper = True

    def argument(self, task: Task, length: int) -> str:
        return "Theorem 6" if task.modulus is None else "Theorem 7"

    def count_truncated(self, task: Task, size: int, rows: range, columns: range) -> int:
        """Without a modulus right where nothing is cut off or the product is zero; modulo p, where the part that
        is lost is a multiple of p."""
        unit = task.base**size
        (a_low, a_high), (b_low, b_high) = cut(rows, unit), cut(columns, unit)
        if task.modulus is None:
            both_whole = (0 in a_high) * (0 in b_high) * len_big(a_low) * len_big(b_low)
            a_zero = (0 in rows) * (len_big(b_high) - (0 in b_high)) * len_big(b_low)
            b_zero = (0 in columns) * (len_big(a_high) - (0 in a_high)) * len_big(a_low)
            return both_whole + a_zero + b_zero
        rest = open_modulus(task, size)
        if a_high == range(1):
            return count_vanishing(a_low, b_high, rest) * unit
        if b_high == range(1):
            return count_vanishing(a_high, b_low, rest) * unit
        return count_agreeing(a_high, b_high, unit, rest)

    def count_steps(self, task: Task, size: int) -> int:
        return 1 if task.modulus is None else open_modulus(task, size) ** 2

    def dependence(self, task: Task, length: int, window: int | None) -> Matrix:
        if task.modulus is not None:
            return modular_dependence(task, task.modulus, length)
        return product_dependence(task.base, length)


@final
class Multiplication(Operation):
    symbol, signs = "*", "×x"
    noun, verb, answers = "Multiplication", "multiply", "products"
    theory = MultiplicationTheory()

    def compute(self, a: int, b: int) -> int:
        return a * b

    def answer_digits(self, n: int, m: int) -> int:
        return n + m

    def digits(self, a: Any, b: Any, base: int) -> Any:
        from lengthwise.tokens.digits import multiply

        return multiply(a, b, base)


MULTIPLICATION = Multiplication()
