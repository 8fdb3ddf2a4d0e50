"""R2 of digits and dependence by intervention, on models whose function is known."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.dependence import dependence_problems, measure_dependence
from lengthwise.evaluation.dynamics import dynamics_problems, measure_dynamics, out_of_sample_r2
from lengthwise.evaluation.references import reference_answers
from lengthwise.evaluation.seen import MeasuredMember
from lengthwise.evaluation.written import Probed
from lengthwise.records.analysis import dependence_of
from lengthwise.theory.carries import r2_ceiling
from lengthwise.theory.dependence import dependence_matrix
from lengthwise.theory.hypotheses import Hypothesis

CPU = torch.device("cpu")


def member(task="add", train="D3", seed=1, base=10):
    return MeasuredMember(f"r{seed}", seed, Task.parse(task, base), Domain.parse(train, base), step=7)


def stack(members, hypotheses, width, answer_width):
    """A stack that writes what hypotheses say, without a model."""
    tasks, functions = [m.task for m in members], list(map(Hypothesis.parse, hypotheses))

    def write(pair):
        return reference_answers(tasks, functions, *pair, answer_width).long()

    return Probed(write, members, width, answer_width, CPU)


def r2_by_run(records):
    found = {}
    for r in records:
        found.setdefault(r.run, {})[int(r.metric.removeprefix("r2:"))] = r.value
    return found


# --- dynamics ---------------------------------------------------------------------------------------------


def test_a_perfect_adder_reaches_the_ceiling_and_a_truncating_one_stops():
    members = [member(seed=1), member(seed=2)]
    records = measure_dynamics(stack(members, ["truth", "truncated:3"], 5, 6), 4_000)
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
    whole = r2_by_run(measure_dynamics(stack([member("add%100")], ["truth"], 4, 2), 2_000))["r1"]
    assert list(whole) == [1, 2] and min(whole.values()) > 0.99
    spread = r2_by_run(measure_dynamics(stack([member("add%7")], ["truth"], 4, 1), 2_000))["r1"]
    assert abs(spread[1]) < 0.1


def test_only_columns_around_a_digit_are_drawn_anew():
    members = [member(train="D3", seed=1), member(train="B2", seed=2)]
    a, b = dynamics_problems(members, 6, 6, 2_000, CPU)
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
    alone, _ = dynamics_problems(members[1:], 6, 6, 2_000, CPU)
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
    a, b = dependence_problems(members, 5, 3, 3_000, CPU)
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
    records = measure_dependence(stack([one], [hypothesis], width, answer_width), length, count)
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
