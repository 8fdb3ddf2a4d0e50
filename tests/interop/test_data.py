"""Problems as files: the same from the same seed, true, on their side of the reserve, and readable again."""

import json
import re

import pytest

from lengthwise import cli
from lengthwise.arithmetic import Domain, Task, pair_length
from lengthwise.errors import InputError
from lengthwise.evaluation.problems import Drawing, read_pairs, read_problem
from lengthwise.evaluation.problems import test_problems as drawn_problems
from lengthwise.interop import data as module
from lengthwise.interop.data import DataSet, write
from lengthwise.tokens.digits import from_ints, to_ints
from lengthwise.tokens.hashing import is_reserved

FORMATS = ("text", "jsonl", "parquet")


def rows_of(path, form):
    if form == "parquet":
        import polars as pl

        return pl.read_parquet(path).to_dicts()
    lines = path.read_text().splitlines()
    return [json.loads(line) for line in lines] if form == "jsonl" else [{"text": line} for line in lines]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_has_the_rows_in_order_and_a_card(tmp_path, form, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)  # the last block is a short one
    data, path = DataSet(task="add", domain="D3", number=30, operand_width=5, seed=4), tmp_path / "file"
    write(data, form, path)
    expected = [row._asdict() for row in data.rows()]
    written = rows_of(path, form)
    assert written == (expected if form != "text" else [{"text": row["text"]} for row in expected])
    card = (tmp_path / "file.md").read_text()
    assert (
        expected[0]["text"] in card
        and "--seed 4" in card
        and sorted(tmp_path.iterdir())[1:] == [path.with_name("file.md")]
    )


def test_a_problem_follows_from_the_seed_and_its_number_alone(monkeypatch):
    few, many = (list(DataSet(task="mul", domain="D1..3", number=n, seed=9).rows()) for n in (20, 50))
    assert many[:20] == few
    monkeypatch.setattr(module, "BLOCK", 3)
    assert list(DataSet(task="mul", domain="D1..3", number=20, seed=9).rows()) == few
    assert list(DataSet(task="mul", domain="D1..3", number=20, seed=8).rows()) != few


def test_nothing_is_kept_of_what_was_written(monkeypatch):
    """A billion problems start at once, and few long ones are in memory together."""
    assert next(DataSet(task="add", domain="D9", number=10**9).rows()).text.endswith(";")
    monkeypatch.setattr(module, "BLOCK_DIGITS", 20)
    assert [len(block) for block in DataSet(task="add", domain="D9", number=5).blocks()] == [2, 2, 1]
    assert [len(block) for block in DataSet(task="add", domain="D30", number=2).blocks()] == [1, 1]


@pytest.mark.parametrize("side", ["train", "test"])
@pytest.mark.parametrize("task", ["add", "mul%51"])
def test_answers_are_true_and_sides_do_not_meet(side, task):
    data, own = DataSet(task=task, domain="D4", number=500, side=side, base=7), Task.parse(task, 7)
    pairs = [(int(row.a, 7), int(row.b, 7)) for row in data.rows()]
    for (a, b), row in zip(pairs, data.rows(), strict=True):
        assert int(row.answer, 7) == own(a, b) and pair_length(a, b, 7) == 4
    a, b = (from_ints(list(numbers), 4, 7) for numbers in zip(*pairs, strict=True))
    reserved = is_reserved(a, b, 7)
    assert reserved.all() if side == "test" else not reserved.any()


def test_the_test_side_is_what_runs_of_that_seed_are_measured_on():
    problems = drawn_problems(Domain.parse("D5"), Drawing([3], 8, 10, 40, "cpu"))
    rows = DataSet(task="add", domain="D5", number=40, side="test", seed=3).rows()
    assert [int(row.a) for row in rows] == to_ints(problems.a[0], 10)


@pytest.mark.parametrize("layout", ["padded", "plain"])
def test_the_papers_files_are_written_and_read(tmp_path, layout):
    """`a+b=c;` with c reversed, padded to 20 and 21 digits, as in the code of Xu and others."""
    data, path = (
        DataSet(task="add", domain="D4", number=50, layout=layout, operand_width=20),
        tmp_path / "input.txt",
    )
    write(data, "text", path)
    lines = path.read_text().splitlines()
    pairs = [(int(row.a), int(row.b)) for row in data.rows()]
    if layout == "padded":
        assert lines == [f"{a:020}+{b:020}={f'{a + b:021}'[::-1]};" for a, b in pairs]
        assert all(re.fullmatch(r"\d{20}\+\d{20}=\d{21};", line) for line in lines)
    assert read_pairs(path, Task.parse("add")) == pairs


def test_a_file_whose_numbers_mean_something_else_is_not_read(tmp_path):
    """Operands written in reverse would be other problems."""
    path = tmp_path / "reversed.txt"
    write(DataSet(task="add", domain="D4", number=50, layout="reversed"), "text", path)
    with pytest.raises(InputError, match=r"line \d+ of .*: problem .* has a wrong answer for add"):
        read_pairs(path, Task.parse("add"))
    assert read_problem("12+30=24;", Task.parse("add")) == (12, 30)


def test_a_run_is_measured_on_a_file_of_problems(tmp_path, capsys):
    write(DataSet(task="add", domain="D4", number=20, operand_width=10), "text", tmp_path / "input.txt")
    cli.main(["evaluate", "addition", "--pairs", str(tmp_path / "input.txt"), "--device", "cpu", "--json"])
    records = json.loads(capsys.readouterr().out)["records"]
    assert records[0]["correct"] == records[0]["total"] == 20


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_cannot_be_finished_leaves_the_one_before(tmp_path, form, monkeypatch):
    path, data = tmp_path / "file", DataSet(task="add", domain="D3", number=20)
    path.write_text("before")
    monkeypatch.setattr(DataSet, "_block", lambda *_: 1 / 0)
    with pytest.raises(Exception):  # noqa: B017 (each library has its own)
        write(data, form, path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


REFUSED = [
    (["add", "D4", "-n", "0"], "number is 0"),
    (["add", "D4", "--operand-width", "3"], "operands of D4 have 4 digits"),
    (["add", "D4", "--format", "parquet"], "requires --out FILE"),
    (["add%5", "D4", "--layout", "scratchpad"], "the scratchpad layout cannot be used for add%5"),
    (["add", "D4", "--seed", "-1"], "seed is -1"),
    (["add", "D4", "--out", "."], "is a folder"),
    (["add", "D4", "--out", "no/where"], "cannot write no/where"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_be_written_is_told_in_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["data", *arguments])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and message in said and said.count("\n") == 1 and not list(tmp_path.iterdir())
