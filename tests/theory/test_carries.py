from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import pytest
from brute_force import all_pairs, digits
from fakes import longest_chain
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.columns import chain_counts, digit_accuracy, digit_share, r2_ceiling
from lengthwise.theory.hypotheses import TRUTH, Hypothesis, windowed_sum


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
    (part,) = Domain.parse("D60").parts
    counts = chain_counts(part)
    assert sum(counts) == part.size
    assert counts[2] > counts[4] > counts[6]


def test_digits_helper_is_little_endian():
    assert digits(123, 10, 4) == [3, 2, 1, 0]


def weighted_pairs(domain):
    limit = domain.base**domain.length
    pairs = [(a, b, domain.weight((a, b))) for a in range(limit) for b in range(limit)]
    return [pair for pair in pairs if pair[2]]


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize("text", ["D1", "D3", "B3", "D2+D3", "D1..3", "D3[lead>=1]", "3x1", "2x3", "1..3x2"])
def test_equals_counting(base, text):
    domain, task = Domain.parse(text, base), Task.parse("add", base)
    pairs = weighted_pairs(domain)
    for hypothesis in (TRUTH, Hypothesis("truncated", 1), Hypothesis("truncated", 2)):
        answers = [(hypothesis(task, a, b), a + b, weight) for a, b, weight in pairs]
        for position in range(1, domain.length + 3):
            unit = base ** (position - 1)
            counted = sum(w for said, true, w in answers if said // unit % base == true // unit % base)
            assert digit_accuracy(hypothesis, domain, position) == counted


@pytest.mark.parametrize("text", ["D1", "D2", "B2", "D2[lead>=6]", "D1+D2", "2x1"])
def test_shares_of_digits_equal_counting(text):
    domain = Domain.parse(text)
    pairs = weighted_pairs(domain)
    for position in range(1, 5):
        for digit in range(10):
            counted = sum(weight for a, b, weight in pairs if (a + b) // 10 ** (position - 1) % 10 == digit)
            assert digit_share(digit, domain, position) == counted


def test_the_paper_s_counterexample_has_one_fifth_digit():
    assert digit_share(1, Domain.parse("D4[lead>=6]"), 5) == 1
    assert digit_share(1, Domain.parse("D3"), 5) == 0


def test_windowed_is_refused():
    with pytest.raises(InputError, match="windowed:5"):
        digit_accuracy(Hypothesis("windowed", 5), Domain.parse("D4"), 2)


def redrawn(pairs, position, base, width):
    """Every problem with its columns around a position drawn anew, as often as it comes up."""
    around = [column for column in (position - 2, position - 1, position) if 0 <= column < width]
    for a, b in pairs:
        x, y = digits(a, base, width), digits(b, base, width)
        for fresh in product(product(range(base), repeat=2), repeat=len(around)):
            for column, (p, q) in zip(around, fresh, strict=True):
                x[column], y[column] = p, q
            yield x, y


def weighted_r2(cells):
    """Of the best function of the cells: {(features, digit): weight}."""
    total = sum(cells.values())
    mean = sum(w * d for (_, d), w in cells.items()) / total
    variance = sum(w * (d - mean) ** 2 for (_, d), w in cells.items())
    groups = defaultdict(list)
    for (features, digit), weight in cells.items():
        groups[features].append((digit, weight))
    left = Fraction()
    for group in groups.values():
        own = sum(w * d for d, w in group) / sum(w for _, w in group)
        left += sum(w * (d - own) ** 2 for d, w in group)
    return 1 - left / variance


@pytest.mark.parametrize(
    ("text", "base", "width"),
    [
        ("D2", 2, 5),
        ("D1", 3, 4),
        ("D2", 3, 4),
        ("B2", 3, 4),
        ("D2[lead>=2]", 3, 4),
        ("0.25*D1+0.75*D2", 3, 4),
        ("3x1", 2, 5),
        ("1x2", 3, 4),
    ],
)
def test_the_ceiling_is_what_the_best_function_reaches(text, base, width):
    domain = Domain.parse(text, base)
    for position in range(1, width):
        cells = defaultdict(Fraction)
        for weight, part in zip(domain.weights, domain.parts, strict=True):
            share = Fraction(weight, part.size)
            for x, y in redrawn(all_pairs(single(part)), position, base, width):
                value = sum((p + q) * base**k for k, (p, q) in enumerate(zip(x, y, strict=True)))
                below = (x[position - 2] + y[position - 2]) // base if position > 1 else 0
                features = (x[position - 1] + y[position - 1]) % base, below
                cells[features, digits(value, base, position)[-1]] += share
        assert r2_ceiling(domain, position) == weighted_r2(cells), position


def single(part: Part) -> Domain:
    return Domain((part,), (Fraction(1),))


def test_far_above_the_operands_nothing_is_hidden():
    assert r2_ceiling(Domain.parse("D4"), 7) == r2_ceiling(Domain.parse("D4"), 20) == 1
