"""What is exact about a hypothesis: its accuracy on a domain, its least error, and which digits of the
operands its digits depend on. All of it is counted, never sampled.

>>> accuracy(Task.parse("add%151"), Hypothesis.parse("truncated:4"), Domain.parse("B6"))
Fraction(4, 675)

Corollary 2 of the paper: trained on D4, every longer sum is wrong by at least 10^4. On D_m it is wrong by 10^(m-1)
or more:

>>> least_error(Task.parse("add"), 4, Domain.parse("D6"))
100000

*Dependence.* Both operands have `length` uniformly random, independent digits. Digit j of a is replaced by one of
the other base - 1 digits, all equally likely, and entry (i, j) is the probability that digit i of the answer
changes.

>>> matrix = dependence_matrix(Task.parse("add"), Hypothesis.parse("truncated:2"), 3)
>>> [[str(cell) for cell in row] for row in matrix]
[['1', '0', '0'], ['11/30', '1', '0'], ['11/300', '11/30', '0'], ['0', '0', '0']]

- In a sum, digit j always changes. The carry out of column j changes with probability (base + 1) / 3 base, the
  mean distance of two digits over the base, whatever carry enters; each column above passes it on with probability
  1 / base.
- Modulo p only residues matter: those of the unchanged digits are counted by adding one digit after another.
- Digit i of a product depends on the lowest i digits of the operands; where these are few, they are enumerated.
"""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory import Matrix, theory_of
from lengthwise.theory.columns import count_shorter
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.residues import Integers, Residues, len_big

MOST_RESIDUES = 20_000
MOST_STEPS = MOST_RESIDUES**2
"""Products modulo p take up to q^2 steps, where q = p / gcd(p, base^n). This many take at worst 20 seconds per
domain; most take less than one."""

ENUMERATED_PAIRS = 2**20
"""Most pairs of operands that are enumerated for dependence."""
LARGEST_MODULUS = {"add": 10_000, "mul": 500}
"""Largest moduli whose dependence is counted in seconds."""


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


def least_error(task: Task, digits: int, domain: Domain) -> int:
    """The least of f(a, b) - f(a mod base^digits, b mod base^digits) over a domain, without a modulus. It is never
    negative, and grows with a and b, so it is least where both are smallest."""
    theory = theory_of(task)
    if task.modulus is not None or theory is None or not theory.in_paper:
        raise InputError(
            f"the size of an error is derived for sums and products without a modulus, not for {task}"
        )
    unit = task.base**digits
    lowest = [(rows.start, columns.start) for part in domain.parts for rows, columns in part.rectangles]
    return min(task(a, b) - task(a % unit, b % unit) for a, b in lowest)


# --- dependence ---------------------------------------------------------------------------------------------


def dependence_matrix(task: Task, hypothesis: Hypothesis, length: int) -> Matrix:
    """One row for each answer digit, one column for each digit of a."""
    hypothesis.check(task)
    rows, columns = range(task.answer_digits(length)), range(length)
    used = length if hypothesis.kind != "truncated" else min(length, hypothesis.size or 0)
    window = hypothesis.size if hypothesis.kind == "windowed" else None
    theory = theory_of(task)
    cells = None if theory is None else theory.dependence(task, used, window)
    if cells is None or not hypothesis.is_counted(task):
        return [[None for _ in columns] for _ in rows]
    # Operand digits that are not used change nothing, and answer digits that are never reached do not change.
    return [[cells[i][j] if i < len(cells) and j < used else Fraction() for j in columns] for i in rows]


def sum_dependence(base: int, length: int, window: int | None) -> Matrix:
    def cell(i: int, j: int) -> Fraction | None:
        if i < j or (window is not None and j <= i - window):
            return Fraction()
        return Fraction(1) if i == j else Fraction(base + 1, 3 * base ** (i - j))

    return [[cell(i, j) for j in range(1, length + 1)] for i in range(1, length + 2)]


def product_dependence(base: int, length: int) -> Matrix:
    """The lowest rows by enumeration; in the rows above only the zeros are known."""
    low = length
    while base ** (2 * low) > ENUMERATED_PAIRS:
        low -= 1
    known = _counted(Task("mul", base=base), base**low, low)
    if low == length:
        return known
    above = range(low + 1, 2 * length + 1)
    rows = [row + [Fraction()] * (length - low) for row in known[:low]]
    return rows + [[Fraction() if j > i else None for j in range(1, length + 1)] for i in above]


def modular_dependence(task: Task, modulus: int, length: int) -> Matrix:
    """The matrix of sums and products modulo p."""
    if modulus > LARGEST_MODULUS[task.operation]:
        return [[None] * length for _ in range(task.answer_digits(length))]
    return _counted(task, modulus, length)


def _counted(task: Task, modulus: int, length: int) -> Matrix:
    """The matrix where only the residue of each operand modulo this matters."""
    columns = [_count_column(task, modulus, length, j) for j in range(length)]
    return [list(row) for row in zip(*columns, strict=True)]


def _count_column(task: Task, modulus: int, length: int, j: int) -> list[Fraction]:
    """Column j, counted over all other digits of a, all b, and all pairs of digits at position j before and after.
    In sums, b counts as part of the unchanged digits."""
    base, adds = task.base, task.op.has_carries
    stays = [k for k in range(length) if k != j]
    counts = _digit_sums([*stays, *range(length)] if adds else stays, base, modulus)
    a, b = np.flatnonzero(counts), range(1 if adds else base**length)
    residues = Residues.of(b, modulus)
    answers = [_answers(task, modulus, a + digit * base**j % modulus) for digit in range(base)]
    total = counts.sum() * len_big(b) * (base * (base - 1) // 2)
    shares: list[Fraction] = []
    for i in range(task.answer_digits(length)):
        digits, changed = [answer // base**i % base for answer in answers], 0
        for before, after in combinations(digits, 2):
            differs = before != after
            with_b = residues.often * differs.sum(1).astype(object) + differs[:, residues.once_more].sum(1)
            changed += (counts[a] * with_b).sum()
        shares.append(Fraction(changed, total))
    return shares


def _answers(task: Task, modulus: int, a: Integers) -> Integers:
    """[residue of a, residue of b]; of sums [residue of a + b, 1]."""
    if task.op.has_carries:
        return a[:, None] % modulus
    answers = (a % modulus)[:, None] * np.arange(modulus, dtype=np.int64)
    return answers if task.modulus is None else answers % modulus


def _digit_sums(columns: list[int], base: int, modulus: int) -> npt.NDArray[Any]:
    """How many choices of digits in these columns give each residue, as Python integers."""
    counts = np.zeros(modulus, dtype=object)
    counts[0] = 1
    for column in columns:
        place = base**column % modulus
        counts = sum((np.roll(counts, digit * place) for digit in range(base)), np.zeros(modulus, dtype=object))
    return counts
