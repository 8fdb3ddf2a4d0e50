"""What is learned and what is built in: rows that differ in what they say, and two steps of each through all that
is measured and shown."""

from dataclasses import replace

import pytest
import torch
from training import train

from lengthwise.errors import InputError
from lengthwise.recipes import RECIPES, Setting
from lengthwise.recipes.long_operands import LADDER, LADDER_LENGTHS
from lengthwise.recipes.paper import DIVIDED
from lengthwise.records.folder import differences
from lengthwise.records.view import RunView
from lengthwise.report.figures import draw
from lengthwise.report.queries import Collection
from lengthwise.report.results import tables_of
from lengthwise.runs.build import build, training_data

FULL, LAPTOP = Setting(), Setting(scale="laptop")
PRIOR = (
    *("prior-ladder", "prior-lengths", "coupling-published", "coupling-differences"),
    *("carry-reading", "base-or-modulus", "unseen-digits"),
)
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
    # To take packing away takes the length of its rows away too; the controls freeze heads that start elsewhere.
    two = ("prior-without-packing", "prior-attention-frozen-on-wrong-columns", "prior-attention-frozen-anywhere")
    expected = {"prior-recipe": 0, **dict.fromkeys(two, 2)}
    assert {name: len(found) for name, found in changed.items()} == {name: expected.get(name, 1) for name in rows}
    same = {"test": None, "evaluation": None}
    wider = of_1000.changed(model={"context": 1_034}).model_dump(mode="json")
    assert {**start, **same} == {**wider, **same}


def test_the_longest_tested_sum_just_fits_the_circle():
    """1,031 digits, around a circle of a prime number of positions; no longer one is taken."""
    config = RECIPES["prior-ladder"].rows(FULL)["prior-recipe"]
    assert max(LADDER_LENGTHS) == 1_031
    assert max(LADDER_LENGTHS) + 1 + 2 == config.model.context
    assert all((config.model.context - 1) % k for k in range(2, 33))
    with pytest.raises(InputError, match="1035 positions do not fit in a table of 1034 rows"):
        build([config.changed(test="D1032")], torch.device("cpu"))


def published_positions(start, digits, answer_digits):
    """Position coupling's own numbering of [bos], a natural number, +, another, =, a reversed answer, and the end:
    positions rise from the highest digit of the answer, at `start`, to the signs."""
    signs = start + digits + 1
    operand = [*range(signs - digits, signs), signs]
    return [0, *operand, *operand, *range(signs - 1, signs - 1 - answer_digits, -1)]


def test_positions_of_the_published_row_are_position_couplings_mirrored():
    """Ours count from the signs up, theirs down to them; every start that theirs may have comes up."""
    config = RECIPES["coupling-published"].rows(FULL)["coupling-published"].changed(model={"width": 32})
    stack = build([config], torch.device("cpu"))
    batch, starts = training_data(stack, rows=4_000)(0), set()
    for ids, positions in zip(batch.ids[0].tolist(), batch.positions[0].tolist(), strict=True):
        equals = ids.index(stack.layout.vocabulary.equals)
        digits, end = equals // 2 - 1, ids.index(stack.layout.vocabulary.end)
        assert end - equals - 1 == digits + 1, "the answer has one digit more"
        start = 203 - max(positions)
        assert 1 <= start <= 201 - digits
        starts.add(start)
        theirs = [203 - p for p in published_positions(start, digits, digits + 1)[1:]]
        operand, sign, answer = theirs[:digits], theirs[digits], theirs[2 * digits + 2 :]
        assert positions[1:end] == [*operand[::-1], sign, *operand[::-1], sign, *answer]
        assert positions[0] == 0
        assert not any(positions[end:])
    assert starts >= {*range(1, 150)}


def test_the_published_row_has_the_published_parameters():
    """Attention, a gated MLP of 2,048, five norms, of which the last has a bias, and two tables."""
    config = RECIPES["coupling-published"].rows(FULL)["coupling-published"]
    stack = build([config], torch.device("cpu"))
    tables = (len(stack.layout.vocabulary) + 203) * 512
    assert stack.model.parameter_count() == 4 * 512**2 + 3 * 512 * 2048 + 6 * 512 + tables


def test_the_differences_cross_depth_heads_and_layout_and_begin_with_long_encodings():
    rows = [*RECIPES["coupling-differences"].rows(FULL).values()]
    compared = RECIPES["long-encodings"].rows(FULL)["long-encodings-coupled"].model_dump(mode="json")
    start = rows[0].model_dump(mode="json")
    assert where_they_differ(start, compared) <= {"test", "evaluation.offsets"}
    crossed = {"model.layers", "model.heads", "layout"}
    assert all(where_they_differ(start, row.model_dump(mode="json")) <= crossed for row in rows)
    assert len({(row.model.layers, row.model.heads, row.layout) for row in rows}) == 8
    published = RECIPES["coupling-published"].rows(FULL)["coupling-published"]
    last = rows[-1]
    assert (last.model.layers, last.layout) == (published.model.layers, published.layout)
    assert last.model.width / last.model.heads == published.model.width / published.model.heads


def where_they_differ(ours, theirs):
    return {difference.split()[0] for difference in differences(ours, theirs)}


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
        assert ({"after_change", "carry_after"} <= found) == bool(asked["changed_digits"])
        sets = {f"D{d.length}:{kind}" for d in view.tests for kind in asked["sets"]}
        assert sets <= {r.domain for r in view.at(2)}
    collection = Collection(tmp_path)
    for table in tables_of(recipe, collection).values():
        assert len(table.rows) >= len(folders)
    for figure in RECIPES[name].figures:
        picture = draw(figure, collection.views)
        assert picture is not None and picture.axes
