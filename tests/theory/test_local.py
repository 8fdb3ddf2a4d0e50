"""The local rule against arithmetic, and views against writing every sum of a domain out."""

from fractions import Fraction
from itertools import product

import pytest
from brute_force import all_pairs, digits
from hypothesis import given
from hypothesis import strategies as st
from views import View, local_views, next_digit, unseen_views

from lengthwise.arithmetic import Domain, Task, digit_count
from lengthwise.errors import InputError
from lengthwise.theory.hypotheses import Hypothesis, local_sum

LAYOUTS = [("reversed", None), ("level", None), ("aligned", 0), ("aligned", 1), ("aligned", 2), ("padded", 3)]
"""With the number of spare columns of the longest operands."""


@pytest.mark.parametrize("base", range(2, 17))
def test_a_carry_leaves_a_column_exactly_if_its_digits_sum_to_more_than_the_digit_written(base):
    for a, b, carry in product(range(base), range(base), (0, 1)):
        assert ((a + b + carry) >= base) == (a + b > (a + b + carry) % base)


@pytest.mark.parametrize("base", range(2, 17))
def test_no_true_sum_tells_one_threshold_from_another(base):
    for a, b, carry in product(range(base), range(base), (0, 1)):
        difference = a + b - (a + b + carry) % base
        assert {difference >= least for least in range(1, base)} <= {a + b + carry >= base}


@pytest.mark.parametrize("base", range(2, 17))
def test_the_entering_carry_decides_the_leaving_one_only_in_a_column_that_sums_to_base_less_one(base):
    for a, b in product(range(base), range(base)):
        assert ((a + b >= base) != (a + b + 1 >= base)) == (a + b == base - 1)


@given(st.integers(0, 10**60), st.integers(0, 10**60), st.integers(2, 36))
def test_the_local_sum_is_the_sum(a, b, base):
    assert local_sum(a, b, base) == a + b


@given(st.integers(2, 36), st.integers(1, 200))
def test_a_carry_through_the_whole_number(base, length):
    assert local_sum(base**length - 1, 1, base) == base**length


def views_of(a, b, base, layout, width):
    """Writes one sum out, with what the writer looks at before each token."""
    a_length, b_length = digit_count(a, base), digit_count(b, base)
    longer = max(a_length, b_length)
    if layout in ("aligned", "padded"):
        a_length = b_length = width
        tokens = digits(a + b, base, width + 1)
    elif layout == "level":
        a_length = b_length = longer
        tokens = [*digits(a + b, base, longer + 1), "end"]
    else:
        tokens = [*digits(a + b, base, digit_count(a + b, base)), "end"]

    def digit(number, length, i):
        return number // base**i % base if 0 <= i < length else None

    for i, token in enumerate(tokens):
        written = tokens[i - 1] if i else None
        columns = [
            digit(number, length, j) for j in (i - 1, i) for number, length in ((a, a_length), (b, b_length))
        ]
        yield View(columns[0], columns[1], written, columns[2], columns[3]), token


def written_out(domain, layout, width):
    found = {}
    for part in domain.parts:
        for a, b in all_pairs(Domain((part,), (Fraction(1),))):
            for view, token in views_of(a, b, domain.base, layout, width):
                found.setdefault(view, set()).add(token)
    return found


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize("name", ["D1", "D2", "D3", "D4", "B3", "D1..3", "3x2"])
@pytest.mark.parametrize(("layout", "spare"), LAYOUTS)
def test_views_are_those_of_writing_every_sum(name, layout, spare, base):
    domain = Domain.parse(name, base)
    width = None if spare is None else domain.length + spare
    found = written_out(domain, layout, width)
    assert local_views(domain, layout, width) == set(found)
    for view, tokens in found.items():
        (token,) = tokens  # what is written is a function of the view
        assert token in ("end", next_digit(view, base))
        assert token != "end" or next_digit(view, base) == 0 or view[3:] == (None, None)


@pytest.mark.parametrize("base", [2, 3, 10])
@pytest.mark.parametrize("layout", ["reversed", "level"])
def test_four_digits_determine_the_rule_for_all_longer_operands_and_three_do_not(layout, base):
    three, four, five, six = (Domain.parse(f"D{n}", base) for n in (3, 4, 5, 6))
    assert local_views(four, layout) == local_views(five, layout) == local_views(six, layout)
    assert unseen_views(three, four, layout)


@pytest.mark.parametrize("base", [2, 3, 10])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_with_fixed_widths_and_two_spare_columns_three_digits_determine_it(n, base):
    width = 8
    for longer in range(n + 1, width + 1):
        unseen = unseen_views(Domain.parse(f"D{n}", base), Domain.parse(f"D{longer}", base), "aligned", width)
        assert bool(unseen) == (n < 3 or longer > width - 2)


@pytest.mark.parametrize("spare", [0, 1])
def test_three_digits_without_two_spare_columns_do_not(spare):
    """The view that is missing has zeros in both columns, and a carry written in the lower one."""
    width = 3 + spare
    missing = View(0, 0, 1, 0, 0)
    assert missing not in local_views(Domain.parse("D3"), "aligned", width)
    assert missing in local_views(Domain.parse("D3"), "aligned", 5)


def test_the_hypothesis_is_truth_by_another_way():
    local = Hypothesis.parse("local")
    assert str(local) == "local" and local(Task.parse("add"), 9999, 1) == 10000
    for task in ("mul", "add%7"):
        with pytest.raises(InputError, match="local"):
            local(Task.parse(task), 1, 1)
    with pytest.raises(InputError):
        Hypothesis.parse("local:3")


@pytest.mark.parametrize(
    ("train", "test", "layout", "width", "unseen"),
    [
        ("D3", "D6", "reversed", None, 2120),
        ("D1..3", "D6", "reversed", None, 2120),
        ("D4", "D6", "reversed", None, 0),
        ("D3", "D6", "level", None, 100),
        ("B4", "B6", "level", None, 0),
        ("B4", "D6", "level", None, 36),
        ("D2", "D6", "aligned", 8, 9900),
        ("D3", "D6", "aligned", 8, 0),
    ],
)
def test_the_numbers_of_the_document(train, test, layout, width, unseen):
    assert len(unseen_views(Domain.parse(train), Domain.parse(test), layout, width)) == unseen
