"""What is learned and what is built in: rows that differ in what they say, and two steps of each through all that
is measured and shown."""

from dataclasses import replace

import pytest
from training import train

from lengthwise.recipes import RECIPES, Setting
from lengthwise.recipes.long_operands import LADDER, LADDER_LENGTHS
from lengthwise.recipes.paper import DIVIDED
from lengthwise.records.folder import differences
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.figures import draw
from lengthwise.report.results import tables_of

FULL, LAPTOP = Setting(), Setting(scale="laptop")
PRIOR = ("prior-ladder", "prior-lengths", "carry-reading", "base-or-modulus", "unseen-digits")
HARDLY = {
    "training": {"steps": 2, "batch": 4, "warmup": 1, "evaluate_every": 2, "schedule": "linear"},
    "model": {"layers": 1, "width": 96},
}


def tiny(config):
    """Two steps, two lengths, a few problems of each kind that the config asks for."""
    few = {"problems": 3, "interim_problems": 3, "changed_digits": config.evaluation.changed_digits and 5}
    short, longer = config.spec.train.length, config.spec.train.length + 1
    return config.changed(**HARDLY, evaluation=few, test=f"D{short},D{longer}")


def tiny_recipe(name):
    small = {row: tiny(config) for row, config in RECIPES[name].rows(LAPTOP).items()}
    return replace(RECIPES[name], rows=lambda setting: small)


def test_a_rung_of_the_ladder_differs_from_the_recipe_in_one_thing():
    rows = RECIPES["prior-ladder"].rows(FULL)
    (of_1000,) = RECIPES["coupled-1000"].rows(FULL).values()
    assert [*rows] == [f"prior-{name}" for name in LADDER]
    start = rows["prior-recipe"].model_dump(mode="json")
    changed = {name: [*differences(start, config.model_dump(mode="json"))] for name, config in rows.items()}
    # To take packing away is to take the length of its rows away too.
    assert {name: len(found) for name, found in changed.items()} == {
        name: {"prior-recipe": 0, "prior-without-packing": 2}.get(name, 1) for name in rows
    }
    same = {"test": None, "evaluation": None}
    assert {**start, **same} == {**of_1000.model_dump(mode="json"), **same}


def test_the_longest_tested_sum_just_fits_the_circle():
    config = RECIPES["prior-ladder"].rows(FULL)["prior-recipe"]
    assert max(LADDER_LENGTHS) + 1 + 2 == config.model.context == 1_032


def test_the_same_modulus_divides_a_power_of_one_base_and_of_the_other_none():
    for modulus, (divides, does_not) in DIVIDED.items():
        assert divides**3 % modulus == 0
        assert all(does_not**k % modulus for k in range(1, 30))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIOR)
def test_two_steps_of_every_row_are_measured_and_shown(name, tmp_path):
    recipe = tiny_recipe(name)
    folders = train(recipe, tmp_path, LAPTOP)
    for folder in folders:
        view = RunView(folder)
        asked = view.config["evaluation"]
        found = {r.metric.partition(":")[0] for r in view.at(2)}
        assert ("after_change" in found) == bool(asked["changed_digits"])
        sets = {f"D{d.length}:{kind}" for d in view.tests for kind in asked["sets"]}
        assert sets <= {r.domain for r in view.at(2)}
    collection = Collection(tmp_path)
    for table in tables_of(recipe, collection).values():
        assert len(table.rows) >= len(folders)
    for figure in RECIPES[name].figures:
        picture = draw(figure, collection.views)
        assert picture is not None and picture.axes
