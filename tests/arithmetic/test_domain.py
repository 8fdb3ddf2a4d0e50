from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part, digit_count, parse_test_domains
from lengthwise.errors import InputError


@st.composite
def parts(draw, longest=3, largest_base=3):
    base = draw(st.integers(2, largest_base))
    lead = draw(st.none() | st.integers(1, base - 1))
    return Part(draw(st.sampled_from("DB")), draw(st.integers(1, longest)), lead, base)


def belongs(part: Part, a: int, b: int) -> bool:
    """The definition in words: digit counts, and a bound on the digits at the part's length."""
    base, n = part.base, part.length
    lengths = (digit_count(a, base), digit_count(b, base))
    right_length = max(lengths) == n if part.kind == "D" else lengths == (n, n)
    leads = (a // base ** (n - 1), b // base ** (n - 1))
    return right_length and (part.lead is None or min(leads) >= part.lead)


@given(parts())
def test_membership_size_and_rectangles_follow_the_definition(part):
    numbers = range(part.base ** (part.length + 1))
    members = {(a, b) for a, b in product(numbers, numbers) if belongs(part, a, b)}
    assert part.size == len(members)
    listed = [pair for rows, columns in part.rectangles for pair in product(rows, columns)]
    assert len(listed) == len(set(listed)) and set(listed) == members
    assert all(((a, b) in part) == ((a, b) in members) for a, b in product(numbers, numbers))


@given(parts())
def test_lead_pairs_and_free_digits_make_up_the_part(part):
    unit = part.base ** (part.length - 1)
    assert {(a // unit, b // unit) for r, c in part.rectangles for a, b in product(r, c)} == set(part.lead_pairs)
    assert len(part.lead_pairs) == part.lead_pair_count


@pytest.mark.parametrize(
    "text", ["D4", "B1", "D4+D5", "D1..4", "0.6*D6+0.4*D7", "D4[lead>=6]", "1/3*D1+2/3*B2", "D4+B4"]
)
def test_parse_and_print_round_trip(text):
    domain = Domain.parse(text)
    assert str(domain) == text
    assert Domain.parse(str(domain)) == domain


@given(st.lists(parts(largest_base=2), min_size=1, max_size=4, unique=True), st.randoms(use_true_random=False))
def test_any_mixture_round_trips(mixture, random):
    counts = [random.randint(1, 9) for _ in mixture]
    domain = Domain(tuple(mixture), tuple(Fraction(c, sum(counts)) for c in counts))
    assert Domain.parse(str(domain), 2) == domain


def test_weights_of_pairs_sum_to_one():
    domain = Domain.parse("0.75*D1+0.25*B2", base=3)
    pairs = list(product(range(9), repeat=2))
    assert sum(domain.weight(pair) for pair in pairs) == 1
    assert domain.weight((1, 2)) == Fraction(3, 4) / 9
    assert sum(pair in domain for pair in pairs) == domain.size


def test_a_mixture_counts_nested_parts_once():
    assert Domain.parse("D4+B4").size == Domain.parse("D4").size
    assert Domain.parse("D1+B1").size == 100


def test_a_range_is_a_mixture_in_training_and_rows_in_testing():
    assert Domain.parse("D1..4").weights == (Fraction(1, 4),) * 4
    assert [str(d) for d in parse_test_domains("B2..4,D1+D2,D9")] == ["B2", "B3", "B4", "D1+D2", "D9"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("D0", ["0", "D0", "1 to"]),
        ("D4+", ["D4+", "allowed"]),
        ("D5..2", ["D5..2", "allowed"]),
        ("D4[lead>=11]", ["11", "1 to 9"]),
        ("D4[lead>=0]", ["0", "1 to 9"]),
        ("0.6*D6+0.6*D7", ["0.6+0.6", "sum to 1"]),
        ("0.5*D6+D7", ["all or none"]),
        ("1/0*D6", ["1/0"]),
        ("E4", ["E4", "allowed"]),
        ("D4,D5", ["D4,D5", "allowed"]),
        ("", ["allowed"]),
        ("D1..99999999", ["99999999", "10000"]),
    ],
)
def test_bad_domains_name_the_value_and_what_is_allowed(text, named):
    with pytest.raises(InputError) as error:
        Domain.parse(text)
    assert all(word in str(error.value) for word in named)
    assert "\n" not in str(error.value)
