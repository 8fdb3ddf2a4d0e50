"""Benchmarks say what they measured; how fast it was is no test."""

import json
from pathlib import Path

import pytest
import torch

from lengthwise.cli import main
from lengthwise.recipes.configure import paper
from lengthwise.runs.costs import bench, profile_steps, shares_of_ceilings

CPU = torch.device("cpu")


def small():
    changes = {"train": "D2", "test": "D1..3", "data": {"samples": 50}, "evaluation": {"problems": 50}}
    return paper("add", "nano").changed(**changes, training={"batch": 4})


@pytest.mark.slow
def test_bench_measures_one_model_and_a_stack():
    found = bench(small(), CPU, members=2, seconds=0.05)
    assert [rate["members"] for rate in found["training"]] == [1, 2]
    for rate in found["training"]:
        assert rate["model_steps_per_second"] == rate["steps_per_second"] * rate["members"] > 0
        assert 0 < rate["share_of_ceiling"] < 1
    assert found["tokens"] == 66 and found["parameters"] > 80_000
    assert found["ceilings"]["products_per_second"] > 1e9 and found["data_problems_per_second"] > 1


def test_a_profile_names_what_takes_time():
    rows = profile_steps([small()], CPU, steps=2)
    assert rows == sorted(rows, key=lambda row: -row[1])
    assert any("bmm" in name for name, _, _ in rows[:8])


def test_json_holds_the_config(capsys):
    options = "--size nano --train D1 --test D1 --members 1 --seconds 0.05 --training.batch 4 --device cpu --json"
    main(["bench", "add", *options.split()])
    printed = json.loads(capsys.readouterr().out)
    assert printed["config"]["train"] == "D1" and printed["training"][0]["members"] == 1


OPTIONS = [
    "add",
    "--size",
    "nano",
    "--train",
    "D1",
    "--test",
    "D1",
    "--members",
    "1",
    "--seconds",
    "0.05",
    "--training.batch",
    "4",
    "--device",
    "cpu",
]


def earlier_result(tmp_path, capsys, factor):
    """What bench printed, with the training rate of a machine that much faster beside the same ceiling."""
    main(["bench", *OPTIONS, "--json"])
    content = json.loads(capsys.readouterr().out)
    content["training"][0]["share_of_ceiling"] *= factor
    content["evaluation_problems_per_second"] /= 1_000
    content["data_problems_per_second"] /= 1_000
    path = tmp_path / "earlier.json"
    path.write_text(json.dumps(content))
    return path


def test_against_an_earlier_result_says_what_got_slower(tmp_path, capsys):
    path = earlier_result(tmp_path, capsys, 1_000)
    with pytest.raises(SystemExit) as stop:
        main(["bench", *OPTIONS, "--against", str(path)])
    assert stop.value.code == 1
    assert "earlier.json: one model" in capsys.readouterr().out


def test_against_a_slower_result_nothing_is_slower(tmp_path, capsys):
    path = earlier_result(tmp_path, capsys, 1 / 1_000)
    main(["bench", *OPTIONS, "--against", str(path)])
    assert "earlier.json: nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content["config"]["training"].update(batch=8), "training.batch"),
        (lambda content: content.pop("ceilings"), "is not a result of bench --json"),
        (lambda content: content["training"][0].update(share_of_ceiling=0), "is not a result of bench --json"),
        (lambda content: content["ceilings"].update(products_per_second=0), "is not a result of bench --json"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, capsys, change, words):
    path = earlier_result(tmp_path, capsys, 1)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(SystemExit) as stop:
        main(["bench", *OPTIONS, "--against", str(path)])
    assert stop.value.code == 2 and words in capsys.readouterr().err


def test_committed_results_can_be_compared_with():
    for path in (Path(__file__).parents[2] / "results" / "bench").glob("paper-*.json"):
        assert all(0 < share < 1 for share in shares_of_ceilings(json.loads(path.read_text())).values())
