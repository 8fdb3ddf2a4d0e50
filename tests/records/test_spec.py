"""What a run asks is the same from its config and from its config.json, and theory is asked once for all seeds."""

import json

import pytest
from fakes import tiny_config

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.spec import RunSpec, predict_once, read_spec
from lengthwise.theory.predict import predict


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_config_and_its_json_ask_the_same(recipe):
    for config in recipe.rows(Setting()).values():
        stored = read_spec(json.loads(config.model_dump_json()))
        assert stored == config.spec
        assert stored.question == config.spec.question


def test_only_the_seed_makes_no_other_question():
    spec = tiny_config(seed=1).spec
    assert tiny_config(seed=2).spec.question == spec.question
    changes = [{"train": "D1"}, {"base": 4}, {"training": {"steps": 25}}, {"evaluation": {"problems": 51}}]
    others = {tiny_config(**change).spec.question for change in changes}
    assert len(others | {spec.question}) == 5


def test_tests_and_layout_that_are_left_out_are_the_usual_ones():
    spec = tiny_config(train="D2", test=None, encoding="abacus").spec
    assert [str(domain) for domain in spec.tests] == [f"D{n}" for n in range(1, 8)]
    assert spec.layout == "reversed"
    measured = spec.measured_domains()
    assert str(measured[0]) == "D2" and len(measured) == 7
    assert [domain.length for domain in spec.longer()] == [3, 4, 5, 6, 7]


def test_predictions_are_those_of_predict_and_made_once():
    spec = tiny_config(seed=1).spec
    rows = predict("add", train="D2", test="D1..3", base=3).rows
    assert tuple(spec.predictions()) == rows
    before = predict_once.cache_info().misses
    assert tiny_config(seed=7).spec.predictions() == [*rows]
    assert predict_once.cache_info().misses == before


def test_where_theory_is_silent_on_absolute_positions_truncation_is_measured():
    silent, relative = tiny_config(train="B2").spec, tiny_config(train="B2", encoding="rotary").spec
    longer = Domain.parse("D3", 3)
    assert silent.predicted_hypothesis(longer) is None and str(silent.measured_hypothesis(longer)) == "truncated:2"
    assert relative.predicted_hypothesis(longer) is None and relative.measured_hypothesis(longer) is None
    assert str(tiny_config().spec.measured_hypothesis(longer)) == "truncated:2"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "it has no task, train"),
        ({"task": "add"}, "it has no train, test"),
        (tiny_config().model_dump() | {"task": "div"}, "div"),
        (tiny_config().model_dump() | {"train": 7}, "config.json is not a run config"),
        (tiny_config().model_dump() | {"seed": None}, "config.json is not a run config"),
    ],
)
def test_what_is_no_config_is_refused_in_one_line(content, told):
    with pytest.raises(InputError, match=told) as refused:
        read_spec(content)
    assert "\n" not in str(refused.value)
    assert isinstance(RunSpec.of(tiny_config().model_dump()), RunSpec)
