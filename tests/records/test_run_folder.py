import json
import subprocess
import sys

import pytest

from lengthwise.errors import InputError
from lengthwise.records.files import read_json, write_json
from lengthwise.records.folder import RunFolder
from lengthwise.records.schema import Record

CONFIG = {"task": "add", "seed": 1, "training": {"batch": 8, "steps": 10}, "test": None}


def record(step, **changes):
    content = {"run": "r", "seed": 1, "step": step, "task": "add", "base": 10, "domain": "D2", "correct": 5}
    return Record(**{**content, "total": 9, "selection": "sampled", **changes})


def claim(path, config=CONFIG):
    return RunFolder.claim(path, config, {"torch": "2"})


@pytest.fixture
def folder(tmp_path):
    return claim(tmp_path / "runs" / "r")


def one_line(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_claim_makes_a_folder(folder):
    assert folder.name == "r"
    assert folder.config() == CONFIG
    assert folder.environment() == {"torch": "2"}
    assert folder.status() == "running"
    assert folder.checkpoint_path.is_dir()
    assert folder.records() == []
    assert sorted(p.name for p in folder.path.iterdir()) == [
        "checkpoint",
        "config.json",
        "environment.json",
        "status.json",
    ]


def test_the_same_config_takes_the_folder_up(folder):
    folder.append([record(1)])
    again = RunFolder.claim(folder.path, json.loads(json.dumps(CONFIG)), {"torch": "3"})
    assert again.records() == [record(1)]
    assert again.environment() == {"torch": "2"}, "where a run was begun stays on record"


def test_another_config_is_refused_with_the_difference(folder):
    other = {**CONFIG, "seed": 2, "training": {"batch": 64, "steps": 10}, "test": "D3"}
    before = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    with pytest.raises(InputError) as error:
        claim(folder.path, other)
    text = one_line(error)
    assert str(folder.path) in text
    assert "seed is 1 there and 2 here" in text
    assert "training.batch is 8 there and 64 here" in text
    assert "test is None there and 'D3' here" in text
    assert "steps" not in text and "task" not in text
    assert {path: path.read_bytes() for path in before} == before


def test_a_key_that_only_one_side_has_is_a_difference(folder):
    with pytest.raises(InputError, match=r"note is None there and 'x' here"):
        claim(folder.path, {**CONFIG, "note": "x"})
    with pytest.raises(InputError, match=r"seed is 1 there and None here"):
        claim(folder.path, {key: value for key, value in CONFIG.items() if key != "seed"})


def test_done_stays_done(folder):
    folder.set_status("done", step=10)
    assert claim(folder.path).status() == "done"
    assert read_json(folder.path / "status.json") == {"status": "done", "step": 10}


def test_a_failed_run_runs_again(folder):
    folder.set_status("failed", reason="the loss is no longer finite", step=3)
    assert RunFolder(folder.path).status() == "failed"
    assert claim(folder.path).status() == "running"


def test_status_of_nothing(tmp_path):
    assert RunFolder(tmp_path / "none").status() is None


def test_existing(folder, tmp_path):
    assert RunFolder.existing(folder.path).config() == CONFIG
    with pytest.raises(InputError, match="not a run folder") as error:
        RunFolder.existing(tmp_path)
    assert str(tmp_path) in one_line(error)


def test_appended_records_read_back_in_order(folder):
    first, second = [record(1), record(1, metric="loss", correct=None, value=0.25)], [record(2)]
    folder.append(first)
    folder.append(second)
    folder.append([])
    assert folder.records() == first + second
    assert folder.records_path.read_text().count("\n") == 3
    assert folder.records_size() == folder.records_path.stat().st_size


@pytest.mark.parametrize("kept", [1, 30, -1])
def test_a_torn_last_line_does_not_count(folder, kept):
    folder.append([record(1)])
    line = record(2).model_dump_json()
    with folder.records_path.open("a") as handle:
        handle.write(line[:kept])
    assert folder.records() == [record(1)]


def test_a_line_torn_inside_a_character_does_not_count(folder):
    folder.append([record(1)])
    line = record(2, domain="à moi.txt").model_dump_json().encode()
    with folder.records_path.open("ab") as handle:
        handle.write(line[: line.index("à".encode()) + 1])
    assert folder.records() == [record(1)]


def test_appending_after_a_torn_line_leaves_whole_lines(folder):
    folder.append([record(1)])
    with folder.records_path.open("a") as handle:
        handle.write('{"run": "torn')
    folder.append([record(2)])
    assert folder.records() == [record(1), record(2)]


def test_cut_records_drops_what_lies_past_a_checkpoint(folder):
    folder.append([record(1)])
    size = folder.records_size()
    folder.append([record(2), record(3)])
    with folder.records_path.open("a") as handle:
        handle.write('{"run": "torn')
    folder.cut_records(size)
    assert folder.records() == [record(1)]
    folder.append([record(4)])
    assert folder.records() == [record(1), record(4)]
    folder.cut_records(0)
    assert folder.records() == []


def test_cutting_never_lengthens(folder):
    folder.cut_records(0)
    assert not folder.records_path.exists()
    folder.append([record(1)])
    size = folder.records_size()
    folder.cut_records(size + 100)
    assert folder.records_size() == size


@pytest.mark.parametrize(
    "line", [b"not json", b"{}", b'{"run": 1}', b"", b"\xff\xfe", record(2).model_dump_json().encode()[:-1]]
)
def test_a_foreign_line_is_named(folder, line):
    folder.append([record(1)])
    with folder.records_path.open("ab") as handle:
        handle.write(line + b"\n")
    folder.append([record(3)])
    with pytest.raises(InputError) as error:
        folder.records()
    text = one_line(error)
    assert str(folder.records_path) in text and "2" in text


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "runs").write_text("I am no folder")
    with pytest.raises(InputError, match="cannot make run folder") as error:
        claim(tmp_path / "runs" / "r")
    assert str(tmp_path / "runs" / "r") in one_line(error)


def test_records_that_cannot_be_written(folder):
    folder.records_path.mkdir()
    with pytest.raises(InputError, match="cannot write") as error:
        folder.append([record(1)])
    assert str(folder.records_path) in one_line(error)


def test_a_config_that_cannot_be_read(folder):
    (folder.path / "config.json").write_text('{"task": ')
    with pytest.raises(InputError, match="cannot read") as error:
        claim(folder.path)
    assert "config.json" in one_line(error)


@pytest.mark.parametrize("content", ["{}", "[]", '{"status": "dancing"}', "7"])
def test_a_foreign_status(folder, content):
    (folder.path / "status.json").write_text(content)
    with pytest.raises(InputError, match=r"status\.json") as error:
        folder.status()
    one_line(error)


def test_a_failing_write_keeps_the_old_file_and_leaves_nothing_aside(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert read_json(path) == {"a": 1}
    with pytest.raises(InputError, match="cannot write") as error:
        write_json(path / "below", {})
    assert str(path / "below") in one_line(error)
    (tmp_path / "folder.json" / "full").mkdir(parents=True)
    with pytest.raises(InputError, match=r"cannot write .*folder\.json"):
        write_json(tmp_path / "folder.json", {})
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".new" and p.name != "x.json.new") == []


def test_records_need_no_torch():
    script = (
        "import sys, lengthwise.records.folder, lengthwise.records.verdicts, lengthwise.records.verdicts\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
