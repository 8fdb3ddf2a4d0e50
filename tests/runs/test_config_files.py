"""Configs from files: a run's own, and those that a person writes."""

import json

import pytest

import lengthwise
from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.recipes import configure, preset

YAML = """
task: add%7
train: D1..2
base: 6
size: nano
steps: 2500
training: {batch: 32, learning_rate: 3e-3}
"""


def config(capsys, *arguments):
    main(["train", *map(str, arguments), "--print-config"])
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def stored(tmp_path, capsys):
    path = tmp_path / "config.json"
    asked = ["mul%150", "--train", "0.6*D2+0.4*D3", "--preset", "paper", "--size", "micro", "--seed", "7"]
    path.write_text(json.dumps(config(capsys, *asked, "--evaluation.hypotheses", "truncated:2", "folded:2")))
    return path


def test_a_config_that_was_printed_is_the_same_again(stored, capsys, tmp_path):
    assert config(capsys, "--config", stored) == json.loads(stored.read_text())
    assert configure(config=stored) == lengthwise.RunConfig(**json.loads(stored.read_text()))
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"], "nothing is trained"


def test_options_change_it(stored, capsys):
    before = configure(config=stored)
    own = config(capsys, "add", "--config", stored, "--seed", "3", "--training.batch", "9", "--size", "nano")
    changed = before.changed(
        task="add", seed=3, training={"batch": 9}, model={"layers": 3, "heads": 3, "width": 48}
    )
    assert own == changed.model_dump(mode="json")
    settings = {"seed": 3, "training": {"batch": 9}, "size": "nano"}
    assert configure("add", config=stored, **settings) == configure("add", config=before, **settings) == changed


def test_a_run_again_under_another_name(tmp_path, capsys):
    settings = {"train": "D1", "test": "D1", "base": 3, "size": "nano", "training": {"batch": 4, "warmup": 1}}
    run = lengthwise.train("add", **settings, steps=1, name="one", out=tmp_path, device="cpu", quiet=True)
    main(["train", "--config", f"{run.path}/config.json", "--name", "two", "--out", str(tmp_path), "--json"])
    assert lengthwise.load(tmp_path / "two").config == run.config
    third = lengthwise.train(config=run.path / "config.json", name="three", out=tmp_path, quiet=True)
    assert third.config == run.config


def test_a_file_that_says_less_starts_from_a_preset(tmp_path, capsys):
    file = tmp_path / "small.yaml"
    file.write_text(YAML)
    training = {"batch": 32, "learning_rate": 3e-3, "steps": 2500}
    wanted = preset("fast", "add%7", "nano").changed(train="D1..2", base=6, training=training)
    assert config(capsys, "--config", file) == wanted.model_dump(mode="json")
    paper = preset("paper", "mul%7", "nano").changed(train="D1..2", base=6, training=training)
    assert config(capsys, "mul%7", "--config", file, "--preset", "paper") == paper.model_dump(mode="json")


def test_what_an_earlier_version_left_out_means_what_it_meant(stored, tmp_path, capsys):
    old = json.loads(stored.read_text())
    del old["data"]["sparse"], old["training"]["cooldown"], old["model"]["position_std"]
    stored.write_text(json.dumps(old))
    new = config(capsys, "--config", stored)
    assert (new["data"]["sparse"], new["training"]["cooldown"], new["model"]["position_std"]) == (0.0, 2_000, None)


BILLIONS = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.yaml", "task: [", "cannot read"),
        ("a.json", "{", "cannot read"),
        ("a.yaml", "3", "no keys with values"),
        ("a.json", "[]", "no keys with values"),
        ("a.yaml", "1: 2", "unknown option 1"),
        ("a.yaml", "train: D4", "missing task"),
        ("a.yaml", "task: add\ncolour: red", "unknown option colour"),
        ("a.yaml", "task: add\nconfig: a.yaml", "unknown option config"),
        ("a.yaml", "task: add\ntraining: 3", "training is 3"),
        ("a.yaml", "task: add\ntraining: {lr: 3}", "unknown option lr"),
        ("a.yaml", "task: [add]\npreset: paper", "task is ['add'] (must be a string)"),
        ("a.yaml", "task: add\nsize: big", "unknown size 'big' (choose from nano, micro, mini)"),
        ("a.yaml", "task: add\ntrain: {D4: 1}", "train is {'D4': 1}"),
        ("a.yaml", b"\xff\xfe\x00", "cannot read"),
        ("a.yaml", f"a0: &a0 [x]\n{BILLIONS}task: *a11", "aliases are not read"),
    ],
)
def test_a_bad_file_is_told_in_one_line(name, content, words, tmp_path, capsys):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SystemExit) as stop:
        main(["train", "--config", str(file)])
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2 and line.startswith("error: ") and str(file) in line and words in line, line


def test_what_does_not_go_together(stored, tmp_path):
    with pytest.raises(InputError, match=r"preset .fast. cannot be combined with .*complete"):
        configure(config=stored, preset="fast")
    with pytest.raises(InputError, match="preset 'fast' cannot be combined with a complete config"):
        configure(config=configure("add"), preset="fast")
    with pytest.raises(InputError, match="no file"):
        configure(config=tmp_path / "nothing.yaml")
    with pytest.raises(InputError, match="missing task"):
        configure()
