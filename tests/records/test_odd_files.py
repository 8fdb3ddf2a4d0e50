"""Files that are not what they should be: each is one line that names it, and nothing waits, breaks or is lost."""

import json
import os
import shutil

import pytest
from fakes import tiny_config, train
from packing import pack

from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.explorer.runs import Catalogue
from lengthwise.records.files import read_json, write_json
from lengthwise.records.folder import RunFolder, packed_runs
from lengthwise.records.spec import read_spec


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    write_json(folder / "addition.json", {"recipe": "addition", "runs": ["run-s1"]})
    config = tiny_config(training={"steps": 3, "evaluate_every": 3})
    train([config], folder / "runs", device="cpu")[0].path.rename(folder / "runs" / "run-s1")
    return folder


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_not_waited_for(tmp_path, linked):
    for name in ("config.json", "records.jsonl"):
        os.mkfifo(tmp_path / (f"{name}-pipe" if linked else name))
        if linked:
            (tmp_path / name).symlink_to(f"{name}-pipe")
    with pytest.raises(InputError, match=r"cannot read .*config\.json: it is not a regular file"):
        read_json(tmp_path / "config.json")
    assert RunFolder(tmp_path).records() == []


@pytest.mark.parametrize("section", ["model", "data", "training", "evaluation"])
def test_a_section_of_a_config_is_an_object(section):
    config = tiny_config().model_dump(mode="json")
    with pytest.raises(InputError, match=f"{section} is 'x' \\(must be an object\\)"):
        read_spec(config | {section: "x"})


@pytest.mark.parametrize("key", ["task", "train", "test", "encoding", "layout"])
@pytest.mark.parametrize("value", [5, [], {"": {}}, [[]] * 10_000])
def test_names_in_a_config_are_text(key, value):
    config = tiny_config().model_dump(mode="json")
    with pytest.raises(InputError, match=f"{key} is .* \\(must be text\\)") as error:
        read_spec(config | {key: value})
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "content",
    [
        b"\xc2\xff",
        b"NaN",
        b"[]",
        b"{}",
        b'{"folders": []}',
        b'{"folders": {"a": 1}}',
        b'{"folders": {"a": {}}}',
        b'{"folders": {"a": {"records_size": "1"}}}',
        b'{"folders": {"a": {"stored_in": 5}}}',
        b'{"folders": {"a": {"stored_in": ""}}}',
        b'{"folders": {"a/b": {"records_size": 1}}}',
    ],
)
def test_a_bad_packed_file_is_one_line_of_the_list(live, tmp_path, content, capsys):
    pack(live, tmp_path / "runs")
    (tmp_path / "runs" / "bad.json").write_bytes(content)
    (tmp_path / "runs" / "bad.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"bad\.json"):
        packed_runs(tmp_path / "runs" / "bad.json")
    listed = {run.name: run.error for run in Catalogue([tmp_path / "runs"]).summaries().runs}
    assert listed.pop("runs/addition.json/run-s1") is None
    assert list(listed) == ["runs/bad.json"] and "bad.json" in listed["runs/bad.json"]
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "page.html")])
    assert stop.value.code == 2 and "bad.json" in capsys.readouterr().err


def test_a_name_that_is_no_text_is_shown_by_its_bytes(live, tmp_path, capsys):
    copy = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(live / "runs" / "run-s1", copy)
    assert RunFolder(copy).name == r"caf\xe9"
    main(["report", str(copy), "--out", str(tmp_path / "page.html"), "--json"])
    assert json.loads(capsys.readouterr().out)["runs"] == [r"caf\xe9"]
    assert r"caf\xe9" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("command", [["report"], ["explore", "--no-browser", "--port", "-1", "--runs"]])
def test_a_name_longer_than_any_file_has(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command, "a" * 300])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_half_a_character_in_a_file_is_shown_by_its_number(live, tmp_path, capsys):
    shutil.copytree(live / "runs" / "run-s1", tmp_path / "run")
    (tmp_path / "run" / "environment.json").write_text(json.dumps({"device": "\ud800"}))
    main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")])
    assert r"\ud800" in (tmp_path / "page.html").read_text()


def test_half_a_character_in_the_name_of_a_run_or_recipe_is_shown_by_its_number(live, tmp_path):
    (note,) = pack(live, tmp_path / "runs")
    content = read_json(note)
    odd = {**content, "recipe": "\ud800", "folders": {"\udce9 \U0001f600": content["folders"]["run-s1"]}}
    note.write_text(json.dumps(odd))
    (run,) = Catalogue([tmp_path / "runs"]).summaries().runs
    assert run.name == "runs/addition.json/\\udce9 \U0001f600" and run.model_dump_json()
