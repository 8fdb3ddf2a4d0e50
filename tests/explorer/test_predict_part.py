import pytest

from lengthwise.arithmetic import Task
from lengthwise.explorer import MAX_DIGITS, MAX_ROWS, RefusedError
from lengthwise.explorer.predict import NOT_SHOWN, check, explain, predict_rows
from lengthwise.records.evidence import predict
from lengthwise.theory.hypotheses import Hypothesis

USUAL = {"operation": "add", "modulus": "", "base": "10", "train": "D4", "encoding": "learned", "layout": ""}


def explained(draw=0, a="", b="", **changes):
    return explain(a=a, b=b, draw=draw, **USUAL | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoding": "coupled"},
        {"encoding": "coupled", "base": "2", "train": "D3"},
        {"modulus": "101"},
        {"operation": "mul", "modulus": "12", "base": "7", "train": "D1..2"},
        {"operation": "mul", "encoding": "fire"},
        {"operation": "sub", "modulus": "7"},
        {"encoding": "none"},
    ],
)
@pytest.mark.parametrize("draw", range(5))
def test_an_example_is_truth_beside_what_the_hypothesis_says(changes, draw):
    reply = explained(draw, **changes)
    example, base = reply["example"], reply["base"]
    a, b = int(example["a"], base), int(example["b"], base)
    assert max(len(example["a"]), len(example["b"])) == reply["trained_length"] + 2
    task = Task.parse(reply["task"], base)
    assert int(example["truth"], base) == task(a, b)
    if example["hypothesis"] is None:
        assert example["predicted"] is None
    else:
        assert int(example["predicted"], base) == Hypothesis.parse(example["hypothesis"])(task, a, b)


def test_an_example_of_a_window_shows_a_carry_that_is_lost():
    """A random pair would almost never: its carries are short."""
    examples = [explained(draw, encoding="coupled")["example"] for draw in range(20)]
    assert all(example["predicted"] != example["truth"] for example in examples)
    assert len({example["a"] for example in examples}) > 10


def test_numbers_typed_in_are_the_example():
    example = explained(a="99 999", b="1")["example"]
    assert (example["a"], example["b"], example["truth"], example["predicted"]) == (
        "99999",
        "1",
        "100000",
        "10000",
    )


@pytest.mark.parametrize("changes", [{}, {"operation": "mul", "modulus": "101"}, {"encoding": "coupled"}])
def test_rows_are_those_of_predict(changes):
    question = USUAL | changes
    reply = predict_rows(test="B3..6", **question)
    task = question["operation"] + (f"%{question['modulus']}" if question["modulus"] else "")
    expected = predict(task, "D4", "B3..6", encoding=question["encoding"]).as_json()["rows"]
    told = expected[0].keys() - NOT_SHOWN
    assert told | {"length", "shown", "errors", "measured"} == reply["rows"][0].keys()
    assert [[row[key] for key in told] for row in reply["rows"]] == [
        [row[key] for key in told] for row in expected
    ]
    assert [row["length"] for row in reply["rows"]] == [3, 4, 5, 6]


def test_one_short_operand():
    question = USUAL | {"operation": "mul", "train": "0.5*97x2+0.5*98x2", "encoding": "coupled"}
    assert [row["domain"] for row in predict_rows(test="", **question)["rows"]][-2:] == ["99x2", "100x2"]
    reply = explain(a="", b="", draw=0, **question)
    assert reply["hypothesis"] is None and "97x2+98x2" in reply["rule"]


BAD = [
    ({"operation": "div"}, "operation", "add, mul"),
    ({"modulus": "x"}, "modulus", "'x'"),
    ({"modulus": "-3"}, "modulus", "1 to"),
    ({"operation": "mul", "modulus": "20001"}, "modulus", "20000"),
    ({"base": "37"}, "base", "36"),
    ({"base": "²"}, "base", "2 to 36"),
    ({"train": "E4"}, "train", "E4"),
    ({"train": f"D{MAX_DIGITS + 1}"}, "train", str(MAX_DIGITS)),
    ({"train": "D1..9999"}, "train", str(MAX_DIGITS)),
    ({"train": "1..9999x2"}, "train", str(MAX_DIGITS)),
    ({"train": f"2x{MAX_DIGITS + 1}"}, "train", str(MAX_DIGITS)),
    ({"train": "4x2x2"}, "train", "40x2"),
    ({"encoding": "wavelet"}, "encoding", "wavelet"),
    ({"layout": "plain", "encoding": "coupled"}, "layout", "plain"),
    ({"test": "D1..100,D1..2"}, "test", str(MAX_ROWS)),
    ({"test": "B0"}, "test", "B0"),
    ({"a": "12"}, "b", "number"),
    ({"a": "1x", "b": "2"}, "a", "'x'"),
    ({"a": "1", "b": "9" * (MAX_DIGITS + 1)}, "b", str(MAX_DIGITS)),
]


@pytest.mark.parametrize(("changes", "field", "named"), BAD)
def test_a_complaint_names_its_field_and_what_is_allowed(changes, field, named):
    typed = {**USUAL, "test": "", "a": "", "b": ""} | changes
    problem = check(**typed)["problem"]
    assert problem["field"] == field and named in problem["error"]
    question = {key: typed[key] for key in USUAL}
    with pytest.raises(RefusedError) as refusal:
        predict_rows(test=typed["test"], **question)
        explain(a=typed["a"], b=typed["b"], draw=0, **question)
    assert (refusal.value.field, str(refusal.value)) == (problem["field"], problem["error"])


def test_nothing_is_wrong_with_the_longest_allowed():
    assert check(**USUAL | {"train": "D100"}, test="", a="9" * 100, b="1") == {"problem": None}
    assert len(predict_rows(test="", **USUAL | {"train": "D100"})["rows"]) == MAX_ROWS
