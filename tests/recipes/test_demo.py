"""The demo's table and its configs, without training: the real thing is `make demo`."""

import json

import pytest

from lengthwise.commands.reproduce import Demo, row_verdict
from lengthwise.errors import InputError
from lengthwise.recipes import relative
from lengthwise.recipes.relative import DEMO_ENCODINGS, DEMO_TASKS, demo_configs
from lengthwise.runs.build import stack_key
from lengthwise.theory.rules import generalization_mark


def test_it_is_table_1_in_miniature():
    """Addition, multiplication, a modulus that divides and one that does not, by two families of positions."""
    marks = {
        (config.encoding, config.task): generalization_mark(config.spec.task, config.encoding, 2)
        for config in demo_configs()
    }
    assert marks == {
        ("learned", "add"): False,
        ("learned", "mul"): False,
        ("learned", "add%36"): True,
        ("learned", "add%35"): False,
        ("coupled", "add"): True,
        ("coupled", "mul"): False,
        ("coupled", "add%36"): True,
        ("coupled", "add%35"): False,
    }


def test_sums_of_one_encoding_are_one_stack():
    keys = [stack_key(config) for config in demo_configs()]
    sums = [key for key, config in zip(keys, demo_configs(), strict=True) if config.task != "mul"]
    assert len(set(sums)) == len(DEMO_ENCODINGS) and len(sums) == 3 * len(DEMO_ENCODINGS)


class _Word:
    def __init__(self, word):
        self.word = word


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "fails"], "fails"),
        (["undecided", "fails"], "fails"),
        (["holds", None], None),
    ],
)
def test_the_verdict_on_a_row(words, expected):
    assert row_verdict([_Word(word) for word in words]) == expected


@pytest.fixture
def two_steps(monkeypatch):
    """The same eight models, hardly trained."""
    configs = [config.changed(training={"steps": 2}, evaluation={"problems": 20}) for config in demo_configs()]
    monkeypatch.setattr(relative, "demo_configs", lambda: configs)


def test_it_prints_one_table_and_then_its_rows_as_json(two_steps, tmp_path, capsys):
    Demo(out=tmp_path).run()
    printed = capsys.readouterr().out
    assert "3 digits" in printed and printed.count("undecided") >= 5 and "lengthwise ask" in printed
    rows = [line.split()[:2] for line in printed.splitlines() if line.strip().startswith(("absolute", "relative"))]
    assert [row[1] for row in rows if row[0] == "absolute"] == list(DEMO_TASKS)
    assert f"Open {tmp_path / 'report.html'}" in printed.replace("\n", "") and (tmp_path / "report.html").exists()

    Demo(out=tmp_path, json=True).run()  # the runs are done: nothing is trained again
    rows = json.loads(capsys.readouterr().out)
    assert [(row["encoding"], row["task"]) for row in rows] == [(e, t) for e in DEMO_ENCODINGS for t in DEMO_TASKS]
    first = rows[0]["rows"][2]
    assert first["domain"] == "D3" and first["hypothesis"] == "truncated:2" and first["accuracy"] == "0"
    assert first["verdict"] == "undecided" and first["measured"]["total"] == 20


def test_a_run_that_fails_is_named_in_one_line(monkeypatch, tmp_path):
    broken = demo_configs()[1].changed(training={"steps": 8, "learning_rate": 1e30}, evaluation={"problems": 20})
    monkeypatch.setattr(relative, "demo_configs", lambda: [broken])
    with pytest.raises(InputError, match=f"1 of 1 runs failed; {broken.name}: the loss is no longer finite"):
        Demo(out=tmp_path, quiet=True).run()
