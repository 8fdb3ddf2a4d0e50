"""Benchmarks say what they measured; how fast it was is no test."""

import json

import torch

from lengthwise.cli import main
from lengthwise.recipes.presets import paper
from lengthwise.runs.costs import bench, profile_steps

CPU = torch.device("cpu")


def small():
    changes = {"train": "D2", "test": "D1..3", "data": {"samples": 50}, "evaluation": {"problems": 50}}
    return paper("add", "nano").changed(**changes, training={"batch": 4})


def test_bench_measures_one_model_and_a_stack():
    found = bench(small(), CPU, members=2, seconds=0.05)
    assert [rate.members for rate in found.training] == [1, 2]
    for rate in found.training:
        assert rate.model_steps_per_second == rate.steps_per_second * rate.members > 0
        assert 0 < rate.share_of_ceiling < 1
    assert found.tokens == 66 and found.parameters > 80_000
    assert found.ceilings.products_per_second > 1e9 and found.data_problems_per_second > 1


def test_a_profile_names_what_takes_time():
    rows = profile_steps([small()], CPU, steps=2)
    assert rows == sorted(rows, key=lambda row: -row[1])
    assert any("bmm" in name for name, _, _ in rows[:8])


def test_json_holds_the_config(capsys):
    options = "--size nano --train D1 --test D1 --members 1 --seconds 0.05 --training.batch 4 --device cpu --json"
    main(["bench", "add", *options.split()])
    printed = json.loads(capsys.readouterr().out)
    assert printed["config"]["train"] == "D1" and printed["training"][0]["members"] == 1
