from fractions import Fraction

import pytest
from brute_force import all_pairs, digits
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Part, Task
from lengthwise.errors import InputError
from lengthwise.theory.coverage import coverage


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
