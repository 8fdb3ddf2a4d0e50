"""Python's way in does what the verbs do."""

import json
import os
import subprocess
import sys

import pytest
from fakes import tiny_config

import lengthwise
from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.records.files import read_json

SETTINGS = {"train": "D2", "test": "D1..3", "base": 3, "size": "nano", "seed": 4}
TRAINING = {"steps": 2, "batch": 8, "evaluate_every": 2, "warmup": 1}
OPTIONS = ["--train", "D2", "--test", "D1..3", "--base", "3", "--size", "nano", "--seed", "4"]
OPTIONS += ["--training.steps", "2", "--training.batch", "8", "--training.evaluate-every", "2"]
OPTIONS += ["--training.warmup", "1", "--device", "cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    steps, training = TRAINING["steps"], {k: v for k, v in TRAINING.items() if k != "steps"}
    return lengthwise.train("add", **SETTINGS, steps=steps, training=training, out=out, device="cpu", quiet=True)


def printed(capsys, *arguments):
    main([str(argument) for argument in arguments])
    return json.loads(capsys.readouterr().out)


def test_a_run_is_the_one_that_the_verb_trains(run, tmp_path, capsys):
    rows = printed(capsys, "train", "add", *OPTIONS, "--out", tmp_path, "--json")["rows"]
    (folder,) = tmp_path.iterdir()
    assert folder.name == run.path.name
    assert read_json(folder / "config.json") == read_json(run.path / "config.json")
    assert (folder / "records.jsonl").read_bytes() == (run.path / "records.jsonl").read_bytes()
    assert [row["verdict"] for row in rows] == [verdict.word for verdict in run.verdicts]


def test_what_a_run_tells(run):
    assert (run.status, run.config.seed, os.fspath(run)) == ("done", 4, str(run.path))
    assert set(run.records["domain"]) == {"D1", "D2", "D3"} and run.records["last"].any()
    assert [str(verdict.prediction.domain) for verdict in run.verdicts] == ["D1", "D2", "D3"]
    text, page = repr(run), run._repr_html_()
    assert "add trained on D2, learned" in text and f"{run.path}: done, step 2" in text
    assert page.count("<tr>") == 4 and "undecided" in page
    assert repr(run.verdicts[0]).startswith("<D1: truncated:2 undecided, accuracy 0.00%")
    assert lengthwise.load(run) == lengthwise.load(str(run.path)) == lengthwise.api.Run(run.path)


def test_a_run_is_drawn(run):
    titles = {name: [axes.get_title() for axes in run.figure(name).axes] for name in ("lengths", "training")}
    assert titles == {"lengths": ["trained on D2"], "training": ["trained on D2", ""]}
    with pytest.raises(InputError, match=r"unknown figure 'clouds' \(choose from lengths, training,"):
        run.figure("clouds")
    with pytest.raises(InputError, match="no records for the figure 'dependence'"):
        run.figure("dependence")


def test_ask(run, capsys):
    shown = printed(capsys, "ask", run.path, "12 + 22", "--json")
    answers = [run.ask("12 + 22"), run.ask(5, 8), lengthwise.ask(run.path, "12 + 22"), lengthwise.ask(run, 5, 8)]
    assert len(set(map(repr, answers))) == 1
    assert (answers[0].truth, answers[0].right) == (13, shown["right"])
    assert "12 + 22 in base 3: the model answers" in repr(answers[0])
    with pytest.raises(InputError, match="second operand for 5"):
        run.ask(5)


def test_evaluate(run, capsys):
    shown = printed(capsys, "evaluate", run.path, "--test", "B1..2", "--decode", "--show-errors", "1", "--json")
    found = lengthwise.evaluate(run, test="B1..2", decode=True, show_errors=1)
    assert [record.model_dump() for record in found.records] == shown["records"]
    assert found.frame().height == len(found.records)
    text = repr(found)
    assert "B2" in text and "malformed" in text and repr(found.errors[0]) in text
    assert found._repr_html_().count("<table>") == 2


def test_predictions_print_as_the_verb_prints_them(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    found = lengthwise.predict("add%3", train="D1[lead>=2]", test="D1..2", plateaus=True)
    main(["predict", "add%3", "--train", "D1[lead>=2]", "--test", "D1..2", "--plateaus"])
    said = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert [line for line in repr(found).splitlines() if line] == said
    page = found._repr_html_()
    assert page.count("<table>") == 2 and "D1[lead&gt;=2]" in page
    frame = lengthwise.predict("add%151", train="D4", test="B5..6").frame()
    assert frame.select("domain", "accuracy").rows() == [("B5", "0"), ("B6", "4/675")]


def test_configs_are_trained_alone_and_as_a_stack(tmp_path):
    short = tiny_config(training={"steps": 2, "evaluate_every": 2})
    alone = lengthwise.train(short, seed=1, name="alone", out=tmp_path, device="cpu", quiet=True)
    assert (alone.path, alone.config) == (tmp_path / "alone", short.changed(seed=1))
    both = lengthwise.train([short, short.changed(seed=1)], steps=3, out=tmp_path, device="cpu", quiet=True)
    assert [own.config.seed for own in both] == [0, 1] and all(own.status == "done" for own in both)
    assert {own.config.training.steps for own in both} == {3}
    for name, message in (("a/b", "not a folder name"), ("", "not a folder name")):
        with pytest.raises(InputError, match=message):
            lengthwise.train(short, name=name, out=tmp_path)
    with pytest.raises(InputError, match="cannot be used for several"):
        lengthwise.train([short], name="x", out=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["alone", *(own.path.name for own in both)])


def test_the_package_report_is_the_verb(run, tmp_path):
    import lengthwise.report.tables

    page = lengthwise.report([run], out=tmp_path / "page.html")
    assert run.path.name in page.read_text()
    assert lengthwise.report.tables.percent(0.5) == "50.00"


def test_load_finds_shipped_models_and_packed_runs_and_refuses_others(tmp_path):
    assert lengthwise.load("mod-100").verdicts[-1].word == "holds"
    assert "step" in repr(lengthwise.load("results/addition.json/addition-D4-s101"))
    with pytest.raises(InputError, match="not a run folder"):
        lengthwise.load(tmp_path / "nowhere")


def test_every_name_is_exported_and_starts_without_torch():
    script = (
        "import sys, lengthwise\n"
        "assert all(callable(getattr(lengthwise, name)) for name in ('RunConfig', 'ask', 'load', 'predict',"
        " 'report', 'reproduce', 'train'))\n"
        "assert 'torch' not in sys.modules and 'polars' not in sys.modules\n"
        "assert callable(lengthwise.evaluate) and {*lengthwise.__all__} <= {*dir(lengthwise)}\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
