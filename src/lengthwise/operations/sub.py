r"""The absolute difference |a - b|, which is not in the paper, with its own theory.

*With absolute positions* the argument of Theorem 1 holds for any operation: digits above the n trained ones were
always zero, so the model computes |a0 - b0| with a0 = a mod N, b0 = b mod N and N = base^n.

*How often that is right.* Write a = A N + a0 and b = B N + b0. If A = B, always. If A > B, a is the larger
number, and |a - b| = (A - B) N + a0 - b0, so the truncated difference is right

    where a0 >= b0   exactly if   (A - B) N = 0             modulo p,
    where a0 < b0    exactly if   (A - B) N = 2 (b0 - a0)   modulo p;

and for A < B the same with a and b exchanged. Without a modulus the first never happens, and the second only if
A = B + 1 and b0 - a0 = N / 2: |12 - 7| and |2 - 7| are both 5. With a modulus, A - B matters modulo
q = p / gcd(p, N) and b0 - a0 modulo p / gcd(p, 2): a sum over q residues, each counted in closed form. It is not
enough that p divides N, as the last digits do not say which number is larger; only modulo 2 this does not matter.

*With relative positions* no window of columns is enough: the lowest digit depends on which operand is larger,
which the highest digits decide.
"""

from functools import partial
from math import gcd
from typing import Any, final

from lengthwise.arithmetic import Operation, Task
from lengthwise.theory import OperationTheory, modulus_divides
from lengthwise.theory.residues import count_difference, count_differences, cut, len_big, open_modulus

ARRAY_STEPS = 20_000
"""Steps of array arithmetic that take as long as one residue here."""


class DifferenceTheory(OperationTheory):
    by_columns = True
    relative = (
        "the lowest digit depends on which operand is larger, which the highest digits decide, so no window of "
        "columns is enough; theory does not say what the model does outside its training domain"
    )

    def argument(self, task: Task, length: int) -> str:
        return "Not in the paper, by the argument of its Theorem 1"

    def count_truncated(self, task: Task, size: int, rows: range, columns: range) -> int:
        unit = task.base**size
        a, b = cut(rows, unit), cut(columns, unit)
        (a_low, a_high), (b_low, b_high) = a, b
        equal = count_difference(a_high, b_high, 0) * len_big(a_low) * len_big(b_low)
        return equal + _larger(task, size, a, b) + _larger(task, size, b, a)

    def count_steps(self, task: Task, size: int) -> int:
        return 1 if task.modulus is None else ARRAY_STEPS * open_modulus(task, size)

    def last_digits_decide(self, task: Task, length: int) -> bool:
        return task.modulus in (1, 2) and modulus_divides(task, length)


def _larger(task: Task, size: int, larger: tuple[range, range], smaller: tuple[range, range]) -> int:
    """The number of pairs answered right, among those where the first number has the larger high part."""
    (low, high), (other_low, other_high) = larger, smaller
    unit = task.base**size
    if task.modulus is None:
        half, odd = divmod(unit, 2)
        return (not odd) * count_difference(high, other_high, 1) * count_difference(other_low, low, half)
    rest, twice = open_modulus(task, size), gcd(task.modulus, 2)
    low_modulus = task.modulus // twice
    count_positive = partial(count_differences, positive=True)
    not_below = len_big(low) * len_big(other_low) - count_positive(other_low, low, 0, 1)
    right = count_positive(high, other_high, 0, rest) * not_below
    for residue in range(rest):
        lost = residue * unit % task.modulus
        if lost % twice == 0:
            # Half of what is lost: where p is odd, of the even one of lost and lost + p.
            half = (lost + lost % 2 * task.modulus) // 2 % low_modulus
            often = count_positive(high, other_high, residue, rest)
            right += often * count_positive(other_low, low, half, low_modulus)
    return right


@final
class Difference(Operation):
    symbol, signs = "-", "−–"
    noun, verb, answers = "Absolute difference", "subtract", "differences"
    theory = DifferenceTheory()

    def compute(self, a: int, b: int) -> int:
        return abs(a - b)

    def answer_digits(self, n: int, m: int) -> int:
        return max(n, m)

    def digits(self, a: Any, b: Any, base: int) -> Any:
        """By complements: a + (99..9 - b) has a leading 1 exactly if a > b, and the rest is then a - b - 1;
        otherwise its complement is b - a."""
        import torch

        from lengthwise.tokens.digits import add

        total = add(a, base - 1 - b, base)
        larger, rest = total[..., -1:] == 1, total[..., :-1]
        one = torch.zeros_like(rest)
        one[..., 0] = 1
        return torch.where(larger, add(rest, one, base)[..., :-1], base - 1 - rest)

    def formula(self, a: str, b: str) -> str:
        return f"|{a} − {b}|"


DIFFERENCE = Difference()
