"""The exact accuracy of a hypothesis over a domain, and the size of its errors: counted, never sampled.

>>> accuracy(Task.parse("add%151"), Hypothesis.parse("truncated:4"), Domain.parse("B6"))
Fraction(4, 675)

Corollary 2 of the paper: trained on D4, every longer sum is wrong by at least 10^4. On D_m it is wrong by 10^(m-1)
or more:

>>> truncation_error(Task.parse("add"), 4, Domain.parse("D6"))
TruncationError(least=100000, mean=Fraction(10990000, 11))
"""

from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.carries import count_shorter
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.operations import theory_of
from lengthwise.theory.residues import cut, len_big

MOST_RESIDUES = 20_000
MOST_STEPS = MOST_RESIDUES**2
"""Products modulo p take up to q^2 steps, where q = p / gcd(p, base^n). This many take at worst 20 seconds per
domain; most take less than one."""


def within_reach(task: Task, hypothesis: Hypothesis) -> bool:
    """Whether `accuracy` can be computed, and in seconds."""
    return hypothesis.is_counted(task) and steps_to_count(task, hypothesis) <= MOST_STEPS


def steps_to_count(task: Task, hypothesis: Hypothesis) -> int:
    """The number of steps to count the accuracy on one domain of longer operands."""
    theory = theory_of(task)
    if theory is None or hypothesis.kind != "truncated":
        return 1
    assert hypothesis.size is not None
    return theory.count_steps(task, hypothesis.size)


def accuracy_json(accuracy: Fraction | None) -> dict[str, Any]:
    """An accuracy for JSON: the exact fraction, and the percentage."""
    if accuracy is None:
        return {"accuracy": None, "percent": None}
    return {"accuracy": str(accuracy), "percent": float(100 * accuracy)}


def accuracy(task: Task, hypothesis: Hypothesis, domain: Domain) -> Fraction:
    assert task.base == domain.base
    hypothesis.check(task)
    if not hypothesis.is_counted(task):
        raise InputError(f"the exact accuracy of {hypothesis} on {task} is not known")
    return domain.mean(lambda part: Fraction(_count_right(task, hypothesis, part), part.size))


def _count_right(task: Task, hypothesis: Hypothesis, part: Part) -> int:
    size = hypothesis.size
    if size is None or (hypothesis.kind == "truncated" and part.length <= size):
        return part.size
    if hypothesis.kind == "windowed":
        # A digit is wrong exactly where a carry has passed through the whole window below it.
        return count_shorter(part, size)
    theory = theory_of(task)
    assert theory is not None
    return sum(theory.count_truncated(task, size, rows, columns) for rows, columns in part.rectangles)


class TruncationError(NamedTuple):
    """The least and the mean of f(a, b) - f(a mod base^n, b mod base^n) over a domain; it is never negative."""

    least: int
    mean: Fraction


def truncation_error(task: Task, digits: int, domain: Domain) -> TruncationError:
    """The error of `truncated:digits` without a modulus. It grows with a and b, so it is least where both are
    smallest."""
    theory = theory_of(task)
    if task.modulus is not None or theory is None or not theory.in_paper:
        raise InputError(
            f"the size of an error is derived for sums and products without a modulus, not for {task}"
        )
    unit = task.base**digits
    lowest = [(rows.start, columns.start) for part in domain.parts for rows, columns in part.rectangles]
    least = min(task(a, b) - task(a % unit, b % unit) for a, b in lowest)
    return TruncationError(least, domain.mean(lambda part: _mean_error(task, unit, part)))


def _mean_error(task: Task, unit: int, part: Part) -> Fraction:
    total = Fraction()
    for rows, columns in part.rectangles:
        error = _mean_answer(task, rows, columns) - _mean_answer(task, cut(rows, unit)[0], cut(columns, unit)[0])
        total += len_big(rows) * len_big(columns) * error
    return total / part.size


def _mean_answer(task: Task, rows: range, columns: range) -> Fraction:
    """The mean over a rectangle, which is that of its corners: sums and products are linear in each operand."""
    corners = product((rows.start, rows.stop - 1), (columns.start, columns.stop - 1))
    return Fraction(sum(task(a, b) for a, b in corners), 4)
