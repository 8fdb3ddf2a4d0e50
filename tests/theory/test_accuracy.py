from fractions import Fraction
from math import gcd
from unittest.mock import patch

import pytest
from brute_force import all_pairs, enumerated_accuracy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory import residues
from lengthwise.theory.accuracy import accuracy, least_error
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.residues import count_agreeing, count_vanishing, divisors, long_operand_limit

FEASIBLE = 12_000


@st.composite
def cases(draw):
    base, size = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    lead = draw(st.none() | st.integers(1, base - 1))
    length, other = draw(st.integers(1, size + 2)), draw(st.integers(1, size + 2))
    kind = draw(st.sampled_from("DBx"))
    part = Part.of_lengths(length, other, base) if kind == "x" else Part(kind, length, lead, base)
    assume(part.size <= FEASIBLE)
    operation, modulus = draw(st.sampled_from(["add", "mul", "sub"])), draw(st.none() | st.integers(1, 40))
    kinds = ["truncated", "windowed"] if (operation, modulus) == ("add", None) else ["truncated"]
    hypothesis = Hypothesis(draw(st.sampled_from(kinds)), size)
    return Task(operation, modulus, base), hypothesis, Domain((part,), (Fraction(1),))


@settings(max_examples=300)
@given(cases())
def test_equals_enumeration(case):
    assert accuracy(*case) == enumerated_accuracy(*case)


@pytest.mark.parametrize("modulus", [50, 51, 100, 101, 150, 151, 200, 201])
@pytest.mark.parametrize("operation", ["add", "mul", "sub"])
@pytest.mark.parametrize("domain", ["D2", "B2", "D3[lead>=7]", "3x1", "2x3"])
def test_equals_enumeration_on_the_papers_moduli(operation, modulus, domain):
    case = Task(operation, modulus), Hypothesis("truncated", 1), Domain.parse(domain)
    assert accuracy(*case) == enumerated_accuracy(*case)


@pytest.mark.parametrize(("text", "expected"), [("add", 0), ("mul", Fraction(1, 55))])
def test_plain_truncation_above_its_length(text, expected):
    """Sums are never right; products are where one operand is zero: 180 of 9,900 pairs."""
    assert accuracy(Task.parse(text), Hypothesis("truncated", 1), Domain.parse("D2")) == expected


@pytest.mark.parametrize(
    ("modulus", "length", "percent"),
    # The paper's own code lets high parts start at 1 and reports 0.490 % for the first.
    [(151, 6, Fraction(4, 675)), (201, 6, 0), (201, 5, 0), (150, 5, Fraction(1, 3)), (100, 9, 1)],
)
def test_known_values_for_modular_addition(modulus, length, percent):
    domain = Domain.parse(f"B{length}")
    assert accuracy(Task("add", modulus), Hypothesis("truncated", 4), domain) == percent


@pytest.mark.parametrize(("p", "base", "percent"), [(2, 10, 1), (5, 10, None), (100, 10, None), (2, 3, None)])
def test_last_digits_do_not_tell_which_operand_is_larger(p, base, percent):
    """A modulus that divides a power of the base decides sums and products, and of differences those modulo 2."""
    exact = accuracy(Task("sub", p, base), Hypothesis("truncated", 2), Domain.parse("D3", base))
    assert exact == percent if percent else exact < 1


def test_differences_of_a_thousand_digits_are_counted():
    few, many = (
        accuracy(Task.parse("sub%101"), Hypothesis("truncated", 4), Domain.parse(d)) for d in ("B9", "B1000")
    )
    assert abs(few - many) < Fraction(1, 1000)


def test_a_mixture_is_the_weighted_mean_of_its_parts():
    task, hypothesis = Task.parse("add%7"), Hypothesis("truncated", 2)
    short, long = (accuracy(task, hypothesis, Domain.parse(d)) for d in ("D2", "D4"))
    mixed = accuracy(task, hypothesis, Domain.parse("0.25*D2+0.75*D4"))
    assert mixed == short / 4 + long * Fraction(3, 4)


def test_a_hundred_digits_are_as_quick_as_six():
    near = accuracy(Task("mul", 499), Hypothesis("truncated", 4), Domain.parse("B300"))
    assert abs(near - long_operand_limit(10, 4, 499)) < Fraction(1, 10**290)


@given(st.integers(2, 12), st.integers(1, 3), st.integers(1, 60))
def test_the_limit_has_a_closed_form_if_the_open_modulus_is_prime_to_the_base(base, digits, modulus):
    unit = base**digits
    rest = modulus // gcd(modulus, unit)
    assume(gcd(rest, base) == 1)
    units = {d: sum(gcd(k, d) == 1 for k in range(d)) for d in divisors(rest)}
    agreeing = sum(d * units[rest // d] * count_vanishing(range(unit), range(unit), d) for d in units)
    assert long_operand_limit(base, digits, modulus) == Fraction(agreeing, rest**2 * unit**2)


@pytest.mark.parametrize("pair_steps", [0, 10**9])
@given(st.data())
def test_pairs_one_by_one_and_by_slopes(pair_steps, data):
    """Both ways to count, whichever would be chosen, give what enumeration does."""
    q, unit = data.draw(st.integers(1, 40)), data.draw(st.integers(2, 12))
    high = st.builds(lambda start, size: range(start, start + size), st.integers(0, 50), st.integers(1, 12))
    a_high, b_high = data.draw(high), data.draw(high)
    lows = [(a, b) for a in range(unit) for b in range(unit)]
    enumerated = sum((A * b + B * a + A * B * unit) % q == 0 for A in a_high for B in b_high for a, b in lows)
    with patch.object(residues, "_PAIR_STEPS", pair_steps):
        assert count_agreeing(a_high, b_high, unit, q) == enumerated


def test_a_window_for_multiplication_is_refused():
    with pytest.raises(InputError, match="mul"):
        accuracy(Task.parse("mul"), Hypothesis("windowed", 2), Domain.parse("D2"))


@pytest.mark.parametrize("base", [2, 3, 5])
@pytest.mark.parametrize("task", ["add", "mul"])
@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["D1", "D2", "D3", "B3", "3x1", "1x3", "3x2", "D3[lead>=1]", "D1..3", "0.9*D2+0.1*B3"]
)
def test_the_least_error_equals_enumeration(task, digits, name, base):
    task, domain, hypothesis = Task.parse(task, base), Domain.parse(name, base), Hypothesis("truncated", digits)
    pairs = [pair for part in domain.separate_parts() for pair in all_pairs(part)]
    assert least_error(task, digits, domain) == min(abs(task(*p) - hypothesis(task, *p)) for p in pairs)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("m", [5, 9, 40])
def test_corollary_2(n, m):
    """Not less than 10^n, and on D_m not less than 10^(m-1)."""
    add = Task.parse("add")
    least = least_error(add, n, Domain.parse(f"D{m}"))
    assert least == 10 ** (m - 1) >= 10**n
    assert least_error(add, n, Domain.parse(f"B{m}")) == 2 * 10 ** (m - 1)
    assert least_error(add, n, Domain.parse(f"D{n}")) == 0


def test_a_modulus_is_refused():
    with pytest.raises(InputError, match="add%7"):
        least_error(Task.parse("add%7"), 4, Domain.parse("D5"))
