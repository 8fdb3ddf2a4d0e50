import json

import pytest

from lengthwise.explorer import runs
from lengthwise.explorer.runs import points, summary
from lengthwise.records.schema import Record


def line(step: int, metric: str = "exact", **changes) -> bytes:
    record = Record(
        run="r", seed=1, step=step, task="add", base=10, domain="D2", metric=metric, total=4, selection="sampled",
        correct=None if metric == "train_loss" else 3, value=0.5 if metric == "train_loss" else None,
    ).model_copy(update=changes)  # fmt: skip
    return record.model_dump_json().encode() + b"\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "records.jsonl").write_bytes(line(1) + line(1, "train_loss"))
    return tmp_path


def test_points_are_loss_and_accuracy_against_truth(folder):
    with (folder / "records.jsonl").open("ab") as handle:
        for other in (
            {"reference": "truncated:2"},
            {"mode": "decoded"},
            {"metric": "digit:1"},
            {"metric": "weak"},
        ):
            handle.write(line(2, **other))
        handle.write(b"no record\n[]\n3\n")
    reply = points(folder, 0)
    assert [(p.metric, p.value) for p in reply.points] == [("exact", 0.75), ("train_loss", 0.5)]
    assert not reply.more


def test_only_what_is_new_is_read_and_a_torn_line_waits(folder):
    first = points(folder, 0)
    whole = line(2)
    with (folder / "records.jsonl").open("ab") as handle:
        handle.write(whole[:30])
    torn = points(folder, first.offset)
    assert (torn.points, torn.offset, torn.more) == ([], first.offset, False)
    with (folder / "records.jsonl").open("ab") as handle:
        handle.write(whole[30:])
    assert [p.step for p in points(folder, torn.offset).points] == [2]


def test_a_resumed_run_that_cut_its_records_is_read_anew(folder):
    end = points(folder, 0).offset
    (folder / "records.jsonl").write_bytes(line(1))
    reply = points(folder, end)
    assert reply.restarted and len(reply.points) == 1


def test_long_records_come_in_pieces(folder, monkeypatch):
    steps = range(50)
    (folder / "records.jsonl").write_bytes(b"".join(map(line, steps)))
    monkeypatch.setattr(runs, "RECORD_BYTES", 700)
    seen, offset, more = [], 0, True
    while more:
        reply = points(folder, offset)
        seen += [p.step for p in reply.points]
        offset, more = reply.offset, reply.more
    assert seen == list(steps)


def test_a_run_without_records_has_no_points(tmp_path):
    assert points(tmp_path, 0).points == []


def test_runs_of_one_config_share_their_group(run_folders):
    groups = {path.parent.name: summary("x", path.parent).group for path in run_folders.glob("add*/config.json")}
    assert len(groups) == 2 and len(set(groups.values())) == 1
    (other,) = (run_folders / "products").iterdir()
    assert summary("x", other).group not in groups


@pytest.mark.parametrize("content", ["{}", "[]", "3", "nonsense", json.dumps({"task": "add", "base": 99})])
def test_a_folder_that_cannot_be_read_says_why(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    assert summary("x", tmp_path).error
