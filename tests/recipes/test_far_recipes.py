"""Recipes of long operands: their rows as intended, and two steps of each through training and measuring."""

import json
from dataclasses import replace

import pytest
import torch
from training import train

from lengthwise.cli import main
from lengthwise.recipes import RECIPES, Setting
from lengthwise.recipes.long_operands import ENCODINGS
from lengthwise.records.view import RunView
from lengthwise.runs.build import build, stack_key, training_data

FULL, LAPTOP = Setting(), Setting(scale="laptop")
FAR = ("coupled-1000", "coupled-200", "abacus-100", "long-encodings", "multiplication-upward")
HARDLY = {
    "training": {"steps": 2, "batch": 4, "warmup": 1, "evaluate_every": 2},
    "model": {"layers": 1, "width": 64},
}


def rows(name, setting=FULL):
    return RECIPES[name].rows(setting)


def tiny(config):
    """Two steps, and a few problems of each kind that the config asks for."""
    few = {"decoded": 3, "anatomy": 3, "pairs": 1}
    asked = {option: count for option, count in few.items() if getattr(config.evaluation, option)}
    return config.changed(**HARDLY, evaluation={"problems": 3, "interim_problems": 3, **asked})


def tiny_recipe(name):
    small = {row: tiny(config) for row, config in rows(name, LAPTOP).items()}
    return replace(RECIPES[name], rows=lambda setting: small)


@pytest.mark.parametrize("setting", [FULL, LAPTOP], ids=["full", "laptop"])
@pytest.mark.parametrize("name", FAR)
def test_every_model_can_be_built_and_is_small(name, setting):
    for config in rows(name, setting).values():
        stack = build([config], torch.device("cpu"))
        assert stack.model.parameter_count() < 5_000_000
        by_place_alone = config.model.place_attention and not config.model.token_heads
        layout = "level" if by_place_alone else "reversed"
        assert config.data.sampling == "balanced" and config.spec.layout == layout
        assert config.training.schedule == "linear", "down to zero"


def test_a_thousand_is_three_seeds_in_one_stack():
    recipe = RECIPES["coupled-1000"]
    assert len(recipe.seeds) == 3
    runs = recipe.runs(FULL, len(recipe.seeds))
    first = recipe.seeds[0]
    assert [config.seed for config in runs.values()] == [first, first + 1, first + 2]
    assert len({stack_key(config) for config in runs.values()}) == 1
    (config,) = rows("coupled-1000").values()
    assert [str(domain) for domain in config.spec.tests] == ["D20", "D50", "D100", "D200", "D500", "D1000"]
    assert (config.train, config.evaluation.problems, config.evaluation.decoded) == ("D1..20", 1_000, 100)


def test_products_have_room_for_two_more_digits_and_offsets_reach_them():
    (config,) = rows("multiplication-upward").values()
    assert (config.operand_width, config.answer_width) == (1_000, 1_002)
    data = training_data(build([config], torch.device("cpu")), 2_000)
    assert data.layout.answer_width == 42
    assert data.offsets == config.model.context - 1
    assert data(0).positions.max() > 1 + 1_002


def test_the_encodings_differ_in_nothing_else():
    same = {
        json.dumps(config.changed(encoding="coupled", model={"context": 130}).model_dump(mode="json"))
        for config in rows("long-encodings").values()
    }
    assert len(same) == 1
    assert {config.encoding for config in rows("long-encodings").values()} == set(ENCODINGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAR)
def test_two_steps_of_every_row(name, tmp_path):
    folders = train(tiny_recipe(name), tmp_path, LAPTOP)
    for folder in folders:
        view = RunView(folder)
        found = {(r.metric.partition(":")[0], r.mode) for r in view.at(2)}
        domains = {r.domain for r in view.at(2)}
        evaluation = view.config["evaluation"]
        assert (("exact", "decoded") in found) == bool(evaluation["decoded"])
        assert (("margin_low", "forced") in found) == bool(evaluation["anatomy"])
        assert (("pair", "forced") in found) == bool(evaluation["pairs"])
        assert {f"D{d.length}:{kind}" for d in view.tests for kind in evaluation["sets"]} <= domains


def test_decoded_answers_of_every_tested_length(tmp_path):
    (config,) = rows("coupled-1000", LAPTOP).values()
    (folder,) = train(tiny_recipe("coupled-1000"), tmp_path, LAPTOP)
    records = [r for r in RunView(folder).records if (r.metric, r.mode) == ("exact", "decoded")]
    assert [r.domain for r in records] == [str(domain) for domain in config.spec.tests]
    assert {(r.step, r.total) for r in records} == {(2, 3)}, "after training alone"


@pytest.mark.slow
def test_a_recipe_has_a_number_of_seeds_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(RECIPES, "coupled-1000", tiny_recipe("coupled-1000"))
    monkeypatch.setattr("lengthwise.api.render", lambda recipes, out, console: None)
    common = ["reproduce", "coupled-1000", "--json", "--out"]
    laptop = [str(tmp_path / "laptop"), "--scale", "laptop"]
    for arguments, count in (([str(tmp_path / "own")], 3), (laptop, 1)):
        main([*common, *arguments])
        (shown,) = json.loads(capsys.readouterr().out)
        assert len(shown["rows"]) == count
