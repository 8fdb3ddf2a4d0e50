import pytest
from fakes import tiny_config

from lengthwise.errors import InputError
from lengthwise.runs.launch import train


def test_tensorboard_shows_the_records(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = train(tiny_config(), tmp_path, mirror="tensorboard")
    events = EventAccumulator(str(folder.path / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    shown = {(tag, e.step): e.value for tag in events.Tags()["scalars"] for e in events.Scalars(tag)}
    exact = [r for r in folder.records() if r.metric == "exact" and r.reference == "truth"]
    assert exact
    for record in exact:
        assert shown[f"exact/{record.domain}", record.step] == pytest.approx(record.correct / record.total)


def test_wandb_keeps_the_records_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    (folder,) = train(tiny_config(), tmp_path, mirror="wandb")
    (log,) = folder.path.glob("wandb/offline-run-*/run-*.wandb")
    content = log.read_bytes()
    assert all(f"exact/{r.domain}".encode() in content for r in folder.records() if r.metric == "exact")


def test_an_unknown_mirror_is_refused_before_training(tmp_path):
    with pytest.raises(InputError, match="tensorboard, wandb"):
        train(tiny_config(), tmp_path, mirror="blackboard")
