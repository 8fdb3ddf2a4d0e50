import json
from pathlib import Path

import pytest

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.recipes import preset
from lengthwise.recipes.configure import PRESETS
from lengthwise.runs.config import RunConfig, read_config


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"task": "div"}, ("'div'", "choose from add, mul, sub")),
        ({"task": "add%%3"}, ("'add%%3'", "write add, mul")),
        ({"task": "add%0"}, ("0", "1 or more")),
        ({"encoding": "sin"}, ("'sin'", "choose from", "learned")),
        ({"layout": "diagonal"}, ("'diagonal'", "choose from", "padded")),
        ({"train": "E4"}, ("E4", "write D4")),
        ({"test": "D9,Q"}, ("Q", "write D4")),
        ({"base": 1}, ("1", "2 to 36")),
        ({"train": "D4", "test": "D9", "data": {"operand_width": 8}}, ("8", "must be 9 or more")),
        ({"train": "D4", "test": "D3", "data": {"operand_width": 3}}, ("3", "must be 4 or more")),
        (
            {"test": "D5", "data": {"operand_width": 5, "answer_width": 5}},
            ("answer_width 5", "must be 6 or more", "add", "5 digits"),
        ),
        (
            {"task": "mul", "train": "1..4x2", "test": "9x2", "data": {"answer_width": 10}},
            ("answer_width 10", "must be 11 or more", "mul", "9 digits"),
        ),
        ({"model": {"heads": 5, "width": 384}}, ("heads 5", "384", "choose from 1, 2, 3, 4, 6")),
        ({"model": {"heads": 0}}, ("heads", "0")),
        ({"model": {"dropout": 1.0}}, ("dropout", "1.0")),
        ({"training": {"optimizer": "sgd"}}, ("optimizer", "'sgd'", "adamw", "muon")),
        ({"training": {"schedule": "step"}}, ("schedule", "'step'", "cosine")),
        ({"training": {"batch": 0}}, ("batch", "0")),
        ({"training": {"learning_rate": -1.0}}, ("learning_rate", "-1.0")),
        ({"task": "mul", "data": {"sampling": "chains"}}, ("sampling chains", "addition", "not mul")),
        ({"data": {"sampling": "clever"}}, ("sampling", "'clever'", "balanced")),
        ({"evaluation": {"problems": 0}}, ("problems", "0")),
        ({"seed": -1}, ("seed", "-1")),
        ({"learning_rate": 1.0}, ("learning_rate",)),
        ({"training": {"lr": 1.0}}, ("lr",)),
    ],
)
def test_bad_values_are_told_in_one_line(content, words):
    with pytest.raises(InputError) as error:
        RunConfig(**{"task": "add", **content})
    text = str(error.value)
    assert "\n" not in text
    assert all(word in text for word in words), text


def test_a_task_is_needed():
    with pytest.raises(InputError, match="task"):
        RunConfig()


def test_an_unknown_size_and_an_unknown_preset():
    with pytest.raises(InputError, match=r"'huge' \(choose from nano, micro, mini\)"):
        ModelConfig.named("huge")
    with pytest.raises(InputError, match=r"'slow' \(choose from .*fast.*"):
        preset("slow", "add")


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(task="add"),
        RunConfig(task="mul%150", train="0.6*D6+0.4*D7", test="B5..7,D9", encoding="coupled", base=36, seed=5),
        preset("paper", "mul"),
        preset("fast", "add%101", "nano"),
    ],
)
def test_json_gives_the_config_back(config):
    text = json.dumps(config.model_dump(mode="json"))
    assert read_config(json.loads(text), "config.json") == config


def test_defaults_are_the_preset_that_train_starts_from():
    assert RunConfig(task="mul%7") == preset("fast", "mul%7")
    assert RunConfig(task="add", training={"batch": 8}) == preset("fast", "add").changed(training={"batch": 8})


def test_stored_configs_that_leave_fields_out_mean_what_they_meant():
    """The first config that is stored, of version 0.1: all it says stays, and fields that came later are as before
    they came."""
    file = json.loads((Path(__file__).parents[2] / "results" / "readme.json").read_text())
    stored = file["folders"]["addition-D4-seed1"]["config"]
    config = read_config(stored, "config.json")
    for section in ("model", "data", "training", "evaluation"):
        assert config.model_dump(mode="json")[section].items() >= stored[section].items()
    assert not {"sparse", "position_std", "cooldown"} & {*stored["data"], *stored["model"], *stored["training"]}
    assert (config.data.sparse, config.model.position_std, config.training.cooldown) == (0.0, None, 2_000)
    bare = read_config({"task": "add"}, "config.json")
    assert (bare.model.dropout, bare.model.tied, bare.training.batch) == (0.0, True, 256)


