import json

import pytest

from lengthwise.cli import VERBS, main


def refused(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
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
        (["predict"], ["add%101"]),
        (["conjecture"], ["conjecture", "predict"]),
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
