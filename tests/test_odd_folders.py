"""Folders that someone wrote by hand, or may not read: a verb says in one line what is wrong, with exit code 2."""

import json
import os
import shutil
from contextlib import contextmanager

import pytest

from lengthwise.cli import main
from lengthwise.shipped import shipped_models

NESTED = "[" * 100_000 + "]" * 100_000
NESTED_SOME = "[" * 400 + "]" * 400
LONG = "x" * 300


@pytest.fixture
def folder(tmp_path):
    """A copy of a model that comes with the package."""
    return shutil.copytree(shipped_models()["addition"], tmp_path / "run")


def refused(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2
    assert line.startswith("error: ") and len(line) < 2_100
    return line


def changed(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("content", [NESTED, NESTED_SOME])
@pytest.mark.parametrize("file", ["config.json", "checkpoint/state.json"])
def test_nested_json_where_a_model_is_asked(capsys, folder, file, content):
    (folder / file).write_text(content)
    refused(capsys, "ask", folder, "1 + 1")


@pytest.mark.parametrize("file", ["config.json", "status.json", "environment.json"])
@pytest.mark.parametrize("content", [NESTED, NESTED_SOME])
def test_nested_json_in_a_report(capsys, folder, tmp_path, file, content):
    """Refused, or, where a report can do without the file, written."""
    (folder / file).write_text(content)
    try:
        main(["report", str(folder), "--out", str(tmp_path / "report.html")])
    except SystemExit as stop:
        assert stop.code == 2
    assert len(capsys.readouterr().err.splitlines()) <= 1


@pytest.mark.parametrize("key", ["task", "train", "test", "model"])
def test_a_config_with_lists_in_it(capsys, folder, tmp_path, key):
    changed(folder / "config.json", **{key: json.loads(NESTED_SOME)})
    refused(capsys, "ask", folder, "1 + 1")
    refused(capsys, "report", folder, "--out", tmp_path / "report.html")


@pytest.mark.parametrize(
    "odd",
    [
        {"step": "x"},
        {"step": 10**30},
        {"seed": 10**30},
        {"correct": 10**30, "total": 1},
        {"correct": 2, "total": 1},
        {"total": 10**30},
    ],
)
def test_odd_records_in_a_report(capsys, folder, tmp_path, odd):
    records = folder / "records.jsonl"
    first = json.loads(records.read_text().splitlines()[0])
    records.write_text(records.read_text() + json.dumps({**first, **odd}) + "\n")
    refused(capsys, "report", folder, "--out", tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("model", [{"width": 96}, {"layers": 2}, {"width": 2**16, "heads": 2, "layers": 1_000}])
def test_a_model_that_does_not_fit_its_checkpoint(capsys, folder, model):
    config = json.loads((folder / "config.json").read_text())
    changed(folder / "config.json", model={**config["model"], **model})
    line = refused(capsys, "ask", folder, "1 + 1")
    assert "does not fit this model" in line or "GB of memory" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", LONG, "1 + 1"],
        ["report", LONG],
        ["evaluate", LONG],
        ["train", "add", "--name", LONG, "--size", "nano"],
        ["train", "add", "--out", LONG, "--size", "nano"],
        ["explore", "--no-browser", "--host", LONG],
        ["explore", "--no-browser", "--host", "x." * 150],
        ["explore", "--no-browser", "--runs", LONG, "--port", "99999"],
    ],
)
def test_names_of_300_characters(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    refused(capsys, *arguments)
    assert not list(tmp_path.iterdir()) or not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("verb", [["predict"], ["train"], ["reproduce"], ["ask", "addition"], ["report"], []])
def test_a_line_does_not_repeat_100_kb_of_input(capsys, verb):
    assert len(refused(capsys, *verb, "9" * 100_000)) < 1_000


@contextmanager
def as_a_plain_user(folder):
    """Without the right to read the folder."""
    folder.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o700)


@pytest.mark.parametrize(
    "arguments",
    [["ask", "RUN", "1 + 1"], ["report", "RUN"], ["evaluate", "RUN"], ["train", "add", "--out", "RUN"]],
)
def test_a_folder_that_may_not_be_read(capsys, folder, arguments):
    import lengthwise.report.page
    import lengthwise.runs.evaluate
    import lengthwise.runs.launch  # noqa: F401

    with as_a_plain_user(folder):
        line = refused(capsys, *(str(folder) if word == "RUN" else word for word in arguments))
    assert "Permission denied" in line
