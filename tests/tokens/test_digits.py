"""Arithmetic on digit tensors against Python's integers."""

import random

import pytest
import torch
from fakes import Maximum
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from lengthwise.arithmetic import OPERATIONS, Task
from lengthwise.errors import InputError
from lengthwise.tokens.digits import (
    DIRECT_WIDTH,
    MAX_MODULUS,
    Answers,
    add,
    from_ints,
    modulo,
    multiply,
    to_ints,
    truncate,
    windowed_add,
)

torch.set_num_threads(1)

LONG = 10_000


@st.composite
def operands(draw, longest=80):
    """(base, width, a, b): digits rich in carries, and operands often close to each other."""
    base, width = draw(st.integers(2, 36)), draw(st.integers(1, longest))
    digit = st.sampled_from([0, 1, base // 2, base - 1]) | st.integers(0, base - 1)
    rows = st.lists(digit, min_size=width, max_size=width)
    a, b = draw(rows), draw(rows)
    shape = draw(st.sampled_from(["free", "complement", "near"]))
    if shape == "complement":
        b = [base - 1 - x for x in a[:-1]] + b[-1:]
        b[0] = min(base - 1, b[0] + 1)
    if shape == "near":
        b = b[:1] + a[1:]
    return base, width, value_of(a, base), value_of(b, base)


def value_of(digits, base):
    return sum(d * base**i for i, d in enumerate(digits))


def as_digits(base, width, *values):
    return tuple(from_ints([value], width, base) for value in values)


@given(operands())
def test_round_trip(case):
    base, width, a, b = case
    digits = from_ints([a, b], width, base)
    assert digits.shape == (2, width) and digits.dtype == torch.int8
    assert to_ints(digits, base) == [a, b]
    assert digits[0].tolist() == [a // base**i % base for i in range(width)]


@given(operands())
def test_add(case):
    base, width, a, b = case
    total = add(*as_digits(base, width, a, b), base)
    assert total.shape == (1, width + 1) and total.dtype == torch.int8
    assert total.amin() >= 0 and total.amax() < base
    assert to_ints(total, base) == [a + b]


@given(operands(), st.integers(1, 70))
def test_multiply(case, other_width):
    base, width, a, b = case
    b %= base**other_width
    product = multiply(*as_digits(base, width, a), *as_digits(base, other_width, b), base)
    assert product.shape == (1, width + other_width) and product.dtype == torch.int8
    assert product.amin() >= 0 and product.amax() < base
    assert to_ints(product, base) == [a * b]


@pytest.mark.parametrize("base", [2, 3, 10, 36])
@pytest.mark.parametrize("width", [1, 2, 3, DIRECT_WIDTH, DIRECT_WIDTH + 1, 130])
def test_multiply_largest_operands(base, width):
    top = base**width - 1
    assert to_ints(multiply(*as_digits(base, width, top, top), base), base) == [top * top]


@pytest.mark.parametrize("base", [2, 10, 36])
def test_ten_thousand_digits(base):
    numbers = random.Random(base)
    top = base**LONG - 1
    pairs = [(top, 1), (top, top), (numbers.randrange(top), numbers.randrange(top))]
    a, b = (from_ints(side, LONG, base) for side in zip(*pairs, strict=True))
    assert to_ints(add(a, b, base), base) == [x + y for x, y in pairs]
    product = multiply(a, b, base)
    assert to_ints(product, base) == [x * y for x, y in pairs]
    assert to_ints(modulo(product, MAX_MODULUS - 1, base, 31), base) == [
        x * y % (MAX_MODULUS - 1) for x, y in pairs
    ]
    assert to_ints(windowed_add(a, b, LONG + 1, base), base) == [x + y for x, y in pairs]


@given(operands(), st.integers(1, MAX_MODULUS))
def test_modulo(case, modulus):
    base, width, a, b = case
    digits = from_ints([a, b], width, base)
    assert to_ints(modulo(digits, modulus, base, 33), base) == [a % modulus, b % modulus]


def test_modulo_per_member():
    digits = from_ints([123456, 999999, 5], 6, 10).expand(3, 3, 6)
    moduli = torch.tensor([[101], [1], [97]])
    assert to_ints(modulo(digits, moduli, 10, 3), 10) == [
        value % p for p in (101, 1, 97) for value in (123456, 999999, 5)
    ]


@given(operands(), st.integers(1, 90))
def test_truncate(case, length):
    base, width, a, b = case
    digits = from_ints([a, b], width, base)
    expected = [a % base**length, b % base**length]
    assert to_ints(truncate(digits, length), base) == expected


def windowed_by_hand(a, b, window, base, width):
    """Digit i of the sum of the two slices that the window sees, cut out of the integers."""
    result = 0
    for i in range(width + 1):
        low = max(0, i - window + 1)
        size = base ** (i - low + 1)
        seen = a // base**low % size + b // base**low % size
        result += seen // base ** (i - low) % base * base**i
    return result


@given(operands(longest=25), st.integers(1, 27))
def test_windowed_add(case, window):
    base, width, a, b = case
    digits = as_digits(base, width, a, b)
    result = windowed_add(*digits, window, base)
    assert result.shape == (1, width + 1) and result.dtype == torch.int8
    assert to_ints(result, base) == [windowed_by_hand(a, b, window, base, width)]


def test_values_that_do_not_fit():
    for value in (1000, -1):
        with pytest.raises(InputError, match=f"{value} is out of range"):
            from_ints([1, value], 3, 10)
    with pytest.raises(InputError, match=r"modulus 2147483649 .*\(1 to 2147483648\)"):
        Answers([Task("add", MAX_MODULUS + 1)], 11)
    with pytest.raises(InputError, match="modulus 0"):
        modulo(from_ints([5], 1, 10), 0, 10, 1)


STACKS = [
    ["add"],
    ["mul"],
    ["add%101", "add%7"],
    ["sub", "sub%7"],
    ["add", "mul", "sub", "add%101", "mul%150", "mul%1"],
]


@pytest.mark.parametrize("names", STACKS, ids="+".join)
@pytest.mark.parametrize("base", [2, 10, 36])
@settings(max_examples=10)
@given(data=st.data())
def test_answers_of_a_stack(names, base, data):
    tasks, width = [Task.parse(name, base) for name in names], 6
    numbers = st.lists(st.integers(0, base**width - 1), min_size=3, max_size=3)
    left, right = ([data.draw(numbers) for _ in tasks] for _ in "ab")
    a, b = (torch.stack([from_ints(row, width, base) for row in rows]) for rows in (left, right))
    answer_width = max(task.answer_digits(width) for task in tasks)
    answers = Answers(tasks, answer_width)(a, b)
    assert answers.shape == (len(tasks), 3, answer_width) and answers.dtype == torch.int8
    expected = [
        task(x, y) for task, xs, ys in zip(tasks, left, right, strict=True) for x, y in zip(xs, ys, strict=True)
    ]
    assert to_ints(answers, base) == expected


def test_answers_are_padded_and_must_fit():
    a, b = as_digits(10, 3, 999, 1)
    assert Answers([Task("add")], 8)(a[None], b[None]).tolist() == [[[0, 0, 0, 1, 0, 0, 0, 0]]]
    with pytest.raises(AssertionError, match="do not fit"):
        Answers([Task("add")], 3)(a[None], b[None])


def test_own_operation(monkeypatch):
    """One that has no form on digits is computed on integers."""
    monkeypatch.setitem(OPERATIONS, "max", Maximum())
    a, b = as_digits(10, 3, 512, 499)
    assert to_ints(Answers([Task("max"), Task("add")], 4)(a.expand(2, 1, 3), b.expand(2, 1, 3)), 10) == [
        512,
        1011,
    ]


def test_nothing_waits_for_the_device():
    """Fake tensors hold no data, so anything that looks at a value raises."""
    a = torch.randint(0, 10, (6, 4, 60), dtype=torch.int8)
    answers = Answers([Task.parse(name) for name in STACKS[-1]], 120)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert answers(a, a).shape == (6, 4, 120)
        assert truncate(a, 3).shape == a.shape
        assert windowed_add(a, a, 3, 10).shape == (6, 4, 61)
