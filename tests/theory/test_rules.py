from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.arithmetic import Task
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.rules import modular_addition_accuracy, window_bound


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 500), st.integers(1, 6))
def test_error_by_two_remainders_is_the_error(a, b, modulus, digits):
    """The error f - f^ of the truncated modular sum, by the two remainders of the paper's formula."""
    task, unit = Task("add", modulus), 10**digits
    low = (a % unit + b % unit) % modulus
    high = (a + b - a % unit - b % unit) % modulus
    error = high - modulus * (low + high >= modulus)
    assert error == task(a, b) - Hypothesis("truncated", digits)(task, a, b)


@pytest.mark.parametrize(
    ("modulus", "length", "expected"),
    # The worked examples of the paper's proof of its theorem on non-dividing moduli, trained on D4.
    [
        (151, 5, 0),
        (151, 6, Fraction(1, 151)),
        (201, 6, 0),
        (201, 7, Fraction(1, 201)),
        (150, 5, Fraction(1, 3)),
    ],
)
def test_the_papers_examples(modulus, length, expected):
    assert modular_addition_accuracy(Task("add", modulus), 4, length) == expected


def test_window_bound():
    assert window_bound(10, 4) == Fraction(1, 1000)
