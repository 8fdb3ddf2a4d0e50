"""The verbs that take a run folder: what they print, and what they say of folders and problems they refuse."""

import json
import logging
import shutil
import subprocess
import sys

import pytest
from fakes import tiny_config, train

from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.explorer.runs import summary
from lengthwise.records.analysis import Dependence
from lengthwise.records.files import folder_lock
from lengthwise.records.folder import RunFolder
from lengthwise.records.verdicts import Measured
from lengthwise.records.view import RunView
from lengthwise.report.run_tables import MOST_DIGITS, dependence_table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    (folder,) = train(tiny_config(training={"steps": 3, "evaluate_every": 3}), tmp_path_factory.mktemp("runs"))
    return folder.path


@pytest.fixture
def copied(run, tmp_path):
    return shutil.copytree(run, tmp_path / "copied")


def printed(capsys, *arguments):
    main([str(argument) for argument in arguments])
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_ask(capsys, run):
    answer = printed(capsys, "ask", run, "12 + 22", "--json")
    assert (answer["a"], answer["b"], answer["truth"], answer["hypothesis"]) == ("12", "22", "111", "truncated:2")
    assert answer["right"] == (answer["answered"] == "111")


@pytest.mark.parametrize("words", [["12", "+", "22"], ["12+22"], ["12 +", "22"], ["12", "22"]])
def test_ask_takes_words_as_a_shell_gives_them(capsys, run, words):
    answer = printed(capsys, "ask", run, *words, "--json")
    assert (answer["a"], answer["b"]) == ("12", "22")


def test_shipped_models_have_names(capsys, tmp_path):
    content = printed(capsys, "evaluate", "addition", "--test", "D5", "--problems", "20", "--json")
    assert content["verdicts"][0]["agreement"]["percent"] == 100
    assert printed(capsys, "report", "addition", "--out", tmp_path / "report.html", "--json")["runs"] == [
        "addition"
    ]


def test_evaluate_draws_as_asked_and_writes_a_run_folder(capsys, run, tmp_path):
    def evaluated(*options):
        content = printed(capsys, "evaluate", run, "--test", "D3", "--json", "--problems", "20", *options)
        return [r for r in content["records"] if r["domain"] == "D3"]

    first = evaluated()
    assert {record["total"] for record in first} == {20}
    assert evaluated() == evaluated("--seed", "0") == first
    other = evaluated("--seed", "5", "--out", tmp_path / "other")
    assert other != first and {record["seed"] for record in other} == {0}, "the seed of a record is the run's"
    view = RunView.of(tmp_path / "other")
    assert [r.model_dump() for r in view.records if r.domain == "D3"] == [{**r, "run": "other"} for r in other]
    assert [str(v.prediction.domain) for v in view.verdicts()] == ["D3"]
    assert "already exists" in refused(capsys, "evaluate", run, "--out", tmp_path / "other")


def test_details_are_shown_when_asked_for(capsys, run):
    for options, shown in [((), False), (("--details",), True)]:
        main(["evaluate", str(run), "--test", "D3", *options])
        assert ("Within reach:" in capsys.readouterr().out) == shown


def test_long_operands_do_not_fill_the_screen():
    counts = Measured(1, 2, enumerated=False)
    table = dependence_table(Dependence(None, [[counts] * 40] * 41, [[None] * 40] * 41))
    assert len(table.columns) == 1 + MOST_DIGITS and table.row_count == MOST_DIGITS


def test_quiet_and_verbose(capsys, run, monkeypatch):
    with monkeypatch.context() as verbose:
        verbose.setattr(logging.getLogger("lengthwise"), "handlers", [])
        main(["evaluate", str(run), "--test", "D1", "--verbose"])
    assert "parameters on cpu" in capsys.readouterr().err
    main(["evaluate", str(run), "--test", "D1", "--quiet"])
    assert capsys.readouterr().err == ""
    assert "cannot be combined" in refused(capsys, "evaluate", run, "--quiet", "--verbose")