@pytest.mark.parametrize("content", [{"task": "add", "colour": "red"}, {"task": "div"}, {}, [], None, 3])
def test_foreign_json_is_refused_with_its_place(content):
    with pytest.raises(InputError, match=r"runs/x/config\.json") as error:
        read_config(content, "runs/x/config.json")
    assert "\n" not in str(error.value)


def test_configs_are_frozen():
    with pytest.raises(Exception, match="frozen"):
        RunConfig(task="add").seed = 3


def test_changed_is_validated_and_leaves_the_rest():
    config = RunConfig(task="add", training={"batch": 8})
    other = config.changed(seed=3, training={"steps": 10})
    assert (other.seed, other.training.steps, other.training.batch) == (3, 10, 8)
    assert config.seed == 0
    with pytest.raises(InputError, match="heads 7"):
        config.changed(model={"heads": 7})


def test_domains_and_widths_that_follow_from_others():
    config = RunConfig(task="add%101", train="D4", test="B5..7")
    assert [str(d) for d in config.spec.measured_domains()] == ["D4", "B5", "B6", "B7"]
    assert (config.operand_width, config.answer_width) == (7, 3)
    default = RunConfig(task="mul", train="D2")
    assert [str(d) for d in default.spec.tests] == [f"D{n}" for n in range(1, 8)]
    assert [str(d) for d in default.spec.measured_domains()] == ["D2", "D1", "D3", "D4", "D5", "D6", "D7"]
    assert (default.operand_width, default.answer_width) == (7, 14)


def test_names_tell_runs_apart_and_are_file_names():
    configs = [
        RunConfig(task=task, train=train, encoding=encoding, base=base, seed=seed)
        for task in ("add", "add%7", "mul%7")
        for train in ("D2", "B2", "D1..2", "0.6*D1+0.4*D2", "D2[lead>=2]")
        for encoding in ("learned", "coupled")
        for base in (3, 10)
        for seed in (0, 1)
    ]
    names = [config.name for config in configs]
    assert len(set(names)) == len(names)
    assert all(name == name.strip(".") and not set(name) & set('/\\*?<>|:" %') for name in names)


def test_the_papers_table():
    config = preset("paper", "add")
    training, model, data = config.training, config.model, config.data
    assert (training.batch, training.learning_rate, training.betas) == (64, 1e-3, (0.9, 0.99))
    assert (training.optimizer, training.weight_decay, training.schedule) == ("adamw", 0.1, "cosine")
    assert (training.clip, training.steps) == (1.0, 100_000)
    assert (model.layers, model.heads, model.width) == (6, 6, 384)
    assert (model.dropout, model.bias, model.context) == (0.2, False, 256)
    assert (data.samples, data.sampling) == (100_000, "paper")
    assert config.spec.layout == "padded"


@pytest.mark.parametrize("task", ["mul", "mul%150"])
def test_the_papers_code_differs_for_multiplication(task):
    config, other = preset("paper", task), preset("paper", "add")
    assert (config.model.dropout, config.training.schedule) == (0.1, "constant")
    restored = config.changed(task="add", model={"dropout": 0.2}, training={"schedule": "cosine"})
    assert restored == other, "and in nothing else"


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("size", ["nano", "mini"])
def test_presets_are_whole_configs(name, size):
    config = preset(name, "add%101", size)
    assert config.task == "add%101"
    assert config.model.layers == ModelConfig.named(size).layers
    assert config.changed(train="D6", test="D1..10").operand_width >= 10


@pytest.mark.parametrize(
    ("changes", "width"),
    [
        ({}, 11),
        ({"test": "9x2,2x9"}, 11),
        ({"test": "9x2,D4"}, 11),
        ({"test": "9x2,D6"}, 12),
        ({"task": "add"}, 10),
        ({"data": {"answer_width": 14}}, 14),
        # What may be asked beyond domains has room for any two operands.
        ({"data": {"operand_width": 9}}, 18),
        ({"evaluation": {"pairs": 1}}, 18),
        ({"evaluation": {"dependence": True}}, 18),
        ({"layout": "scratchpad"}, 18),
    ],
)
def test_answers_have_room_for_the_longest(changes, width):
    content = {"task": "mul", "train": "1..4x2", "test": "9x2", **changes}
    assert RunConfig(**content).answer_width == width
