import pytest
from fakes import tiny_config, train

from lengthwise.errors import InputError


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
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    (folder,) = train(tiny_config(), tmp_path, mirror="wandb")
    wandb.teardown()  # its process may write the log after the run has ended
    (log,) = folder.path.glob("wandb/offline-run-*/run-*.wandb")
    content = b"".join(fragments(log.read_bytes()))
    assert all(f"exact/{r.domain}".encode() in content for r in folder.records() if r.metric == "exact")


def fragments(log):
    """A W&B log is 7 bytes, then blocks of 32 KiB: a record that meets the end of a block goes on in the next one,
    behind a header of 7 bytes that has its length at byte 4."""
    block, header, start = 32 * 1024, 7, 7
    while start < len(log):
        left = block - start % block
        if left < header:
            start += left
            continue
        end = start + header + int.from_bytes(log[start + 4 : start + 6], "little")
        yield log[start + header : end]
        start = end


def test_an_unknown_mirror_is_refused_before_training(tmp_path):
    with pytest.raises(InputError, match="tensorboard, wandb"):
        train(tiny_config(), tmp_path, mirror="blackboard")
