"""Every layout from a config to answers: train, resume, evaluate both ways, ask."""

import pytest
import torch
from fakes import read_text, tiny_config, train

from lengthwise.errors import InputError
from lengthwise.runs.build import build, stack_key, training_data
from lengthwise.runs.config import RunConfig
from lengthwise.runs.evaluate import evaluate
from lengthwise.runs.load import load
from lengthwise.theory.encodings import ENCODING_FACTS
from lengthwise.tokens.digits import from_ints
from lengthwise.tokens.layouts.layout import Malformed

SHORT = {"training": {"steps": 3, "evaluate_every": 3}}
BY_PLACE = {"position_waves": True, "place_attention": True}
CASES = [
    *({"encoding": encoding} for encoding in ENCODING_FACTS),
    {"encoding": "randomized:fire"},
    {"encoding": "learned", "layout": "plain"},
    {"encoding": "learned", "layout": "scratchpad"},
    {"encoding": "rotary", "layout": "scratchpad", "task": "mul"},
    {"encoding": "abacus", "task": "mul"},
    {"encoding": "abacus", "task": "mul%7"},
    {"encoding": "coupled", "layout": "reversed"},
    {"encoding": "coupled", "layout": "level"},
    {"encoding": "abacus", "layout": "level", "task": "mul"},
    {"encoding": "coupled", "layout": "level", "model": BY_PLACE, "data": {"packing": "concatenated"}},
    {"encoding": "learned", "model": BY_PLACE},
    {"encoding": "learned", "layout": "plain", "data": {"packing": "concatenated"}},
    {"encoding": "abacus", "data": {"packing": "concatenated", "samples": 20}},
    {"encoding": "rotary", "data": {"packing": "concatenated"}},
]


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_from_a_config_to_answers(changes, tmp_path):
    config = tiny_config(**SHORT, **changes)
    (folder,) = train(config, tmp_path)
    assert folder.status() == "done"
    run = load(folder.path)
    found = evaluate(run, "D2..3", decoded=True, show_errors=3)
    exact = {(r.domain, r.mode): r.correct for r in found.records if (r.metric, r.reference) == ("exact", "truth")}
    assert all(exact[domain, "forced"] == exact[domain, "decoded"] for domain in ("D2", "D3"))
    assert len(found.errors) == 3 and all(e.answered != e.truth for e in found.errors)
    answer = run.ask(3, 26)
    assert answer.truth == config.spec.task(3, 26)
    assert isinstance(answer.answered, int | Malformed)


def test_natural_layouts():
    layouts = {encoding: RunConfig(task="add", encoding=encoding).spec.layout for encoding in ENCODING_FACTS}
    assert layouts["abacus"] == "reversed"
    assert {layouts[name] for name in ("rotary", "alibi", "t5", "shaw", "fire")} == {"aligned"}
    assert {layouts[name] for name in ("none", "learned", "sinusoidal", "coupled")} == {"padded"}


def test_names_tell_layouts_apart():
    names = [RunConfig(task="add", layout=layout).name for layout in (None, "padded", "plain")]
    assert names == ["add-D4-learned-s0", "add-D4-learned-s0", "add-D4-learned-plain-s0"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layout": "diagonal"}, ("'diagonal'", "padded, aligned, descending, reversed, level")),
        ({"layout": "scratchpad", "task": "mul%7"}, ("'scratchpad'", "mul%7", "choose from padded, aligned")),
        ({"layout": "plain", "encoding": "abacus"}, ("'abacus'", "'plain'", "choose from padded, aligned")),
        ({"layout": "plain", "encoding": "coupled"}, ("'coupled'", "'plain'", "choose from padded, aligned")),
        ({"data": {"packing": "stapled"}}, ("'stapled'", "lines", "concatenated")),
        ({"data": {"row_tokens": 0}}, ("row_tokens", "0")),
    ],
)
def test_refusals(changes, words):
    with pytest.raises(InputError) as error:
        RunConfig(**{"task": "add", **changes})
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_unlike_lengths_of_training_are_not_packed_together():
    one, two, other = (
        tiny_config(layout="reversed", test="D3", **changes)
        for changes in ({}, {"train": "D1..2", "seed": 1}, {"train": "D1"})
    )
    assert stack_key(one) == stack_key(two) != stack_key(other)
    product = one.changed(task="mul", data={"answer_width": 6})
    assert stack_key(one.changed(data={"answer_width": 6})) != stack_key(product)


