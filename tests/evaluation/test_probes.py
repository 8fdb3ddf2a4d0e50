"""R2 of digits and dependence by intervention, on models whose function is known."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from fakes import TheoryModel

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.probes import (
    changed_answers,
    dependence_problems,
    dynamics_problems,
    measure_changed,
    measure_dependence,
    measure_dynamics,
    out_of_sample_r2,
)
from lengthwise.evaluation.problems import Drawing, Member, Subject, reference_answers
from lengthwise.model.positions import find_encoding
from lengthwise.records.analysis import dependence_of
from lengthwise.theory.accuracy import dependence_matrix
from lengthwise.theory.columns import r2_ceiling
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.layouts import build_layout

CPU = torch.device("cpu")


def member(task="add", train="D3", seed=1, base=10):
    return Member(f"r{seed}", seed, Task.parse(task, base), Domain.parse(train, base), step=7)


class OnDigits(TheoryModel):
    """A model that computes hypotheses, fast enough for thousands of padded problems."""

    def _operands(self, ids):
        width = self.layout.operand_width
        return tuple(ids[..., start : start + width].flip(-1).to(torch.int8) for start in (1, width + 2))

    def _answers(self, k, a, b):
        tasks, hypotheses = self.tasks[k : k + 1], self.hypotheses[k : k + 1]
        return reference_answers(tasks, hypotheses, a[None], b[None], self.layout.answer_width)[0]


def computing(hypotheses, members, width, answer_width):
    layout = build_layout("padded", members[0].task, width, answer_width)
    functions = list(map(Hypothesis.parse, hypotheses))
    model = OnDigits(layout, [member.task for member in members], functions)
    return Subject(model, layout, find_encoding("learned"), members)


def drawing(members, width, count):
    return Drawing([m.seed for m in members], width, members[0].task.base, count, CPU)


def r2_of(members, hypotheses, width, answer_width, count):
    subject = computing(hypotheses, members, width, answer_width)
    return list(measure_dynamics(subject, drawing(members, width, count)))


def r2_by_run(records):
    found = {}
    for r in records:
        found.setdefault(r.run, {})[int(r.metric.removeprefix("r2:"))] = r.value
    return found


# --- dynamics ---------------------------------------------------------------------------------------------


def test_a_perfect_adder_reaches_the_ceiling_and_a_truncating_one_stops():
    members = [member(seed=1), member(seed=2)]
    records = r2_of(members, ["truth", "truncated:3"], 5, 6, 4_000)
    assert {(r.domain, r.mode, r.total, r.selection, r.step) for r in records} == {
        ("D3", "decoded", 2_000, "sampled", 7)
    }
    found = r2_by_run(records)
    assert list(found["r1"]) == list(found["r2"]) == [1, 2, 3, 4], "as many as sums of training have"
    for position, value in found["r1"].items():
        assert value == pytest.approx(float(r2_ceiling(members[0].train, position)), abs=0.015), position
    assert found["r2"][3] == pytest.approx(found["r1"][3], abs=0.02)
    assert found["r2"][4] < 0.95, "a carry that x = (a_4 + b_4) mod 10 says nothing of"


def test_under_a_modulus_it_is_the_models_own_digit():
    """Modulo 100 the two digits of a residue are those of the sum; modulo 7 no column tells the digit."""
    whole = r2_by_run(r2_of([member("add%100")], ["truth"], 4, 2, 2_000))["r1"]
    assert list(whole) == [1, 2] and min(whole.values()) > 0.99
    spread = r2_by_run(r2_of([member("add%7")], ["truth"], 4, 1, 2_000))["r1"]
    assert abs(spread[1]) < 0.1


def test_only_columns_around_a_digit_are_drawn_anew():
    members = [member(train="D3", seed=1), member(train="B2", seed=2)]
    a, b = dynamics_problems(drawing(members, 6, 2_000), [m.train for m in members], 6)
    assert a.shape == b.shape == (2, 6, 2_000, 6)
    for k, length in enumerate((3, 2)):
        for i in range(6):
            for column in range(6):
                both = torch.stack([a[k, i, :, column], b[k, i, :, column]])
                shares = torch.bincount(both.flatten().long(), minlength=10) / both.numel()
                if abs(column - i) <= 1:
                    assert (shares - 0.1).abs().max() < 0.03
                elif column >= length:
                    assert shares[0] == 1
                elif column == length - 1:
                    assert abs(shares[0] - (0.0 if k else 1 / 11)) < 0.03, "leads are those of the domain"
    alone, _ = dynamics_problems(drawing(members[1:], 6, 2_000), [members[1].train], 6)
    assert torch.equal(alone[0], a[1]), "a member's problems depend on its own seed"


def test_r2_is_out_of_sample_and_needs_a_digit_that_varies():
    rng = np.random.default_rng(0)
    features = rng.integers(0, 10, (4_000, 2)).astype(np.int8)
    noise = rng.integers(0, 10, 4_000)
    assert -0.2 < out_of_sample_r2(features, noise) < 0
    assert out_of_sample_r2(features, features[:, 0].astype(np.int64)) == 1
    assert out_of_sample_r2(features, np.zeros(4_000, dtype=np.int64)) is None


# --- dependence -------------------------------------------------------------------------------------------


def test_interventions_change_one_digit_of_a_alone():
    members = [member(seed=seed, base=4) for seed in (1, 2)]
    a, b = dependence_problems(drawing(members, 5, 3_000), 3)
    assert a.shape == b.shape == (2, 4, 3_000, 5)
    assert (a[..., 3:] == 0).all() and (b[..., 3:] == 0).all()
    assert (b == b[:, :1]).all()
    for j in range(3):
        same = a[:, j + 1] == a[:, 0]
        assert not same[..., j].any() and same[..., [c for c in range(5) if c != j]].all()
        steps = (a[:, j + 1, :, j] - a[:, 0, :, j]) % 4
        assert ((torch.bincount(steps.flatten().long()) / steps.numel())[1:] - 1 / 3).abs().max() < 0.03
        assert (torch.bincount(a[:, 0, :, j].flatten().long()) / steps.numel() - 1 / 4).abs().max() < 0.03
    assert not torch.equal(a[0], a[1])


@pytest.mark.parametrize(
    ("task", "hypothesis"),
    [
        ("add", "truth"),
        ("add", "truncated:2"),
        ("add", "windowed:2"),
        ("add%7", "truncated:2"),
        ("mul%9", "truth"),
    ],
)
def test_measured_shares_are_those_of_theory(task, hypothesis):
    base, length, count, width = 3, 4, 4_000, 6
    one = member(task, train="D2", base=base)
    answer_width = one.task.answer_digits(width)
    subject = computing([hypothesis], [one], width, answer_width)
    records = list(measure_dependence(subject, drawing([one], width, count), length))
    assert len(records) == answer_width * length
    assert {(r.domain, r.mode, r.total, r.selection) for r in records} == {
        ("digits:4", "decoded", count, "sampled")
    }
    found = dependence_of(records, one.task, Hypothesis.parse(hypothesis))
    exact = dependence_matrix(one.task, Hypothesis.parse(hypothesis), length)
    assert found.exact[: len(exact)] == exact
    for measured, theory in zip(found.measured, found.exact, strict=True):
        for cell, share in zip(measured, theory, strict=True):
            assert share is not None
            if share in (0, 1):
                assert Fraction(cell.correct, cell.total) == share
            assert abs(cell.share - float(share)) < 4 * 0.5 / count**0.5


# --- after a changed digit ----------------------------------------------------------------------------------


class LocalModel(OnDigits):
    """Writes every digit from two columns and the digit that it has just read, right or wrong."""

    def __call__(self, ids, positions, *, tail, cache=None):
        a, b = (digits.long() for digits in self._operands(ids))
        base, width = self.layout.vocabulary.base, self.layout.operand_width
        first = self.layout.prompt_length
        read = ids[..., first:]
        following = torch.zeros(*ids.shape[:-1], tail, dtype=torch.long)
        for i in range(min(tail, width)):
            carry = (a[..., i - 1] + b[..., i - 1] > read[..., i - 1]).long() if i else 0
            following[..., i] = (a[..., i] + b[..., i] + carry) % base
        return torch.nn.functional.one_hot(following, len(self.layout.vocabulary)).float()


@pytest.mark.parametrize("base", [2, 3, 10])
@pytest.mark.parametrize("domain", ["D2", "D5", "B6"])
def test_a_changed_digit_tells_the_local_rule_from_the_operands(base, domain):
    one = member(train="D2", base=base)
    subject = computing(["truth"], [one], 6, 7)
    local = replace(subject, model=LocalModel(subject.layout, [one.task], [Hypothesis.parse("truth")]))
    for asked, follows in ((subject, "truth"), (local, "local")):
        records = list(measure_changed(asked, drawing([one], 6, 300), Domain.parse(domain, base)))
        assert [(r.metric, r.reference, r.domain) for r in records] == [
            ("after_change", "local", domain),
            ("after_change", "truth", domain),
        ]
        assert {r.reference: r.correct for r in records} == {
            name: records[0].total if name == follows else 0 for name in ("local", "truth")
        }


def test_one_digit_below_the_top_is_changed_and_the_local_rule_then_says_otherwise():
    draws, base, length = drawing([member()], 6, 500), 10, 5
    a, b = draws.operands("B5", draws.indices())
    sums, task = a.long() + b.long(), Task.parse("add")
    answers = reference_answers([task], [Hypothesis.parse("truth")], a, b, 7)
    changed = changed_answers(draws, length, a, b, answers)
    # A column that sums to the base or more always hands on a carry, one of zeros never.
    low = sums[..., : length - 1]
    assert torch.equal(changed.possible, ((low > 0) & (low < base)).any(-1))
    sums, answers, (given, column, local, true) = (
        sums[changed.possible],
        answers[changed.possible],
        (part[changed.possible] for part in changed[:4]),
    )
    differ = given != answers
    assert (differ.sum(-1) == 1).all() and (differ.long().argmax(-1) == column).all()
    assert set(column.tolist()) == set(range(length - 1)), "every column but the top one"

    def carried(written):
        return (sums > written.long()[..., :6]).gather(-1, column.unsqueeze(-1))

    assert (carried(answers) != carried(given)).all()
    above = sums.gather(-1, column.unsqueeze(-1) + 1)
    assert torch.equal(local, ((above + carried(given).long()) % base).squeeze(-1))
    assert torch.equal(true, ((above + carried(answers).long()) % base).squeeze(-1))


def test_an_answer_without_a_digit_to_change_is_left_as_it_is():
    """Of two digits the lowest alone may be changed: 9 + 9 hands on a carry whatever is written there."""
    draws, task = drawing([member()], 3, 500), Task.parse("add")
    a, b = draws.operands("D2", draws.indices())
    answers = reference_answers([task], [Hypothesis.parse("truth")], a, b, 3)
    changed = changed_answers(draws, 2, a, b, answers)
    left = ~changed.possible
    assert left.any() and torch.equal(changed.answers[left], answers[left])
    assert changed.answers.max() < 10
