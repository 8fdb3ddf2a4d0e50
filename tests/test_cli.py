import json
import re
import subprocess
import sys

import pytest

from lengthwise.cli import VERBS, main
from lengthwise.commands.train import Train


def refused(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    # On a loaded machine it may have said before that it takes long.
    (line,) = printed.err.removeprefix("predicting: please wait\n").splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["predict", "div"], ["div", "add, mul"]),
        (["predict", "add%0"], ["0"]),
        (["predict", "add", "--train", "D0"], ["D0"]),
        (["predict", "add", "--train", "D4+"], ["D4+"]),
        (["predict", "add", "--train", "D5..2"], ["D5..2"]),
        (["predict", "add", "--train", "D4[lead>=11]"], ["11", "1 to 9"]),
        (["predict", "add", "--base", "1"], ["1", "2 to 36"]),
        (["predict", "add", "--base", "ten"], ["ten"]),
        (["predict", "add", "--encoding", "wavelet"], ["wavelet", "learned"]),
        (["predict", "add", "--nope"], ["--nope"]),
        (["predict", "add", "--train", "D4 5"], ["D4 5"]),
        (["predict", "add", "--train", f"D{'9' * 5000}"], ["10000"]),
        (["predict", "add", "--hypothesis", "truncated:00"], ["truncated:00"]),
        (["predict", "add", "--hypothesis", f"windowed:{10**30}"], ["10000"]),
        (["predict", "add%٣"], ["add%٣", "add%101"]),
        (["predict", "mul%9973", "--test", "D5..4000"], ["would take hours", "smaller modulus"]),
        (["predict", "add", "--train", "D1001", "--test", "D1", "--plateaus"], ["1000 digits", "D1001"]),
        (["predict", "add", "--test", "D1..10000,D1..10000,D1..10000"], ["20,000"]),
        (["predict", "add", "--test", "D1,Q" + ",D1" * 20_000], ["20,000"]),  # before all of them are read
        (["train", "add", "--model.width", "1000000007"], ["model.width", "65536"]),
        (["train", "add", "--model.layers", "1000000"], ["model.layers", "1000"]),
        (["train", "add", "--data.operand-width", "10000000"], ["operand_width", "10000"]),
        (["train", "add", "--training.batch", str(10**30)], ["training.batch", "1000000000"]),
        (["bench", "add", "--seconds", "nan"], ["seconds", "nan"]),
        (["bench", "add", "--seconds", "inf"], ["seconds", "3,600"]),
        (["bench", "add", "--members", "100000"], ["members", "10,000"]),
        (["predict"], ["add%101"]),
        (["train"], ["add%101"]),
        (["train", "--size", "nano"], ["add%101"]),
        (["train", "add", "--size"], ["--size"]),
        (["train", "add", "--size", "big"], ["unknown size 'big' (choose from nano, micro, mini)"]),
        (["train", "add", "--preset", "slow"], ["slow", "fast"]),
        (["train", "--size", "nano", "mul%0"], ["0"]),
        (["bench", "add", "--members", "0"], ["members", "0", "1 to 10,000"]),
        (["bench", "add", "--seconds", "0"], ["seconds", "0"]),
        (["--completion"], ["unknown shell", "bash, zsh, fish"]),
        (["--completion", "csh"], ["unknown shell 'csh'", "bash, zsh, fish"]),
        (["conjecture"], ["unknown verb 'conjecture' (choose from predict, "]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, named):
    line = refused(capsys, *arguments)
    assert all(word in line for word in named)


def test_predict_prints_json(capsys):
    main(["predict", "mul%101", "--train", "D2", "--test", "B3,B4", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert [row["domain"] for row in printed["rows"]] == ["B3", "B4"]


def test_help_lists_every_verb(capsys):
    main(["--help"])
    printed = capsys.readouterr().out
    assert all(f"  {verb} " in printed for verb in VERBS)


def completed(script, *words):
    """What bash offers for the last of the words, with the completion script sourced."""
    asked = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _tyro_lengthwise"
    shell = f'source {script}; {asked}; printf "%s\n" "${{COMPREPLY[@]}}"'
    return subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout.split()


def test_a_shell_completes_verbs_and_options(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--completion", "bash"])
    assert stop.value.code in (0, None)
    script = tmp_path / "completion"
    script.write_text(capsys.readouterr().out)
    assert set(VERBS) <= set(completed(script, "lengthwise", "''"))
    assert completed(script, "lengthwise", "pre") == ["predict"]
    assert completed(script, "lengthwise", "train", "add", "--model.la") == ["--model.layers"]
    assert completed(script, "lengthwise", "explore", "--no") == ["--no-browser"]


@pytest.mark.parametrize("shell", [["zsh"], ["fish"]])
def test_completion_for_other_shells(capsys, shell):
    with pytest.raises(SystemExit) as stop:
        main(["--completion", *shell])
    assert stop.value.code in (0, None)
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)


def test_no_flag_says_whether(capsys):
    """Of a switch that turns something off, the help says what the flag does."""
    with pytest.raises(SystemExit):
        main(["explore", "--help"])
    assert "Do not open the page in a browser" in capsys.readouterr().out


def test_fractions_of_more_digits_than_python_writes_by_default(capsys):
    main(["predict", "add%101", "--train", "D4", "--test", "D3000", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert len(row["accuracy"]) > 4300


@pytest.mark.slow
def test_the_longest_training_domain_has_a_default_test(capsys):
    main(["predict", "add%100", "--train", "D9998", "--json"])
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 10_000


@pytest.mark.parametrize("arguments", [["mul", "--preset", "paper"], ["--preset", "paper", "--dry-run", "mul"]])
def test_a_preset_knows_the_task_wherever_it_stands(arguments):
    config = Train.defaults(arguments).config
    assert (config.task, config.model.dropout) == ("mul", 0.1)


def test_a_value_inside_an_inner_config_is_named_as_its_flag(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", "add", "--size", "nano", "--model.layers", "0"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("error: model.layers is 0 (must be ")


def test_accuracies_that_would_take_too_long_are_left_out_and_said_so(capsys):
    main(["predict", "mul%99991", "--train", "D3", "--test", "B4"])
    assert "moduli up to 20,000" in capsys.readouterr().out
    main(["predict", "mul%99991", "--train", "D3", "--test", "B4", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["hypothesis"], row["accuracy"], row["percent"]) == ("truncated:3", None, None)


def test_the_module_is_the_command():
    shown = subprocess.run(
        [sys.executable, "-m", "lengthwise", "--version"], capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"lengthwise \d+\.\d+\.\d+\n", shown.stdout)


def test_tables_are_there_where_a_terminal_has_no_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    main(["predict", "add"])
    assert "truncated:4" in capsys.readouterr().out
