"""Runs of equal shape train side by side, and each as it would alone."""

import pytest
import torch
from fakes import tiny_config, train
from safetensors.torch import load_file

from lengthwise.errors import InputError
from lengthwise.records.files import read_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs import launch
from lengthwise.runs.build import build
from lengthwise.runs.launch import Job, stacks
from lengthwise.training.checkpoint import load_state, save_checkpoint


def jobs(configs, root):
    return [Job(config, RunFolder(root / f"{number}")) for number, config in enumerate(configs)]


def sizes(configs, root):
    return sorted(len(stack) for stack in stacks(jobs(configs, root)))


def tensors(folder):
    path = folder.checkpoint_path
    return load_file(path / load_state(path).tensors)


@pytest.mark.parametrize("encoding", ["learned", "coupled"])
def test_each_member_ends_as_it_would_alone(encoding, tmp_path):
    """Different seeds, training domains, dropout, learning rates and decay."""
    slow = {"optimizer": "adamw", "learning_rate": 2e-4, "weight_decay": 0.5}
    quick = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.0}
    configs = [
        tiny_config(seed=1, encoding=encoding, model={"dropout": 0.1}, training=slow),
        tiny_config(
            seed=2, encoding=encoding, model={"dropout": 0.3}, training=quick, train="D1..2", test="D1..3"
        ),
    ]
    assert sizes(configs, tmp_path) == [2]
    together = train(configs, tmp_path / "together")
    for config, folder in zip(configs, together, strict=True):
        (single,) = train(config, tmp_path / "alone")
        assert folder.name == single.name == config.name
        assert folder.status() == "done"
        assert folder.config() == single.config()
        own, expected = tensors(folder), tensors(single)
        assert own.keys() == expected.keys()
        for name, tensor in expected.items():
            torch.testing.assert_close(own[name], tensor, rtol=1e-5, atol=1e-5, msg=name)
        assert_same_records(folder.records(), single.records())


def assert_same_records(own, expected):
    """Every record of the single run, with equal counts; a stack also measures the other's domains."""
    keyed = {(r.step, r.domain, r.reference, r.metric): r for r in own}
    assert {r.run for r in own} == {r.run for r in expected}
    assert len(expected) > 20
    for record in expected:
        found = keyed[record.step, record.domain, record.reference, record.metric]
        assert found.correct == record.correct
        assert found.value == (None if record.value is None else pytest.approx(record.value, abs=1e-4))
        assert found.model_copy(update={"value": None}) == record.model_copy(update={"value": None})


def test_muon_in_a_stack(tmp_path):
    configs = [tiny_config(seed=seed) for seed in (1, 2)]
    for config, folder in zip(configs, train(configs, tmp_path / "together"), strict=True):
        expected = tensors(train(config, tmp_path / "alone")[0])
        for name, tensor in tensors(folder).items():
            torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-4, msg=name)


def test_a_member_that_breaks_fails_and_the_other_is_done(tmp_path, monkeypatch):
    def broken(configs, device, names, **options):
        stack = build(configs, device, names, **options)
        with torch.no_grad():
            stack.model.tokens.weight[0] = float("nan")
        return stack

    monkeypatch.setattr(launch, "build", broken)
    first, second = train([tiny_config(seed=seed) for seed in (1, 2)], tmp_path)
    assert (first.status(), second.status()) == ("failed", "done")
    assert "no longer finite" in read_json(first.path / "status.json")["reason"]
    assert not list(first.checkpoint_path.iterdir()), "a checkpoint of a model that has no numbers left"
    assert load_state(second.checkpoint_path)
    for record in (*first.records(), *second.records()):
        assert record.correct is not None or record.value is not None


def test_what_is_packed_together(tmp_path):
    base = tiny_config()
    wide = {"operand_width": 3, "answer_width": 6}
    assert sizes([base, tiny_config(seed=1), tiny_config(train="D1")], tmp_path) == [3]
    assert sizes([base, tiny_config(model={"width": 32})], tmp_path) == [1, 1]
    assert sizes([base, tiny_config(training={"batch": 9})], tmp_path) == [1, 1]
    assert sizes([base, tiny_config(encoding="coupled")], tmp_path) == [1, 1]
    assert sizes([base, tiny_config(test="D1..4")], tmp_path) == [1, 1]
    assert sizes([base, tiny_config(base=4)], tmp_path) == [1, 1]
    assert sizes([base, tiny_config(data={"answer_width": 6})], tmp_path) == [1, 1]
    assert sizes([tiny_config(data=wide), tiny_config(task="mul", data=wide)], tmp_path) == [2]


def test_runs_at_different_steps_are_not_packed_together(tmp_path):
    made = jobs([tiny_config(seed=seed) for seed in range(4)], tmp_path)
    for job, step in zip(made, (4, 8, 4, None), strict=True):
        if step is not None:
            job.folder.checkpoint_path.mkdir(parents=True)
            facts = {"step": step, "finished": False, "seconds": 0.0, "records_size": 0}
            save_checkpoint(job.folder.checkpoint_path, {"w": torch.zeros(1)}, **facts)
    assert [[job.config.seed for job in stack] for stack in stacks(made)] == [[0, 2], [1], [3]]


def test_finished_runs_are_left_out_and_the_rest_trains(tmp_path):
    first, second = tiny_config(seed=1), tiny_config(seed=2)
    (done,) = train(first, tmp_path)
    before = done.records_path.read_bytes(), done.records_path.stat().st_mtime_ns
    both = train([first, second], tmp_path)
    assert [folder.status() for folder in both] == ["done", "done"]
    assert (done.records_path.read_bytes(), done.records_path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("task", ["add%7", "mul%7", "add%300", "mul"])
def test_every_kind_of_task_trains(task, tmp_path):
    (folder,) = train(tiny_config(task=task, training={"steps": 2}), tmp_path)
    assert folder.status() == "done"
    assert {r.task for r in folder.records()} == {task}


def test_another_config_in_the_folder_is_refused_before_anything_trains(tmp_path):
    train(tiny_config(training={"steps": 2}), tmp_path)
    with pytest.raises(InputError, match=r"training\.steps is 2 there and 3 here"):
        train([tiny_config(training={"steps": 3}), tiny_config(seed=9)], tmp_path)
    assert not (tmp_path / tiny_config(seed=9).name).exists()


def test_a_checkpoint_of_another_model_in_the_folder(tmp_path):
    config = tiny_config(training={"steps": 2})
    (folder,) = train(config, tmp_path)
    (folder.path / "status.json").write_text('{"status": "running"}')
    facts = {"step": 1, "finished": False, "seconds": 0.0, "records_size": 0}
    save_checkpoint(folder.checkpoint_path, {"model/other": torch.zeros(1, 2)}, **facts)
    with pytest.raises(InputError, match="does not fit this model") as error:
        train(config, tmp_path)
    assert str(folder.checkpoint_path) in str(error.value) and "\n" not in str(error.value)


def test_the_same_run_twice_in_one_call(tmp_path):
    """Once is enough; two members writing to one folder would spoil it."""
    config = tiny_config(training={"steps": 2})
    try:
        folders = train([config, config], tmp_path / "twice")
    except InputError:
        return
    (single,) = train(config, tmp_path / "once")
    assert folders[0].records_path.read_bytes() == single.records_path.read_bytes()
