"""R2 of digits and dependence by intervention, on models whose function is known."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from fakes import TheoryModel, tiny_config

from lengthwise.arithmetic import Domain, Task
from lengthwise.evaluation.measure import measure, right_answers
from lengthwise.evaluation.probes import (
    Sums,
    dependence_problems,
    dynamics_problems,
    flipped,
    measure_carry_map,
    measure_changed,
    measure_dependence,
    measure_dynamics,
    measure_offsets,
    near_digits_alone,
    out_of_sample_r2,
    with_random_digits,
)
from lengthwise.evaluation.problems import Drawing, Member, Subject, reference_answers
from lengthwise.model.positions import find_encoding
from lengthwise.records.analysis import dependence_of
from lengthwise.runs.build import build, training_steps
from lengthwise.runs.evaluate import domain_rows
from lengthwise.theory.accuracy import dependence_matrix
from lengthwise.theory.columns import r2_ceiling
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.tokens.layouts import build_layout
from lengthwise.tokens.layouts.layout import C

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
    """Writes every digit from two columns and the digit that it has just read, right or wrong: a carry enters
    where the column below sums to so much more than that digit. True sums have 0 or less, or base - 1 or more."""

    least = 1

    def __call__(self, ids, positions, *, tail, cache=None):
        a, b = (digits.long() for digits in self._operands(ids))
        base, width = self.layout.vocabulary.base, self.layout.operand_width
        first = self.layout.prompt_length
        read = ids[..., first:]
        following = torch.zeros(*ids.shape[:-1], tail, dtype=torch.long)
        for i in range(min(tail, width)):
            carry = (a[..., i - 1] + b[..., i - 1] - read[..., i - 1] >= self.least).long() if i else 0
            following[..., i] = (a[..., i] + b[..., i] + carry) % base
        return torch.nn.functional.one_hot(following, len(self.layout.vocabulary)).float()


class HalfWayModel(LocalModel):
    """The same on all true sums; it calls a carry only where the difference is nearer to that of a carry."""

    least = 5


def subjects(base=10):
    """By name, a model that reads operands, and those that read the digit written."""
    one = member(train="D2", base=base)
    operands, truth = computing(["truth"], [one], 6, 7), [Hypothesis.parse("truth")]
    kinds = {"local": LocalModel} | ({"half way": HalfWayModel} if base == 10 else {})
    readers = {
        name: replace(operands, model=kind(operands.layout, [one.task], truth)) for name, kind in kinds.items()
    }
    return {"operands": operands, **readers}


@pytest.mark.parametrize("base", [2, 3, 10])
@pytest.mark.parametrize("domain", ["D2", "D5", "B6"])
def test_a_flipped_digit_tells_the_local_rule_from_the_operands(base, domain):
    draws = drawing([member(train="D2", base=base)], 6, 600)
    for name, subject in subjects(base).items():
        records = list(measure_changed(subject, draws, Domain.parse(domain, base)))
        assert [(r.metric, r.reference, r.domain) for r in records] == [
            ("after_change", "local", domain),
            ("after_change", "truth", domain),
        ]
        follows = "truth" if name == "operands" else "local"
        total = records[0].total
        assert {r.reference: (r.correct, r.total) for r in records} == {
            reference: (total if reference == follows else 0, total) for reference in ("local", "truth")
        }
        assert total > 30


def drawn_sums(base=10, length=5, count=500):
    one = member(train="D2", base=base)
    draws = drawing([one], 6, count)
    return Sums.draw(computing(["truth"], [one], 6, 7), draws, Domain.parse(f"B{length}", base)), draws


def test_a_flip_is_the_digit_of_the_other_carry_in_a_column_that_passes_it_on():
    sums, draws = drawn_sums()
    changed, found = flipped(sums, draws)
    columns, answers = (sums.a.long() + sums.b.long())[..., :4], sums.answers.long()
    assert torch.equal(found, (columns == 9).any(-1))
    assert torch.equal(changed.answers[~found], sums.answers[~found])
    differ = (changed.answers != sums.answers)[found]
    assert (differ.sum(-1) == 1).all()
    assert torch.equal(differ.long().argmax(-1), changed.column[found])
    assert set(changed.column[found].tolist()) == set(range(4)), "every column but the top one"
    before = answers.gather(-1, changed.column.unsqueeze(-1)).squeeze(-1)
    assert (changed.sums[found] == 9).all() and (changed.read + before)[found].eq(9).all()
    assert set(changed.read[found].tolist()) == {0, 9}
    next_digit = answers.gather(-1, changed.column.unsqueeze(-1) + 1).squeeze(-1)
    assert torch.equal((changed.following + (before == 0).long())[found] % 10, next_digit[found])


def test_the_map_of_carries_is_that_of_the_rule():
    one, domain = member(train="D2"), Domain.parse("D6")
    draws = drawing([one], 6, 4_000)
    sums = Sums.draw(subjects()["operands"], draws, domain)
    assert with_random_digits(sums, draws).read.unique().tolist() == [*range(10)]
    rules = {"local": lambda column, read: column > read, "half way": lambda column, read: column - read >= 5}
    maps = {
        name: {
            tuple(map(int, r.metric.split(":")[1:])): (r.correct, r.total)
            for r in measure_carry_map(subject, draws, domain)
        }
        for name, subject in subjects().items()
    }
    for name, rule in rules.items():
        assert maps[name] == {
            (column, read): (rule(column, read) * total, total)
            for (column, read), (_, total) in maps[name].items()
        }
    # By the operands, only a column that passes a carry on may or may not have one, whatever is read.
    for (column, read), (carries, total) in maps["operands"].items():
        assert carries == (column > 9) * total or column == 9, (column, read)
    passing = [maps["operands"][9, read] for read in range(10)]
    assert 0.3 < sum(carries for carries, _ in passing) / sum(total for _, total in passing) < 0.7
    assert len(maps["local"]) > 180
    assert sum(total for _, total in maps["local"].values()) == 4_000


def with_offsets(encoding, steps, **model):
    """Two members on sums of up to two binary digits, with room for ten offsets and more."""
    shape = {"width": 32, "tied": False, "embedding_std": 0.3, "context": 16, **model}
    start = tiny_config(base=2, test="D1..4", encoding=encoding, layout="level", model=shape)
    fast = start.changed(training={"batch": 64, "learning_rate": 3e-3})
    stack = build([fast.changed(seed=seed) for seed in (1, 2)], CPU, ["one", "two"])
    training_steps(stack).take(0, [1.0] * steps)
    stack.model.eval()
    return stack


def counts_by_offset(records, metric):
    found = [r for r in records if r.metric.startswith(metric)]
    return {(r.run, int(r.metric.partition(":")[2])): r.correct for r in found}


@pytest.mark.parametrize(("encoding", "waves"), [("coupled", False), ("coupled", True), ("abacus", False)])
def test_the_same_problems_at_ten_offsets_are_the_models_answers_there(encoding, waves):
    """From the offset of all other measurements to the last with which the problems fit; where a position is an
    angle, all offsets are alike."""
    stack = with_offsets(encoding, 300, position_waves=waves)
    (row,) = rows = domain_rows(stack, [Domain.parse("D3", 2)])
    pair = row.problems.pair
    found = counts_by_offset(measure_offsets(stack, rows), "exact_at")
    start = stack.read(*pair, row.truth)[1]
    offsets = sorted({offset for _, offset in found})
    assert len(offsets) == 10 and (offsets[0], offsets[-1]) == (0, 16 - 1 - int(start.max()))
    exact = {r.run: r.correct for r in measure(stack, rows, detail=False) if r.metric == "exact"}
    assert {run: found[run, 0] for run in exact} == exact
    for offset in offsets:
        tokens, moved = replace(stack, offset=offset).read(*pair, row.truth)
        assert torch.equal(moved, torch.where(start > 0, start + offset, 0))
        logits = stack.model(tokens.ids[..., :-1], moved[..., :-1])
        right = (logits.argmax(-1) == tokens.ids[..., 1:]) | ~tokens.answer[..., 1:]
        assert right.all(-1).sum(1).tolist() == [found[run, offset] for run in ("one", "two")]
    everywhere = [{found[run, offset] for offset in offsets} for run in ("one", "two")]
    assert all(len(counts) == 1 for counts in everywhere) == waves, everywhere


@pytest.mark.parametrize("model", [{}, {"position_waves": True}, {"block": "t5", "tied": True}])
@pytest.mark.parametrize("encoding", ["coupled", "abacus"])
def test_of_near_digits_alone_no_far_one_changes_what_one_layer_writes(encoding, model):
    """Each digit of an operand but the highest, which decides the width, is replaced in turn: near ones matter,
    and so do far ones if nothing is hidden."""
    stack = with_offsets(encoding, 0, layers=1, **model)
    (row,) = domain_rows(stack, [Domain.parse("D4", 2)], problems=20, whole=20)
    moved, (a, b) = replace(stack, offset=3), row.problems.pair
    sign, before = (4 if encoding == "coupled" else 0), stack.model.encoding
    tokens, positions = moved.read(a, b, row.truth)
    positions = positions.expand_as(tokens.ids)

    def change(digits):
        ids = moved.read(digits, b, row.truth)[0].ids
        return stack.model(ids, positions) - stack.model(tokens.ids, positions)

    for column in range(3):
        changed = a.clone()
        changed[..., column] = 1 - changed[..., column]
        seen = change(changed)
        with near_digits_alone(stack.model, torch.tensor([1, 1]), sign):
            hidden = change(changed)
        apart = (positions - (column + 1 + 3 + (sign > 0))).abs()
        writes = tokens.number == C
        far, near = writes & (apart > 1), writes & (apart <= 1)
        assert far.any() and near.any()
        assert hidden[near & (apart == 1)].any() and not hidden[far].any()
        assert seen[far].any()
    assert stack.model.encoding is before


@pytest.mark.parametrize(("encoding", "sign"), [("coupled", 6), ("abacus", 0)])
def test_exactly_the_far_digits_are_hidden(encoding, sign):
    """Token by token, at offset 5, for members with another reach each: signs are seen, and see no far digit."""
    stack = replace(with_offsets(encoding, 0), offset=5)
    (row,) = domain_rows(stack, [Domain.parse("D4", 2)], problems=20, whole=20)
    tokens, positions = stack.read(*row.problems.pair, row.truth)
    reach = torch.tensor([1, 2])
    with near_digits_alone(stack.model, reach, sign):
        bias = stack.model.encoding.relate(positions, positions)[1].expand(2, 20, 1, -1, -1)
    length = tokens.ids.shape[-1]
    for k in (0, 1):
        at = positions.expand_as(tokens.ids)[k, 7].tolist()
        is_digit = (tokens.number[k, 7] > 0).tolist()
        expected = [
            [bool(at[q]) and is_digit[key] and abs(at[q] - at[key]) > reach[k] for key in range(length)]
            for q in range(length)
        ]
        assert bias[k, 7, 0].isinf().tolist() == expected
        assert any(map(any, expected))
        assert encoding == "abacus" or {at[t] for t in range(length) if tokens.significance[k, 7, t] == 0} == {
            sign
        }


def test_each_member_sees_as_far_as_its_own_training_shows():
    stack = with_offsets("coupled", 300)
    members = [replace(one, train=Domain.parse(d, 2)) for one, d in zip(stack.members, ("D2", "D3"), strict=True)]
    (row,) = rows = domain_rows(stack, [Domain.parse("D4", 2)])
    records = list(measure_offsets(replace(stack, members=members), rows))
    near, offsets = counts_by_offset(records, "near_at"), {int(r.metric.partition(":")[2]) for r in records}
    for offset in offsets:
        with near_digits_alone(stack.model, torch.tensor([1, 2]), 1 + offset):
            right = right_answers(replace(stack, offset=offset), row.problems.pair, row.truth).sum(1).tolist()
        assert right == [near[run, offset] for run in ("one", "two")]
    assert near != counts_by_offset(records, "exact_at")


def test_of_near_digits_alone_nothing_is_hidden_where_training_is_as_long():
    stack = with_offsets("coupled", 100)
    rows = domain_rows(stack, [Domain.parse(d, 2) for d in ("D1", "D2", "D4")])
    members = [replace(one, train=Domain.parse("D9", 2)) for one in stack.members]
    records = list(measure_offsets(replace(stack, members=members), rows))
    assert counts_by_offset(records, "near_at") == counts_by_offset(records, "exact_at")
    assert counts_by_offset(measure_offsets(stack, rows[-1:]), "near_at")
    by_place = with_offsets("coupled", 0, position_waves=True, place_attention=True)
    assert not counts_by_offset(measure_offsets(by_place, rows[:1]), "near_at")
