from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Task
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.rules import Case, modular_addition_accuracy, stated_accuracy, window_bound


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


@pytest.mark.parametrize("encoding", ["learned", "rotary"])
@pytest.mark.parametrize(
    ("task", "test", "absolute", "relative"),
    [
        ("mul%100", "D6", 1, 1),  # 100 divides 10^4
        ("mul%101", "D6", None, None),
        ("mul", "D3", 1, 1),
        ("add", "0.25*D4+0.75*D5", Fraction(1, 4), Fraction(999, 1000)),
        ("add%151", "B6", Fraction(1, 151), None),
        ("add%151", "D6", None, None),
    ],
)
def test_what_the_paper_states(task, test, absolute, relative, encoding):
    case = Case(Task.parse(task), Domain.parse("D4"), Domain.parse(test), encoding, "padded")
    assert stated_accuracy(case) == (absolute if encoding == "learned" else relative)


def test_the_paper_states_nothing_of_other_training_domains():
    assert stated_accuracy(Case(Task("add"), Domain.parse("B4"), Domain.parse("B5"), "learned", "padded")) is None
