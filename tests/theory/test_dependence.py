"""The exact matrix against every problem and every replacement."""

from fractions import Fraction

import pytest
from brute_force import digits
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Task
from lengthwise.errors import InputError
from lengthwise.theory.accuracy import LARGEST_MODULUS, dependence_matrix
from lengthwise.theory.hypotheses import Hypothesis


def by_hand(task, hypothesis, length):
    base, rows = task.base, task.answer_digits(length)
    counts = [[0] * length for _ in range(rows)]
    for a in range(base**length):
        for b in range(base**length):
            answer = digits(hypothesis(task, a, b), base, rows)
            for j, digit in enumerate(digits(a, base, length)):
                for other in range(base):
                    changed = digits(hypothesis(task, a + (other - digit) * base**j, b), base, rows)
                    for i in range(rows):
                        counts[i][j] += answer[i] != changed[i]
    total = base ** (2 * length) * (base - 1)
    return [[Fraction(count, total) for count in row] for row in counts]


CASES = [
    ("add", "truth", 3, 2),
    ("add", "truth", 2, 4),
    ("add", "truncated:1", 4, 2),
    ("add", "truncated:2", 2, 4),
    ("add", "truncated:9", 3, 2),
    ("add", "windowed:1", 3, 3),
    ("add", "windowed:2", 2, 4),
    ("add", "windowed:7", 3, 2),
    ("mul", "truth", 3, 2),
    ("mul", "truth", 2, 3),
    ("mul", "truncated:1", 3, 2),
    ("mul", "truncated:2", 2, 3),
    ("mul%4", "truth", 2, 3),
]


@pytest.mark.parametrize(("task", "hypothesis", "base", "length"), CASES)
def test_every_entry(task, hypothesis, base, length):
    task, hypothesis = Task.parse(task, base), Hypothesis.parse(hypothesis)
    assert dependence_matrix(task, hypothesis, length) == by_hand(task, hypothesis, length)


@given(
    operation=st.sampled_from(["add", "mul"]),
    modulus=st.integers(1, 30),
    size=st.sampled_from([None, 1, 2, 3, 5]),
    shape=st.sampled_from([(2, 3), (3, 2), (4, 2), (3, 1)]),
)
@settings(max_examples=40, deadline=None)
def test_every_modulus(operation, modulus, size, shape):
    base, length = shape
    task = Task(operation, modulus, base)
    hypothesis = Hypothesis("truth") if size is None else Hypothesis("truncated", size)
    assert dependence_matrix(task, hypothesis, length) == by_hand(task, hypothesis, length)


def test_digits_beyond_what_is_read_are_dead():
    """Theorems 3 and 5: beyond the trained length; and beyond k digits where p divides base^k."""
    for task, hypothesis, alive in [("add", "truncated:4", 4), ("add%100", "truth", 2), ("mul%50", "truth", 2)]:
        matrix = dependence_matrix(Task.parse(task), Hypothesis.parse(hypothesis), 9)
        assert all(cell == 0 for row in matrix for cell in row[alive:])
        assert all(any(row[j] for row in matrix) for j in range(alive))


def test_what_is_not_known_of_long_products():
    matrix = dependence_matrix(Task.parse("mul"), Hypothesis.parse("truth"), 5)
    short = dependence_matrix(Task.parse("mul"), Hypothesis.parse("truth"), 3)
    assert [row[:3] for row in matrix[:3]] == short[:3]
    assert all(cell == 0 for i, row in enumerate(matrix) for cell in row[i + 1 :])
    assert all(cell is None for i, row in enumerate(matrix[3:], start=3) for cell in row[: i + 1])


def test_what_is_counted_too_slowly_is_not_claimed(monkeypatch):
    monkeypatch.setitem(LARGEST_MODULUS, "add", 100)
    matrix = dependence_matrix(Task.parse("add%101"), Hypothesis.parse("truncated:2"), 3)
    assert matrix == [[None, None, 0]] * 3


def test_long_operands_count_exactly():
    """Counts beyond 64 bits: a digit whose place is divisible by p changes nothing, others do."""
    matrix = dependence_matrix(Task.parse("add%4"), Hypothesis.parse("truth"), 40)
    assert matrix[0][2:] == [0] * 38
    assert matrix[0][:2] == dependence_matrix(Task.parse("add%4"), Hypothesis.parse("truth"), 2)[0]


def test_a_window_says_nothing_of_products():
    with pytest.raises(InputError, match="windowed:2"):
        dependence_matrix(Task.parse("mul"), Hypothesis.parse("windowed:2"), 3)
