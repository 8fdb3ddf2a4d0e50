"""How often each operand digit changes each answer digit, exactly: what a hypothesis says of an intervention.

Both operands have `length` uniformly random, independent digits. Digit j of a is replaced by one of the other
base - 1 digits, each as likely, and entry (i, j) is the chance that digit i of the answer changes.

>>> matrix = dependence_matrix(Task.parse("add"), Hypothesis.parse("truncated:2"), 3)
>>> [[str(cell) for cell in row] for row in matrix]
[['1', '0', '0'], ['11/30', '1', '0'], ['11/300', '11/30', '0'], ['0', '0', '0']]

- In a sum, digit j always changes; the carry out of column j changes with chance (base + 1) / 3 base, whatever
  came in (the mean distance of two digits, over the base); each column above hands it on with chance 1 / base.
- Modulo p only residues matter: those of the digits that stay are counted by adding one digit after another.
- Digit i of a product follows from the lowest i digits of the operands; few enough of these are enumerated.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from lengthwise.arithmetic import Task
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.operations import Matrix, theory_of
from lengthwise.theory.residues import Residues

ENUMERATED_PAIRS = 2**20
"""Pairs of operands that are looked at one by one."""
LARGEST_MODULUS = {"add": 10_000, "mul": 500}
"""Up to here modular matrices are counted in seconds."""

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
    # Operand digits that are not read change nothing, and answer digits that are never reached do not change.
    return [[cells[i][j] if i < len(cells) and j < used else Fraction() for j in columns] for i in rows]


def sum_dependence(base: int, length: int, window: int | None) -> Matrix:
    def cell(i: int, j: int) -> Fraction | None:
        if i < j or (window is not None and j <= i - window):
            return Fraction()
        return Fraction(1) if i == j else Fraction(base + 1, 3 * base ** (i - j))

    return [[cell(i, j) for j in range(1, length + 1)] for i in range(1, length + 2)]


def product_dependence(base: int, length: int) -> Matrix:
    """Rows whose digits are few enough are enumerated; above them only what is zero is known."""
    low = length
    while base ** (2 * low) > ENUMERATED_PAIRS:
        low -= 1
    known = _enumerated_product(base, low)
    if low == length:
        return known
    above = range(low + 1, 2 * length + 1)
    rows = [row + [Fraction()] * (length - low) for row in known[:low]]
    return rows + [[Fraction() if j > i else None for j in range(1, length + 1)] for i in above]


def _enumerated_product(base: int, length: int) -> Matrix:
    numbers = np.arange(base**length, dtype=np.int64)
    products = numbers[:, None] * numbers
    return [
        [_share_changed(products // base ** (i - 1) % base, numbers, base, j) for j in range(1, length + 1)]
        for i in range(1, 2 * length + 1)
    ]


def _share_changed(answers: Integers, numbers: Integers, base: int, j: int) -> Fraction:
    """How often answers [a, b] change where digit j of a does."""
    place = base ** (j - 1)
    digit = numbers // place % base
    changed = 0
    for step in range(1, base):
        other = numbers + ((digit + step) % base - digit) * place
        changed += int(np.count_nonzero(answers != answers[other]))
    return Fraction(changed, answers.size * (base - 1))


def modular_dependence(task: Task, modulus: int, length: int) -> Matrix:
    """Of sums and products modulo p."""
    rows = task.answer_digits(length)
    if modulus > LARGEST_MODULUS[task.operation]:
        return [[None] * length for _ in range(rows)]
    columns = [_modular_column(task, modulus, length, j) for j in range(1, length + 1)]
    return [[column[i] for column in columns] for i in range(rows)]


def _modular_column(task: Task, modulus: int, length: int, j: int) -> list[Fraction | None]:
    """Over the residue of what stays and all pairs of digits that j may have before and after."""
    base, place = task.base, task.base ** (j - 1)
    stays = [k for k in range(length) if k != j - 1]
    adds = task.op.has_carries
    counts = _digit_sums([*stays, *range(length)] if adds else stays, base, modulus)
    other = Residues(modulus, 0, 0, 1) if adds else Residues.of(range(base**length), modulus)
    total = sum(counts) * (base**length if not adds else 1) * (base * (base - 1) // 2)
    changed = [0] * task.answer_digits(length)
    for left, right in combinations(range(base), 2):
        answers = [_answers(adds, modulus, digit * place) for digit in (left, right)]
        for i in range(len(changed)):
            x, y = (answer // base**i % base for answer in answers)
            changed[i] += _weighed(x != y, counts, other)
    return [Fraction(count, total) for count in changed]


def _answers(adds: bool, modulus: int, shift: int) -> Integers:
    """[residue of what stays of a, residue of b]; where b is added, it is part of what stays."""
    residues = (np.arange(modulus, dtype=np.int64) + shift % modulus) % modulus
    return residues[:, None] if adds else residues[:, None] * np.arange(modulus, dtype=np.int64) % modulus


def _weighed(changed: npt.NDArray[np.bool_], counts: list[int], other: Residues) -> int:
    """The number of problems, as integers of any size: rows weigh `counts`, columns are those of `other`."""
    often, extra = changed.sum(1), changed[:, : other.extra].sum(1)
    each = zip(counts, often.tolist(), extra.tolist(), strict=True)
    return sum(count * (other.often * every + more) for count, every, more in each)


def _digit_sums(columns: list[int], base: int, modulus: int) -> list[int]:
    """How many ways to fill digits of these columns give each residue."""
    counts = np.zeros(modulus, dtype=object)
    counts[0] = 1
    for column in columns:
        place = base**column % modulus
        counts = sum((np.roll(counts, digit * place) for digit in range(base)), np.zeros(modulus, dtype=object))
    return [int(count) for count in counts]
