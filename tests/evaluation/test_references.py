"""Hypotheses on digits are hypotheses on integers, and their counts are theory's exact accuracies."""

from fractions import Fraction

import pytest
import torch
from fakes import PerfectModel, TheoryModel
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.evaluation import problems
from lengthwise.evaluation.measure import Row, measure
from lengthwise.evaluation.problems import Member, Subject, reference_answers
from lengthwise.model.positions import find_encoding
from lengthwise.theory.accuracy import accuracy
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.digits import from_ints, to_ints
from lengthwise.tokens.layouts import build_layout

WIDTH = 6
CPU = torch.device("cpu")


@st.composite
def cases(draw):
    base = draw(st.integers(2, 36))
    operation = draw(st.sampled_from(["add", "mul", "sub"]))
    modulus = draw(st.none() | st.integers(1, base**4))
    kinds = ["truncated", "leading", "folded", *(["windowed"] if operation == "add" else [])]
    hypotheses = [TRUTH, *(Hypothesis(kind, draw(st.integers(1, 7))) for kind in kinds)]
    number = st.integers(0, base**WIDTH - 1)
    pairs = draw(st.lists(st.tuples(number, number), min_size=1, max_size=8))
    return Task(operation, modulus, base), draw(st.sampled_from(hypotheses)), pairs


@settings(max_examples=200)
@given(cases())
def test_digits_say_what_integers_say(case):
    task, hypothesis, pairs = case
    a, b = (from_ints(numbers, WIDTH, task.base).unsqueeze(0) for numbers in zip(*pairs, strict=True))
    width = task.answer_digits(WIDTH)
    answers = reference_answers([task], [hypothesis], a, b, width)
    assert answers.shape == (1, len(pairs), width)
    assert to_ints(answers[0], task.base) == [hypothesis(task, x, y) for x, y in pairs]


def test_each_member_has_its_own_task_and_hypothesis():
    tasks = [Task.parse("add"), Task.parse("mul"), Task.parse("add%7")]
    hypotheses = [Hypothesis.parse("windowed:2"), Hypothesis.parse("truncated:1"), TRUTH]
    a, b = (from_ints([999, n], 3, 10).expand(3, -1, -1) for n in (1, 512))
    answers = reference_answers(tasks, hypotheses, a, b, 6)
    assert [to_ints(row, 10) for row in answers] == [
        [hypothesis(task, 999, 999) for task, hypothesis in zip([t], [h], strict=True)]
        + [hypothesis(task, 1, 512) for task, hypothesis in zip([t], [h], strict=True)]
        for t, h in zip(tasks, hypotheses, strict=True)
    ]


def test_a_hypothesis_that_says_nothing_about_a_task():
    a = from_ints([1], 3, 10).unsqueeze(0)
    with pytest.raises(InputError, match=r"windowed:2 .* mul"):
        reference_answers([Task.parse("mul")], [Hypothesis.parse("windowed:2")], a, a, 6)


def counts(task, hypothesis, domain, model=None):
    """Records of a whole domain, with a model that computes the hypothesis unless told."""
    layout = build_layout("padded", task, domain.length)
    drawing = problems.Drawing([0], domain.length, task.base, 50, CPU)
    member = Member("r", 0, task, Domain.parse("D1", task.base), draws=0)
    subject = Subject(
        TheoryModel(layout, [task], [hypothesis]) if model is None else model(layout, [task]),
        layout,
        find_encoding("learned"),
        [member],
    )
    row = Row.of(subject, problems.test_problems(domain, drawing), [hypothesis])
    assert row.problems.selection == "enumerated"
    records = measure(subject, [row], detail=False)
    return {(r.reference, r.metric): Fraction(r.correct, r.total) for r in records if r.correct is not None}


@pytest.mark.parametrize("domain", ["D1", "B2", "D3", "D4", "D2[lead>=2]"])
@pytest.mark.parametrize(
    ("task", "hypothesis"),
    [
        ("add", "truncated:1"),
        ("add", "truncated:2"),
        ("add", "windowed:1"),
        ("add", "windowed:2"),
        ("add", "windowed:3"),
        ("mul", "truncated:1"),
        ("mul", "truncated:2"),
        ("add%7", "truncated:1"),
        ("add%9", "truncated:2"),
        ("mul%6", "truncated:1"),
        ("mul%4", "truncated:2"),
    ],
)
def test_counts_of_a_whole_domain_are_theorys_fractions(task, hypothesis, domain):
    """Three independent ways: closed form, digits on tensors, a model that computes on integers."""
    base = 3
    task, hypothesis = Task.parse(task, base), Hypothesis.parse(hypothesis)
    domain = Domain.parse(domain, base)
    expected = accuracy(task, hypothesis, domain)
    found = counts(task, hypothesis, domain)
    assert found[str(hypothesis), "coincides"] == expected
    assert found[str(hypothesis), "exact"] == 1
    assert found["truth", "exact"] == expected
    of_truth = counts(task, hypothesis, domain, PerfectModel)
    assert of_truth["truth", "exact"] == 1
    assert of_truth[str(hypothesis), "exact"] == expected
