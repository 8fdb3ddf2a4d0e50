from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part, Task, default_test, digit_count, parse_test_domains
from lengthwise.errors import InputError


@st.composite
def parts(draw, longest=3, largest_base=3):
    base = draw(st.integers(2, largest_base))
    if draw(st.booleans()):
        return Part.of_lengths(draw(st.integers(1, longest)), draw(st.integers(1, longest)), base)
    lead = draw(st.none() | st.integers(1, base - 1))
    return Part(draw(st.sampled_from("DB")), draw(st.integers(1, longest)), lead, base)


def belongs(part: Part, a: int, b: int) -> bool:
    """The definition in words: digit counts, and a bound on the digits at the part's length."""
    base, n = part.base, part.length
    lengths = (digit_count(a, base), digit_count(b, base))
    if part.kind == "x":
        return lengths == part.exact
    right_length = max(lengths) == n if part.kind == "D" else lengths == (n, n)
    leads = (a // base ** (n - 1), b // base ** (n - 1))
    return right_length and (part.lead is None or min(leads) >= part.lead)


@given(parts())
def test_membership_size_and_rectangles_follow_the_definition(part):
    numbers = range(part.base ** (part.length + 1))
    held = {(a, b) for a, b in product(numbers, numbers) if belongs(part, a, b)}
    assert part.size == len(held)
    listed = [pair for rows, columns in part.rectangles for pair in product(rows, columns)]
    assert len(listed) == len(set(listed)) and set(listed) == held
    assert all(((a, b) in part) == ((a, b) in held) for a, b in product(numbers, numbers))


@given(parts())
def test_lead_pairs_and_free_digits_make_up_the_part(part):
    a_unit, b_unit = (part.base ** (length - 1) for length in part.lengths)
    tops = {(a // a_unit, b // b_unit) for r, c in part.rectangles for a, b in product(r, c)}
    assert tops == set(part.lead_pairs)


def members(part: Part) -> set[tuple[int, int]]:
    numbers = range(part.base**part.length)
    return {pair for pair in product(numbers, numbers) if belongs(part, *pair)}


@given(parts())
def test_columns_are_independent_and_uniform(part):
    columns = [part.column(position) for position in range(1, part.length + 2)]
    made = [
        tuple(sum(pair[k] * part.base**i for i, pair in enumerate(chosen)) for k in (0, 1))
        for chosen in product(*columns)
    ]
    assert len(made) == part.size and set(made) == members(part)


@given(parts(), parts())
def test_parts_are_inside_each_other_or_apart(one, other):
    if one.base == other.base:
        own, others = members(one), members(other)
        assert one.is_inside(other) == (own <= others)
        assert not own & others or own <= others or others <= own


@given(st.lists(parts(largest_base=2), min_size=1, max_size=5, unique=True))
def test_a_mixture_has_the_size_of_its_union(mixture):
    domain = Domain(tuple(mixture), (Fraction(1, len(mixture)),) * len(mixture))
    pairs = set[tuple[int, int]]().union(*map(members, mixture))
    assert domain.size == len(pairs)
    assert domain.length == max(digit_count(max(pair), 2) for pair in pairs)
    lengths = [{digit_count(number, 2) for number in numbers} for numbers in zip(*pairs, strict=True)]
    assert domain.operand_lengths == tuple((min(found), max(found)) for found in lengths)


@pytest.mark.parametrize("task", ["add", "mul", "mul%30"])
@pytest.mark.parametrize("text", ["3x1", "1x3", "1..3x2", "D2+3x1", "B2"])
def test_answers_fit_and_no_digit_is_to_spare(text, task):
    domain, asked = Domain.parse(text, 3), Task.parse(task, 3)
    answers = (asked(*pair) for part in domain.parts for pair in members(part))
    assert domain.answer_digits(asked) == max(digit_count(answer, 3) for answer in answers)


@pytest.mark.parametrize(
    "text",
    [
        *("D4", "B1", "D4+D5", "D1..4", "0.6*D6+0.4*D7", "D4[lead>=6]", "1/3*D1+2/3*B2", "D4+B4"),
        *("40x2", "2x40", "1x1", "1..40x2", "2x2+3x2", "0.25*40x2+0.75*D2", "1x2+3x2+4x2", "40x2+D2"),
    ],
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
    assert Domain.parse("1..4x2").weights == (Fraction(1, 4),) * 4
    assert [str(d) for d in parse_test_domains("8..9x2,1..2x1+D2")] == ["8x2", "9x2", "0.25*1x1+0.25*2x1+0.5*D2"]


@pytest.mark.parametrize(
    ("train", "test"),
    [("D4", "D1..9"), ("1..4x2", "1..9x2"), ("2x40", "1..7x40"), ("4x2+4x3", "D1..9"), ("4x2+D4", "D1..9")],
)
def test_the_usual_test_lengths_go_five_beyond_training(train, test):
    assert default_test(Domain.parse(train)) == test
    assert default_test(Domain.parse("98x2"), longest=100) == "1..100x2"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("D0", ["0", "D0", "1 to"]),
        ("D4+", ["D4+", "write D4"]),
        ("D5..2", ["D5..2", "write D2..5"]),
        ("D4[lead>=11]", ["11", "1 to 9"]),
        ("D4[lead>=0]", ["0", "1 to 9"]),
        ("0.6*D6+0.6*D7", ["D6+D7", "sum to 1, not to 1.2"]),
        ("0.5*D6+D7", ["0.5*D6+D7", "all of its terms or none"]),
        ("1/0*D6", ["1/0"]),
        ("E4", ["E4", "write D4"]),
        ("D4,D5", ["D4,D5", "write D4"]),
        ("", ["write D4"]),
        ("D1..99999999", ["99999999", "10000"]),
        ("0x2", ["length 0", "0x2", "1 to"]),
        ("2x0", ["length 0", "2x0", "1 to"]),
        ("1..20000x2", ["20000", "10000"]),
        ("5..2x2", ["5..2x2", "2..5x2"]),
        *(
            (text, [repr(text), "40x2 (a has 40, b has 2)"])
            for text in ("4x", "x2", "4", "4x2x2", "2x1..4", "4X2")
        ),
        *((text, [repr(text), "write D4"]) for text in ("D4x2", "4x2[lead>=3]", "-4x2", "4 x 2")),
    ],
)
def test_bad_domains_name_the_value_and_what_would_do(text, named):
    with pytest.raises(InputError) as error:
        Domain.parse(text)
    assert all(word in str(error.value) for word in named)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["0.125*D1+0.875*D2", "1/3*D1+2/3*D2", "0.00001*D1+0.99999*D2", "1/1048576*D1+1048575/1048576*D2"],
)
def test_weights_are_decimals_where_these_are_short(text):
    assert str(Domain.parse(text)) == text
