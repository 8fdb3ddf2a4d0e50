"""Plateaus against enumeration: every pair of a domain, sorted by what is known of it."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest
from brute_force import all_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.plateaus import knowing_answer, knowing_operands, plateaus


def enumerated(task, domain, known):
    """The chance to be right with the best guess and with a random one, after sorting all pairs by what is known,
    with no use of residues."""
    groups = defaultdict(lambda: defaultdict(Fraction))
    for weight, part in zip(domain.weights, domain.parts, strict=True):
        for a, b in all_pairs(Domain((part,), (Fraction(1),))):
            groups[known(a, b)][task(a, b)] += weight / part.size
    chances = [(max(answers.values()), sum(answers.values()) / len(answers)) for answers in groups.values()]
    return tuple(map(sum, zip(*chances, strict=True)))


def knowledge(task, domain):
    """What is known in each plateau, as a function of the pair."""
    functions = {"nothing": lambda a, b: None}
    for d in range(2, task.modulus or 0):
        if task.modulus % d == 0:
            functions[f"answer mod {d}"] = lambda a, b, d=d: task(a, b) % d
    for k in range(1, domain.length):
        unit = task.base**k
        functions[f"operands mod {task.base}^{k}"] = lambda a, b, unit=unit: (a % unit, b % unit)
    return functions


def check_all(text, base, train):
    task, domain = Task.parse(text, base), Domain.parse(train, base)
    found = plateaus(task, domain)
    expected = {known: enumerated(task, domain, f) for known, f in knowledge(task, domain).items()}
    assert {plateau.known: (plateau.accuracy, plateau.by_chance) for plateau in found} == expected
    assert [plateau.accuracy for plateau in found] == sorted(best for best, _ in expected.values())


ALONE = ["D3", "B3", "3x2", "2x3", "3x1", "D3[lead>=1]"]
MIXED = ["D1..3", "D2+B3", "0.4*D1+0.6*2x3", "1..3x2", "D2+D3+3x1"]


@pytest.mark.parametrize("train", ALONE + MIXED)
@pytest.mark.parametrize("task", ["add", "add%6", "mul%6", "add%12", "mul%12", "mul%15", "mul%7"])
def test_equals_enumeration(task, train):
    check_all(task, 3, train)


@settings(max_examples=40)
@given(
    st.sampled_from(["add", "mul"]),
    st.integers(1, 30),
    st.integers(2, 5),
    st.sampled_from(ALONE + MIXED),
)
def test_equals_enumeration_for_any_modulus(operation, modulus, base, train):
    check_all(f"{operation}%{modulus}", base, train if base < 5 else train.replace("3", "2"))


@pytest.mark.parametrize("text", ["mul%36", "mul%50", "add%40", "add"])
def test_equals_enumeration_in_base_ten(text):
    check_all(text, 10, "D2")


def residue_count(interval, residue, modulus):
    return (interval.stop - 1 - residue) // modulus - (interval.start - 1 - residue) // modulus


@pytest.mark.parametrize(("modulus", "base"), [(6, 2), (9, 10), (10, 6), (12, 2)])
def test_operands_too_long_for_machine_integers(modulus, base):
    """High parts counted one by one by their residues, for operands of 40 to 50 digits."""
    task, domain = Task("mul", modulus, base), Domain.parse("0.5*D40+0.5*B50", base)
    expected = Fraction()
    for a0, b0 in product(range(base), repeat=2):
        answers = defaultdict(Fraction)
        for weight, part in zip(domain.weights, domain.parts, strict=True):
            for rows, columns in part.rectangles:
                high_a, high_b = (range(r.start // base, r.stop // base) for r in (rows, columns))
                for x, y in product(range(modulus), repeat=2):
                    pairs = residue_count(high_a, x, modulus) * residue_count(high_b, y, modulus)
                    answers[task(x * base + a0, y * base + b0)] += weight * pairs / part.size
        expected += max(answers.values())
    assert knowing_operands(task, domain, 1).accuracy == expected


def test_the_heights_at_which_training_stands_still():
    d3 = Domain.parse("D3")
    assert knowing_answer(Task.parse("mul%150"), d3, 50).accuracy == Fraction(153, 275)
    for both_long in ("B2", "B3"):
        assert knowing_answer(Task.parse("mul%150"), Domain.parse(both_long), 50).accuracy == Fraction(5, 9)
    assert knowing_operands(Task.parse("mul%200"), d3, 2).accuracy == Fraction(83, 132)
    assert abs(knowing_answer(Task.parse("mul%51"), d3, 17).accuracy - Fraction(5, 9)) < Fraction(1, 1000)


def test_who_knows_more_is_right_more_often():
    task, domain = Task.parse("mul%60"), Domain.parse("D1..3")
    by_answer = {d: knowing_answer(task, domain, d).accuracy for d in (1, 2, 6, 30, 60)}
    by_operands = [knowing_operands(task, domain, k).accuracy for k in range(4)]
    assert list(by_answer.values()) == sorted(by_answer.values()) and by_answer[60] == 1
    assert by_operands == sorted(by_operands) and by_operands[-1] == 1
    assert by_answer[1] == by_operands[0]


@pytest.mark.parametrize(
    ("task", "train"), [("mul", "D2"), ("mul%2003", "D1"), ("add%20001", "D2"), ("mul%997", "D4")]
)
def test_refused(task, train):
    with pytest.raises(InputError, match=task):
        plateaus(Task.parse(task), Domain.parse(train))
