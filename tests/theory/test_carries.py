from collections import Counter
from fractions import Fraction

from brute_force import all_pairs, digits
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part
from lengthwise.theory.carries import chain_counts, chain_distribution, longest_chain
from lengthwise.theory.hypotheses import windowed_sum


def chain_by_windows(a, b, base):
    """The longest chain is the smallest window that gets the sum right, less one column for the digit."""
    return next(w for w in range(30) if w and windowed_sum(a, b, w, base) == a + b) - 1


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(2, 12))
def test_longest_chain_by_its_effect(a, b, base):
    assert longest_chain(a, b, base) == chain_by_windows(a, b, base)


@settings(max_examples=60)
@given(st.sampled_from("DB"), st.integers(1, 4), st.integers(2, 5))
def test_counts_equal_enumeration(kind, length, base):
    part = Part(kind, length, None, base)
    seen = Counter(longest_chain(a, b, base) for a, b in all_pairs(Domain((part,), (Fraction(1),))))
    assert chain_counts(part) == [seen[k] for k in range(length + 1)]


@settings(max_examples=60)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(2, 5))
def test_counts_of_operands_of_unequal_lengths(a_digits, b_digits, base):
    part = Part.of_lengths(a_digits, b_digits, base)
    seen = Counter(longest_chain(a, b, base) for a, b in all_pairs(Domain((part,), (Fraction(1),))))
    assert chain_counts(part) == [seen[k] for k in range(part.length + 1)]


def test_distribution_of_a_long_sum_is_a_distribution():
    distribution = chain_distribution(Domain.parse("D60"))
    assert sum(distribution) == 1
    assert distribution[2] > distribution[4] > distribution[6]


def test_digits_helper_is_little_endian():
    assert digits(123, 10, 4) == [3, 2, 1, 0]