def test_answers_are_as_wide_in_training_as_in_evaluation():
    """Also where one operand is short throughout training, and more digits than needed are written."""
    config = tiny_config(task="mul", train="1..2x1", test="1..4x1", layout="level")
    stack = build([config], torch.device("cpu"))
    texts = {stack.layout.render(ids) for ids in training_data(stack, 500)(0).ids[0]}
    assert "[bos]22*20=1210;[eos]" in texts, "8 * 2 = 16"
    for text in texts:
        problem = read_text(stack.layout, text)
        widths = stack.layout.operand_width, stack.layout.operand_width, stack.layout.answer_width
        numbers = (from_ints([n], width, 3) for n, width in zip(problem, widths, strict=True))
        assert stack.layout.render(stack.layout.encode(*numbers).ids[0]) == text


def test_level_answers_of_unlike_tasks_are_not_packed_together():
    """A product is wider than a sum, also where training and what there is room for are equally wide."""
    changes = {"train": "D1", "layout": "level", "data": {"answer_width": 6}}
    add, mul, other = (tiny_config(task=task, seed=s, **changes) for s, task in enumerate(("add", "mul", "add")))
    assert stack_key(add) == stack_key(other) != stack_key(mul)


def test_steps_of_unlike_tasks_are_not_packed_together():
    wide = {"operand_width": 3, "answer_width": 6}
    keys = [stack_key(tiny_config(task=t, layout="scratchpad", data=wide)) for t in ("add", "mul")]
    assert keys[0] != keys[1]
    assert keys[0] == stack_key(tiny_config(layout="scratchpad", train="D1", test="D1..3", seed=3, data=wide))


def test_a_member_of_a_stack_loads_alone(tmp_path):
    changes = {"layout": "reversed", "data": {"packing": "concatenated"}, **SHORT}
    configs = [tiny_config(seed=1, **changes), tiny_config(seed=2, train="D1..2", **changes)]
    assert stack_key(configs[0]) == stack_key(configs[1])
    for folder in train(configs, tmp_path):
        assert load(folder.path).ask(1, 1).truth == 2


def test_training_is_as_long_as_training_needs():
    """Problems of up to 2 digits in training, 40 in testing; positions are there for both."""
    config = tiny_config(encoding="learned", layout="reversed", test="D40")
    stack = build([config], torch.device("cpu"))
    assert training_data(stack, 8)(0).ids.shape[-1] == 12
    assert stack.layout.length == stack.model.encoding.rows == 126


def test_positions_reach_to_the_end_of_a_row():
    config = tiny_config(layout="reversed", data={"packing": "concatenated", "row_tokens": 200})
    assert build([config], torch.device("cpu")).model.encoding.rows == 200
    with pytest.raises(InputError, match="200 positions do not fit in a table of 64 rows"):
        build([config.changed(model={"context": 64})], torch.device("cpu"))


def test_training_draws_from_all_positions_that_longer_operands_will_need():
    """Where problems have their natural lengths, those of training leave most of the table to the offset."""
    changes = {"encoding": "coupled", "layout": "reversed", "model": {"context": 20}}
    config = tiny_config(train="D1..2", test="D1..10", **changes)
    stack = build([config], torch.device("cpu"))
    positions = training_data(stack, 4_000)(0).positions
    assert positions.max() == 19
    assert set(range(20)) == set(positions.unique().tolist())
