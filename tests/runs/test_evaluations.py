"""What a run measures through training and after it, and what it says where it cannot."""

import json
from dataclasses import replace

import pytest
import torch
from fakes import PerfectModel, tiny_config, train

from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.records.analysis import dependence_of, learning_order
from lengthwise.records.view import RunView
from lengthwise.runs import evaluate as evaluating
from lengthwise.runs import launch
from lengthwise.runs.build import build, training_data
from lengthwise.runs.evaluate import Assessment, assess_held_out, evaluate

CPU = torch.device("cpu")
FULL = {"problems": 200, "interim_problems": 100, "digits": True, "dynamics": True, "dependence": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = tiny_config(evaluation=FULL, test="D1..4", data={"samples": 60})
    (folder,) = train(config, tmp_path_factory.mktemp("runs"), device="cpu")
    return folder


def perfect(configs, names=None):
    """A stack that is always right, in place of a trained one."""
    stack = build(configs, CPU, names)
    return replace(stack, model=PerfectModel(stack.layout, [config.spec.task for config in configs]))


def kinds(records):
    return {record.metric.partition(":")[0] for record in records}


def test_what_is_measured_when(folder):
    view = RunView(folder)
    steps = view.evaluated_steps
    assert steps == [0, 6, 12, 18, 24]
    for step in steps:
        assert {"exact", "digit"} <= kinds(view.at(step))
        assert ("depends" in kinds(view.at(step))) == ("strong" in kinds(view.at(step))) == (step == 24)
    assert set(learning_order(view.records, view.train).steps) == {1, 2, 3, 4, 5}


def test_without_details_the_last_evaluation_tells_what_the_others_do(tmp_path):
    (run,) = train(tiny_config(evaluation={"details": False}, test="D1..3"), tmp_path, device="cpu")
    view = RunView(run)
    assert kinds(view.at(view.last_step)) == kinds(view.at(6)) == {"exact", "loss", "coincides", "train_loss"}
    assert len(view.verdicts()) == 3


def test_interim_evaluations_are_samples_and_the_last_is_whole(folder):
    """D2, D3, D4 have 72, 648 and 5832 pairs in base 3: 100 are few, 10,000 is whole."""
    exact = [r for r in RunView(folder).records if (r.metric, r.reference) == ("exact", "truth")]
    for step, wanted in [
        (6, {"D2": (72, "enumerated"), "D3": (100, "sampled"), "D4": (100, "sampled")}),
        (24, {"D2": (72, "enumerated"), "D3": (648, "enumerated"), "D4": (5832, "enumerated")}),
    ]:
        found = {r.domain: (r.total, r.selection) for r in exact if r.step == step}
        assert {domain: found[domain] for domain in wanted} == wanted


def test_dynamics_at_every_evaluation():
    config = tiny_config(evaluation=FULL, test="D1..4")
    fake = perfect([config])
    for detail in (False, True):
        records = Assessment(fake)([6], detail=detail)
        found = {r.metric: r for r in records if r.metric.startswith("r2")}
        assert list(found) == ["r2:1", "r2:2", "r2:3"], "as many as sums of training have digits"
        assert {(r.domain, r.total, r.mode) for r in found.values()} == {("D2", 50, "decoded")}
        assert found["r2:1"].value == found["r2:2"].value == 1


def test_fewer_problems_at_the_end_mean_fewer_before():
    stack = build([tiny_config(test="D6", evaluation={"problems": 30})], CPU)
    assert {r.total for r in Assessment(stack)([0], detail=False) if r.domain == "D6"} == {30}


def test_status_tells_seconds_apart_and_what_the_samples_were(folder):
    status = json.loads((folder.path / "status.json").read_text())
    assert status["status"] == "done" and status["seconds"] > 0 and status["evaluation_seconds"] > 0
    assert status["samples"] == {"D2": [54, 6]}


def test_the_dependence_of_a_run(folder):
    view = RunView(folder)
    predicted = view.spec.predicted_hypothesis(view.tests[-1])
    found = dependence_of(view.at(view.last_step), view.task, predicted)
    assert str(found.hypothesis) == "truncated:2"
    assert [len(found.measured), len(found.measured[0])] == [5, 4]
    assert {cell.total for row in found.measured for cell in row} == {100}
    assert found.exact[0] == [1, 0, 0, 0]


def test_held_out_problems_of_members_that_differ():
    """Perfect models: whatever is held out is right; every member is measured on its own tenth alone."""
    data = {"samples": 200, "operand_width": 4}
    configs = [
        tiny_config(train=train, seed=k, data=data, test="D1..4") for k, train in enumerate(("D2", "D1+D3"))
    ]
    fake = perfect(configs, ["one", "two"])
    fake, sets = fake.after([3, 3]), [training_data(build([config], CPU), 1).sets[0] for config in configs]
    records = assess_held_out(fake, sets)
    found = {(r.run, r.domain, r.correct, r.total, r.seen) for r in records if r.metric == "exact"}
    assert found == {("one", "D2 (held out)", 7, 7, 0.0), ("two", "D1+D3 (held out)", 10, 10, 0.0)}
    assert assess_held_out(fake, []) == []


def test_each_member_reads_its_own_held_out_problems(monkeypatch):
    asked = []
    monkeypatch.setattr(evaluating, "measure", lambda s, given, detail: asked.extend(given) or [])
    configs = [tiny_config(seed=seed, data={"samples": 60}) for seed in (1, 2)]
    sets = [training_data(build([config], CPU), 1).sets[0] for config in configs]
    stack = build(configs, CPU)
    assess_held_out(stack, sets)
    row = asked[0]
    assert not torch.equal(row.problems.a[0], row.problems.a[1])
    for k, fixed in enumerate(sets):
        assert torch.equal(row.problems.a[k], fixed.test[0]) and torch.equal(row.problems.b[k], fixed.test[1])


def test_evaluate_shows_dependence(folder, capsys):
    main(["evaluate", str(folder.path), "--dependence", "--decode"])
    shown = capsys.readouterr().out
    assert "truncated:2" in shown and "c5" in shown and "a4" in shown
    main(["evaluate", str(folder.path), "--dependence", "--show-errors", "2", "--json"])
    content = json.loads(capsys.readouterr().out)
    cells = content["dependence"]["cells"]
    assert len(cells) == 20 and {cell["total"] for cell in cells} == {100}
    assert {c["exact"] for c in cells if c["operand_digit"] > 2} == {"0"}
    assert len(content["errors"]) == 2


def test_given_pairs_say_what_training_may_have_met(folder, tmp_path):
    """Training has drawn 192 times from 54 of the 72 pairs of D2."""
    pairs = tmp_path / "pairs"
    pairs.write_text("12 21\n1 2\n")
    seen = {r.seen for r in evaluate(folder.path, pairs=pairs, device="cpu").records}
    assert len(seen) == 1 and 0.3 < seen.pop() < 0.5, "half of the pairs, and of it nine tenths at most"


@pytest.mark.parametrize(
    ("options", "named"),
    [({"test": "D2", "pairs": "mine.txt"}, ("mine.txt", "D2")), ({"show_errors": -1}, ("-1",))],
)
def test_options_that_do_not_go_together_are_refused(folder, options, named):
    with pytest.raises(InputError) as error:
        evaluate(folder.path, device="cpu", **options)
    assert all(word in str(error.value) for word in named)


@pytest.mark.parametrize("message", ["CUDA out of memory", "DefaultCPUAllocator: can't allocate memory: 8 bytes"])
def test_out_of_memory_is_one_line(tmp_path, monkeypatch, message):
    kind = torch.OutOfMemoryError if "CUDA" in message else RuntimeError

    def full(*arguments, **options):
        raise kind(message)

    monkeypatch.setattr(Assessment, "__call__", full)
    config = tiny_config()
    with pytest.raises(InputError, match=r"out of memory; try .*--training\.batch.*--evaluation\.problems"):
        train(config, tmp_path, device="cpu")
    status = json.loads((tmp_path / config.name / "status.json").read_text())
    assert status["status"] == "failed" and "out of memory" in status["reason"]
    monkeypatch.setattr(launch, "build", full)
    with pytest.raises(InputError, match="fewer than these 2 runs side by side"):
        train([config, config.changed(seed=5)], tmp_path, device="cpu")


def test_other_errors_are_not_hidden(tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("something else")

    monkeypatch.setattr(Assessment, "__call__", broken)
    with pytest.raises(RuntimeError, match="something else"):
        train(tiny_config(), tmp_path, device="cpu")


def test_a_dry_run_counts_a_mixture(capsys):
    main(["train", "add", "--train", "D1+D3", "--size", "nano", "--data.samples", "1000", "--dry-run",
          "--training.batch", "4", "--device", "cpu"])  # fmt: skip
    assert "D1 90 (and 10 held out), D3 450 (and 50 held out)" in capsys.readouterr().out
