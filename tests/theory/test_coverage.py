from fractions import Fraction
from itertools import product

import pytest
from brute_force import all_pairs, digits
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.columns import coverage, unseen_pairs


@settings(max_examples=80)
@given(
    st.sampled_from("DBx"),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(2, 5),
    st.booleans(),
    st.none() | st.integers(1, 30),
)
def test_equals_what_enumeration_meets(kind, lengths, base, bounded, modulus):
    lead = base - 1 if bounded else None
    part = Part.of_lengths(*lengths, base) if kind == "x" else Part(kind, lengths[0], lead, base)
    domain = Domain((part,), (Fraction(1),))
    task = Task("add", modulus, base)
    for row in coverage(task, domain):
        i = row.position - 1
        met = [(digits(a, base, i + 1)[i], digits(b, base, i + 1)[i]) for a, b in all_pairs(domain)]
        carries = {(a % base**i + b % base**i) // base**i for a, b in all_pairs(domain)}
        answers = {digits(task(a, b), base, i + 1)[i] for a, b in all_pairs(domain)}
        assert (row.pairs, row.carries, row.outputs) == (set(met), carries, answers)


def test_the_papers_counterexample():
    """Trained on top digits of at least 6, position 5 only ever shows a 1; on all of D4 it shows 0 and 1."""
    add = Task.parse("add")
    assert coverage(add, Domain.parse("D4[lead>=6]"))[4].outputs == {1}
    assert coverage(add, Domain.parse("D4"))[4].outputs == {0, 1}
    assert coverage(add, Domain.parse("D4[lead>=6]"))[3].outputs == set(range(2, 10))


def test_multiplication_is_refused():
    with pytest.raises(InputError, match="mul"):
        coverage(Task.parse("mul"), Domain.parse("D2"))


def met_together(domain, width):
    """By looking at every pair: which digits of a and b occur together, for all pairs of positions."""
    found = {}
    for part in domain.parts:
        for a, b in all_pairs(Domain((part,), (Fraction(1),))):
            a_digits, b_digits = (digits(number, domain.base, width) for number in (a, b))
            for j, k in product(range(width), repeat=2):
                found.setdefault((j + 1, k + 1), set()).add((a_digits[j], b_digits[k]))
    return found


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize("task", ["add", "mul", "add%5", "mul%4"])
@pytest.mark.parametrize("train", ["D3", "B3", "D3[lead>=1]", "D2+D3", "D1+B3", "3x2", "2x3+3x3", "1..3x2", "3x1"])
@pytest.mark.parametrize("test", ["D1", "D2", "B2", "D3", "1x2", "2x1", "D1+2x3"])
def test_unseen_pairs_equal_those_of_enumeration(task, train, test, base):
    task, train, test = Task.parse(task, base), Domain.parse(train, base), Domain.parse(test, base)
    seen, needed = met_together(train, train.length), met_together(test, train.length)
    plain_sum = task.operation == "add" and task.modulus is None
    expected = {
        (j, k): needed[j, k] - seen[j, k]
        for j, k in seen
        if (j == k or not plain_sum) and not needed[j, k] <= seen[j, k]
    }
    found = unseen_pairs(task, train, test)
    assert {(row.a_position, row.b_position): row.pairs for row in found} == expected
    assert len(found) == len(expected)


def test_all_of_the_trained_length_leaves_one_pair_unseen_and_a_mixture_none():
    for task in map(Task.parse, ("add", "mul", "add%7", "mul%100")):
        (only,) = unseen_pairs(task, Domain.parse("D40"), Domain.parse("D3"))
        assert (only.a_position, only.b_position, only.pairs) == (40, 40, {(0, 0)})
        assert unseen_pairs(task, Domain.parse("D39+D40"), Domain.parse("D3")) == []
        assert unseen_pairs(task, Domain.parse("D40"), Domain.parse("B40")) == []
