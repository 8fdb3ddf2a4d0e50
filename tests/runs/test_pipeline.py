"""From a model to verdicts, through files, with models that compute a known function."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from fakes import PerfectModel, TheoryModel, tiny_config

from lengthwise.evaluation.measure import measure_decoded
from lengthwise.evaluation.problems import Problems
from lengthwise.records.folder import RunFolder
from lengthwise.records.verdicts import verdicts
from lengthwise.records.view import RunView
from lengthwise.runs.build import build
from lengthwise.runs.evaluate import Assessment, domain_rows, given_row
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.digits import from_ints

CPU = torch.device("cpu")
ENUMERATED, SAMPLED = ("D1", "D2", "D3", "D4"), ("D5", "D6")
PROBLEMS = 500  # enough for a verdict where nothing deviates


def config_for(encoding, **changes):
    return tiny_config(encoding=encoding, test="D1..6", evaluation={"problems": PROBLEMS}, **changes)


def impostor(config, hypothesis):
    stack = build([config], CPU)
    return replace(stack, model=TheoryModel(stack.layout, [config.spec.task], [Hypothesis.parse(hypothesis)]))


def judged(config, stack, folder):
    """Assess, write, read back, judge: rows by domain."""
    run = RunFolder.claim(folder / config.name, config.model_dump(mode="json"), {})
    run.append(Assessment(stack)([24], detail=True))
    return {str(row.prediction.domain): row for row in RunView(run).verdicts()}


@pytest.mark.parametrize(("encoding", "hypothesis"), [("learned", "truncated:2"), ("coupled", "windowed:3")])
def test_a_model_of_theory_holds_everywhere(encoding, hypothesis, tmp_path):
    config = config_for(encoding)
    rows = judged(config, impostor(config, hypothesis), tmp_path)
    assert list(rows) == [*ENUMERATED, *SAMPLED]
    for domain, row in rows.items():
        assert row.word == "holds"
        assert row.agreement is not None and row.agreement.perfect
        assert row.agreement.enumerated == (domain in ENUMERATED)
        if row.prediction.hypothesis != TRUTH:
            assert str(row.prediction.hypothesis) == hypothesis
            assert row.coincides == row.accuracy, "right where the hypothesis is, and nowhere else"
        if domain in ENUMERATED:
            assert Fraction(row.accuracy.correct, row.accuracy.total) == row.expected
        else:
            low, high = row.accuracy.interval
            assert low - 0.02 <= float(row.expected) <= high + 0.02


def test_a_perfect_adder_is_not_what_absolute_positions_predict(tmp_path):
    config = config_for("learned")
    rows = judged(config, impostor(config, "truth"), tmp_path)
    assert all(row.accuracy.perfect for row in rows.values())
    assert [row.word for row in rows.values()] == ["holds", "holds", "fails", "fails", "fails", "fails"]
    assert all(row.agreement.correct == 0 for domain, row in rows.items() if domain > "D2")


def test_a_perfect_adder_agrees_with_a_window_as_often_as_that_is_right(tmp_path):
    config = config_for("coupled")
    rows = judged(config, impostor(config, "truth"), tmp_path)
    for domain in ENUMERATED:
        agreement = rows[domain].agreement
        assert Fraction(agreement.correct, agreement.total) == rows[domain].expected
        assert rows[domain].word == ("holds" if rows[domain].expected >= 0.99 else "fails")
    assert {row.word for row in rows.values()} == {"holds", "fails"}


def test_a_model_that_has_not_learned_its_own_domain_decides_nothing(tmp_path):
    config = config_for("learned")
    rows = judged(config, impostor(config, "truncated:1"), tmp_path)
    assert {row.word for row in rows.values()} == {"undecided"}


def test_without_prediction_there_is_no_word(tmp_path):
    config = config_for("coupled", task="mul")
    rows = judged(config, impostor(config, "truth"), tmp_path)
    assert [row.word for row in rows.values()] == ["holds", "holds", None, None, None, None]
    assert all(row.accuracy.perfect for row in rows.values())


def test_members_of_a_stack_are_judged_each_by_its_own_theory():
    """Addition cut to two digits beside a perfect multiplication modulo 9, which those digits decide."""
    wide = {"answer_width": 12, "operand_width": 6}
    configs = [config_for("learned", task=task, data=wide, seed=k) for k, task in enumerate(("add", "mul%9"))]
    stack = build(configs, CPU, ["sum", "product"])
    tasks = [config.spec.task for config in configs]
    stack = replace(stack, model=TheoryModel(stack.layout, tasks, [Hypothesis.parse("truncated:2"), TRUTH]))
    records = Assessment(stack)([3, 3], detail=False)
    assert {(r.run, r.seed, r.task, r.step) for r in records} == {
        ("sum", 0, "add", 3),
        ("product", 1, "mul%9", 3),
    }
    for name, config, perfect in (("sum", configs[0], 2), ("product", configs[1], 6)):
        own = [r for r in records if r.run == name]
        rows = verdicts(config.spec.predictions(config.spec.tests), config.spec.train, own)
        assert {row.word for row in rows} == {"holds"}
        assert sum(row.accuracy.perfect for row in rows) == perfect


def test_up_to_the_trained_length_truth_and_truncated_have_equal_counts():
    stack = build([config_for("learned", seed=seed) for seed in (1, 2)], CPU, ["one", "two"])
    records = Assessment(stack)([0, 0], detail=False)
    for run in ("one", "two"):
        for domain in ("D1", "D2"):
            found = {
                r.reference: (r.correct, r.total)
                for r in records
                if (r.run, r.domain, r.metric) == (run, domain, "exact")
            }
            assert found["truth"] == found["truncated:2"]


def test_denominators_are_fixed(tmp_path):
    """A model that writes nonsense is wrong on every problem, and none is dropped."""
    config = config_for("learned")
    stack = impostor(config, "truth")

    class Nonsense(PerfectModel):
        def __call__(self, ids, positions, *, tail, cache=None):
            return super().__call__(ids, positions, tail=tail, cache=cache).roll(1, -1)

    stack = replace(stack, model=Nonsense(stack.layout, stack.model.tasks))
    forced = Assessment(stack)([0], detail=True)
    decoded = list(measure_decoded(stack, domain_rows(stack)))
    for records in (forced, decoded):
        exact = {r.domain: (r.correct, r.total) for r in records if (r.metric, r.reference) == ("exact", "truth")}
        assert exact == {
            "D1": (0, 9), "D2": (0, 72), "D3": (0, 648), "D4": (0, 5832), "D5": (0, 500), "D6": (0, 500),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "hypothesis"),
    [
        ([(0, 0)], "truncated:2"),
        ([(1, 3), (9, 80)], "truncated:2"),
    ],
)
def test_a_row_of_given_pairs(pairs, hypothesis):
    config = config_for("learned")
    stack = impostor(config, hypothesis)
    a, b = (from_ints(numbers, 6, 3)[None] for numbers in zip(*pairs, strict=True))
    row = given_row(stack, Problems("mine.txt", a, b, "given"))
    assert [str(h) for h in row.hypotheses] == [hypothesis]
    (record,) = [r for r in measure_decoded(stack, [row]) if (r.metric, r.selection) == ("exact", "given")]
    task, kept = config.spec.task, Hypothesis.parse(hypothesis)
    assert record.correct == sum(kept(task, x, y) == x + y for x, y in pairs)