def test_evaluate(capsys, run, tmp_path):
    content = printed(capsys, "evaluate", run, "--test", "D1..3", "--decode", "--json")
    assert [row["domain"] for row in content["verdicts"]] == ["D1", "D2", "D3"]
    assert {record["mode"] for record in content["records"]} == {"forced", "decoded"}
    pairs = tmp_path / "pairs"
    pairs.write_text("12 21\n1 + 2\n")
    given = printed(capsys, "evaluate", run, "--pairs", pairs, "--json")
    assert given["verdicts"] == []
    assert {(r["total"], r["selection"]) for r in given["records"] if r["metric"] == "exact"} == {(2, "given")}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["ask", "1 * 2"], "does not have the task's sign '+'"),
        (["ask", "1 + 3"], "base 3"),
        (["ask", "1 +"], "1 +"),
        (["ask", "1111 + 1"], "3 digits"),
        (["ask", f"{'1' * 100_000} + 1"], "a number of more than 10,000 digits"),
        (["ask", f"{'x' * 100_000}!"], "cannot read problem"),
        (["ask", f"1{' ' * 100_000}!"], "cannot read problem '1 !'"),
        (["evaluate", "--pairs", "/dev/zero"], "cannot read /dev/zero: it is not a regular file"),
        (["evaluate", "--test", "D4"], "up to 3"),
        (["evaluate", "--test", "D0"], "D0"),
        (["evaluate", "--pairs", "no-such-file"], "no-such-file"),
    ],
)
def test_refused_problems(capsys, run, arguments, named):
    verb, *rest = arguments
    assert named in refused(capsys, verb, run, *rest)


@pytest.fixture(scope="module")
def short_b(tmp_path_factory):
    """Trained and tested on products by one digit, so that no answer has more than five."""
    config = tiny_config(
        task="mul",
        train="1..2x1",
        test="1..4x1",
        encoding="coupled",
        layout="reversed",
        training={"steps": 3, "evaluate_every": 3},
    )
    (folder,) = train(config, tmp_path_factory.mktemp("runs"))
    return folder.path


def test_one_short_operand(capsys, short_b):
    content = printed(capsys, "evaluate", short_b, "--test", "2x2,4x1,1x4", "--decode", "--dependence", "--json")
    assert [row["domain"] for row in content["verdicts"]] == ["2x2", "4x1", "1x4"]
    assert printed(capsys, "ask", short_b, "2222 * 2", "--json")["truth"] == "12221"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["ask", "1111 * 22"], "6 digits, more than the 5 that"),
        (["evaluate", "--test", "4x1,D3"], "the longest answer of D3 has 6 digits, more than the 5 that"),
        (["evaluate", "--test", "5x1"], "up to 4"),
        (["evaluate", "--test", "4x1x1"], "4x1x1"),
    ],
)
def test_answers_too_long_to_write_are_refused(capsys, short_b, arguments, named):
    verb, *rest = arguments
    assert named in refused(capsys, verb, short_b, *rest)


def test_given_pairs_with_answers_too_long_are_refused(capsys, short_b, tmp_path):
    pairs = tmp_path / "pairs"
    pairs.write_text("2222 2\n1111 22\n")
    assert "6 digits, more than the 5 that" in refused(capsys, "evaluate", short_b, "--pairs", pairs)


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("config.json", "{", "config.json"),
        ("config.json", "[]", "config.json"),
        ("config.json", '{"nope": 1}', "config.json"),
        ("config.json", None, "no config.json"),
        ("checkpoint/state.json", "{}", "state.json"),
        ("checkpoint/state.json", None, "no checkpoint"),
    ],
)
def test_broken_folders(capsys, copied, file, content, named):
    (copied / file).unlink()
    if content is not None:
        (copied / file).write_text(content)
    assert named in refused(capsys, "ask", copied, "1 + 2")
    assert named in refused(capsys, "evaluate", copied)


def test_a_run_of_an_earlier_version_is_taken_up(tmp_path):
    """Its config lacks options that came later; these have their defaults. One that differs is still refused."""
    config = tiny_config()
    (folder,) = train(config, tmp_path, device="cpu")
    stored = json.loads((folder.path / "config.json").read_text())
    del stored["evaluation"]["chains"], stored["model"]["position_std"]
    (folder.path / "config.json").write_text(json.dumps(stored))
    assert train(config, tmp_path, device="cpu")[0].status() == "done"
    stored["training"]["batch"] += 1
    (folder.path / "config.json").write_text(json.dumps(stored))
    with pytest.raises(InputError, match=r"training\.batch is \d+ there and \d+ here"):
        train(config, tmp_path, device="cpu")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--encoding", "rotary", "--model.position-waves"], "'rotary'"),
        (["--encoding", "coupled", "--model.place-attention"], "requires position_waves"),
        (["--encoding", "coupled", "--model.position-waves", "--model.width", "30"], "even head width"),
    ],
)
def test_waves_that_do_not_fit_leave_no_folder(capsys, tmp_path, monkeypatch, options, named):
    monkeypatch.chdir(tmp_path)
    assert named in refused(capsys, "train", "add", "--train", "D1", "--test", "D1", *options)
    assert not list(tmp_path.iterdir())


