"""Further hypotheses and intermediate steps: counts equal to looking at every problem one by one."""

from itertools import product

import pytest
import torch
from fakes import PerfectModel, TheoryModel, longest_chain, tiny_config, train

from lengthwise.arithmetic import Domain, Task
from lengthwise.errors import InputError
from lengthwise.evaluation.measure import Row, measure_candidates, measure_steps
from lengthwise.evaluation.problems import Drawing, Member, Subject
from lengthwise.evaluation.problems import test_problems as problems_of
from lengthwise.evaluation.strata import chain_strata, measure_strata
from lengthwise.model.positions import find_encoding
from lengthwise.records.view import RunView
from lengthwise.theory.hypotheses import TRUTH, Hypothesis
from lengthwise.tokens.layouts import build_layout
from lengthwise.tokens.layouts.layout import CARRY, SUM

CPU = torch.device("cpu")
D3 = Domain.parse("D3", 3)
PAIRS = [(a, b) for a, b in product(range(27), repeat=2) if max(a, b) >= 9]


def asked(model):
    (task,) = model.tasks
    member = Member("r", 0, task, Domain.parse("D1", task.base), draws=0)
    return Subject(model, model.layout, find_encoding("learned"), [member])


DRAWING = Drawing([0], 3, 3, 50, CPU)


def row(subject, predicted):
    return Row.of(subject, problems_of(D3, DRAWING), [predicted])


NAMES = ("truth", "truncated:2", "windowed:1", "windowed:2", "leading:2", "folded:1", "folded:2")


@pytest.mark.parametrize("computed", ["truncated:2", "leading:2", "folded:1"])
@pytest.mark.parametrize("text", ["add", "add%5"])
def test_agreement_with_candidates_is_what_integers_say(text, computed):
    """A model that computes one of them, held against all."""
    task, own, hypotheses = Task.parse(text, 3), Hypothesis.parse(computed), list(map(Hypothesis.parse, NAMES))
    layout = build_layout("padded", task, 3)
    subject = asked(TheoryModel(layout, [task], [own]))
    records = list(measure_candidates(subject, [row(subject, Hypothesis.parse("truncated:2"))], hypotheses))
    found = {(r.reference, r.metric): (r.correct, r.total) for r in records}
    assert {name for name, _ in found} == {*NAMES} - {"truth", "truncated:2"}, "those are measured anyway"
    for hypothesis in hypotheses:
        if (str(hypothesis), "exact") in found:
            agreeing = sum(hypothesis(task, a, b) == own(task, a, b) for a, b in PAIRS)
            assert found[str(hypothesis), "exact"] == (agreeing, len(PAIRS))


def test_candidates_by_carry_chain():
    task, window = Task.parse("add", 3), Hypothesis.parse("windowed:2")
    subject = asked(PerfectModel(build_layout("aligned", task, 3), [task]))
    strata = chain_strata([row(subject, Hypothesis.parse("windowed:3"))], DRAWING, [window])
    records = list(measure_strata(subject, strata))
    found = {(r.metric, r.reference): r.correct for r in records}
    for chain in range(4):
        own = [pair for pair in PAIRS if longest_chain(*pair, 3) == chain]
        assert found[f"chain:{chain}", "truth"] == len(own)
        # A window errs exactly where a chain is as long as it, so it agrees with truth on all others.
        assert found[f"chain:{chain}", "windowed:2"] == len(own) * (chain < 2)
        assert found[f"chain:{chain}", "windowed:3"] == len(own) * (chain < 3)


class Forgetful(PerfectModel):
    """Writes 0 for every digit of one kind whose column is the third."""

    def __init__(self, layout, tasks, kind):
        super().__init__(layout, tasks)
        self.kind = kind

    def sequence(self, ids):
        tables = self.layout.tables(ids.device)
        wrong = (tables.number == self.kind) & (tables.significance == 3)
        whole = super().sequence(ids)
        return torch.where(wrong[: whole.shape[-1]], 0, whole)


def raw_sums(a, b):
    x, y = ([n // 3**i % 3 for i in range(3)] for n in (a, b))
    return [sum(x[i] * y[j] for i in range(3) for j in range(3) if i + j == column) for column in range(5)]


def third_carry(a, b):
    carry = 0
    for column in raw_sums(a, b)[:3]:
        carry = (column + carry) // 3
    return carry


@pytest.mark.parametrize(
    ("kind", "metric", "zero"),
    [
        (SUM, "steps:sums", lambda a, b: raw_sums(a, b)[2] == 0),
        (CARRY, "steps:carries", lambda a, b: third_carry(a, b) == 0),
    ],
)
def test_steps_are_counted_one_by_one(kind, metric, zero):
    task = Task.parse("mul", 3)
    layout = build_layout("scratchpad", task, 3)
    subject = asked(Forgetful(layout, [task], kind))
    records = list(measure_steps(subject, [row(subject, TRUTH)]))
    found = {r.metric: (r.correct, r.total) for r in records}
    right = {name: len(PAIRS) for name in ("steps:sums", "steps:carries", "steps:answer")}
    right[metric] = sum(zero(a, b) for a, b in PAIRS)
    assert right[metric] < len(PAIRS)
    assert found == {name: (count, len(PAIRS)) for name, count in right.items()}


def test_a_run_records_what_it_is_asked_for(tmp_path):
    config = tiny_config(
        encoding="rotary", evaluation={"problems": 50, "chains": True, "hypotheses": ("windowed:2", "windowed:3")}
    )
    (folder,) = train(config, tmp_path, device="cpu")
    records = [r for r in RunView(folder).records if r.metric in ("exact", "chain:2")]
    last = [(r.domain, r.reference) for r in records if r.metric == "exact" and r.step == 24]
    assert {("D3", name) for name in ("truth", "windowed:2", "windowed:3")} <= {*last}
    assert len(last) == len({*last}), "nothing is recorded twice"
    assert {r.reference for r in records if r.metric == "chain:2" and r.domain == "D3"} == {
        "truth",
        "windowed:2",
        "windowed:3",
    }
    assert not any(r.reference == "windowed:2" for r in records if r.step < 24), "after training alone"


def test_a_run_with_steps_measures_them(tmp_path):
    config = tiny_config(task="mul", encoding="rotary", layout="scratchpad", training={"steps": 2})
    (folder,) = train(config, tmp_path, device="cpu")
    metrics = {(r.domain, r.metric) for r in RunView(folder).records}
    assert {("D3", f"steps:{kind}") for kind in ("sums", "carries", "answer")} <= metrics


def test_a_hypothesis_that_says_nothing_about_the_task_is_refused():
    with pytest.raises(InputError, match="windowed:2 is defined only for sums, not for mul"):
        tiny_config(task="mul", evaluation={"hypotheses": ("windowed:2",)})
    with pytest.raises(InputError, match="unknown hypothesis 'guess'"):
        tiny_config(evaluation={"hypotheses": ("guess",)})
