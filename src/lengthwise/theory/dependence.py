"""The exact probability that replacing an operand digit changes an answer digit, for each hypothesis.

Both operands have `length` uniformly random, independent digits. Digit j of a is replaced by one of the other
base - 1 digits, all equally likely, and entry (i, j) is the probability that digit i of the answer changes.

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

from lengthwise.arithmetic import Task
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.operations import Matrix, theory_of
from lengthwise.theory.residues import Residues, len_big

ENUMERATED_PAIRS = 2**20
"""Most pairs of operands that are enumerated."""
LARGEST_MODULUS = {"add": 10_000, "mul": 500}
"""Largest moduli whose matrices are counted in seconds."""

Integers = npt.NDArray[np.int64]


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