def test_an_unknown_mirror_leaves_no_folder(tmp_path):
    with pytest.raises(InputError, match="unknown mirror 'foo'"):
        train(tiny_config(), tmp_path / "runs", device="cpu", mirror="foo")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"data": {"packing": "concatenated", "row_tokens": 3}}, "row_tokens 3"),
        ({"model": {"context": 2}}, "do not fit in a table of 2 rows"),
        ({"encoding": "rotary", "model": {"width": 7, "heads": 1}}, "must be even"),
    ],
)
def test_what_cannot_be_built_leaves_no_folder(tmp_path, changes, why):
    with pytest.raises(InputError, match=why):
        train(tiny_config(**changes), tmp_path, device="cpu")
    assert not list(tmp_path.iterdir())


def test_a_run_that_failed_at_once_makes_room_for_another_config(tmp_path):
    config = tiny_config(training={"steps": 3, "evaluate_every": 3})
    folder = RunFolder.claim(tmp_path / config.name, config.model_dump(mode="json"), {})
    folder.set_status("failed", reason="no more memory")
    other = config.changed(training={"batch": config.training.batch + 1})
    (trained,) = train(other, tmp_path, device="cpu")
    assert (trained.path, trained.status()) == (folder.path, "done")
    assert trained.config()["training"]["batch"] == other.training.batch
    trained.set_status("failed", reason="the loss is no longer finite")
    with pytest.raises(InputError, match="another config"):
        train(config, tmp_path, device="cpu")


def test_one_process_at_a_time_trains_a_run(tmp_path):
    config = tiny_config(training={"steps": 3, "evaluate_every": 3})
    folder = tmp_path / config.name
    folder.mkdir()
    with folder_lock(folder), pytest.raises(InputError, match="is in use by another process"):
        train(config, tmp_path, device="cpu")
    (trained,) = train(config, tmp_path, device="cpu")
    assert trained.status() == "done"


def test_a_run_whose_process_is_gone_is_interrupted(capsys, tmp_path):
    """Killed, it still says that it is running; a lock that someone holds tells whether it is."""
    config = tiny_config(training={"steps": 3, "evaluate_every": 3})
    (folder,) = train(config, tmp_path, device="cpu")
    folder.set_status("running")
    assert (folder.status(), folder.state()) == ("running", "interrupted")
    with folder_lock(folder.path):
        assert folder.state() == "running"
        assert summary("run", folder.path).status == "running"
    assert summary("run", folder.path).status == "interrupted"
    shown = printed(capsys, "report", folder.path, "--out", tmp_path / "report.html", "--json")
    assert shown["unfinished"] == {folder.name: "interrupted, shown as of step 3"}
    assert train(config, tmp_path, device="cpu")[0].state() == "done"


def test_looking_whether_a_folder_is_in_use_keeps_nobody_out(tmp_path):
    """Another process looks as often as it can, while this one locks the folder again and again."""
    script = f"from lengthwise.records.files import *\nwhile True: folder_in_use(Path({str(tmp_path)!r}))"
    with subprocess.Popen([sys.executable, "-c", script]) as looking:
        for _ in range(200):
            with folder_lock(tmp_path):
                pass
        assert looking.poll() is None
        looking.kill()


@pytest.mark.parametrize("name", ["../out", "a/b", "..", ".", ""])
def test_a_name_is_no_path(capsys, tmp_path, name):
    line = refused(
        capsys, "train", "add", "--train", "D1", "--test", "D1", "--out", tmp_path / "runs", "--name", name
    )
    assert f"name {name!r} is not a folder name" in line
    assert not list(tmp_path.iterdir())


def test_a_report_needs_a_file(capsys, run):
    assert "such as report.html" in refused(capsys, "report", run, "--out", "")


@pytest.mark.parametrize(
    ("problem", "note"),
    [
        ("123 * 45", ""),
        ("12 * 3", "the second number has 2 digits, not 1"),
        ("12 * 345", "the second number has 2 digits, not 3"),
    ],
)
def test_asking_notes_numbers_unlike_those_of_training(capsys, problem, note):
    main(["ask", "coupled-multiplication", problem, "--device", "cpu"])
    shown = capsys.readouterr().out
    assert ("in training (1..40x2) " + note in shown) if note else "in training" not in shown


def test_bad_records_of_a_finished_run_are_one_line(capsys, tmp_path):
    config = tiny_config(training={"steps": 3, "evaluate_every": 3})
    (folder,) = train(config, tmp_path)
    with folder.records_path.open("a") as records:
        records.write("{}\n")
    file = tmp_path / "config.json"
    file.write_text(config.model_dump_json())
    where = ["--out", tmp_path, "--name", folder.path.name]
    capsys.readouterr()  # what training said
    assert "records.jsonl is not a record" in refused(capsys, "train", "--config", file, *where)
