from fractions import Fraction

import pytest
from fakes import Maximum

from lengthwise.arithmetic import OPERATIONS, Domain, Task
from lengthwise.errors import InputError
from lengthwise.theory.accuracy import accuracy
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.predict import predict
from lengthwise.theory.rules import table_1

RELATIVE = ["rotary", "alibi", "t5", "shaw", "fire", "abacus", "coupled"]


def only(*args, **options):
    (row,) = predict(*args, **options).rows
    return row


@pytest.mark.parametrize("encoding", ["learned", "sinusoidal"])
@pytest.mark.parametrize("task", ["add", "mul", "add%101", "mul%150"])
@pytest.mark.parametrize("test", ["D1", "D4", "B7"])
def test_absolute_positions_truncate(encoding, task, test):
    row = only(task, "D4", test, encoding=encoding)
    assert str(row.hypothesis) == "truncated:4"
    assert row.accuracy == accuracy(Task.parse(task), Hypothesis("truncated", 4), Domain.parse(test))
    assert row.within_theorem and row.generalizes is False


@pytest.mark.parametrize(
    ("task", "absolute", "relative"),
    [
        ("add", "Theorem 1 and Corollary 2: with absolute", "Theorem 3: with relative"),
        ("add%100", "Theorem 4: 100 divides 10^3", "Theorem 4: 100 divides 10^3"),
        ("add%101", "Theorem 5: with absolute", "add%101 is not computed in the same way at every position"),
        ("mul", "Theorem 6: with absolute", "mul is not computed in the same way at every position"),
        ("mul%100", "Theorem 7: 100 divides 10^3", "Theorem 7: 100 divides 10^3"),
        ("mul%51", "Theorem 7: with absolute", "mul%51 is not computed in the same way at every position"),
    ],
)
def test_the_rule_names_its_theorem(task, absolute, relative):
    assert only(task, "D3", "B4").rule.startswith(absolute)
    assert only(task, "D3", "B4", encoding="rotary").rule.startswith(relative)


@pytest.mark.parametrize(("train", "n"), [("D4+D5", 5), ("0.6*D6+0.4*D7", 7), ("D1..4", 4), ("D1", 1)])
def test_n_is_the_longest_training_length(train, n):
    assert str(only("add", train, "D9").hypothesis) == f"truncated:{n}"


@pytest.mark.parametrize(("task", "train"), [("add", "D1"), ("add%101", "D2"), ("mul%1001", "D3")])
def test_outside_the_theorem_the_hypothesis_is_still_given(task, train):
    row = only(task, train, "D4")
    assert row.hypothesis is not None and row.hypothesis.kind == "truncated"
    assert not row.within_theorem


@pytest.mark.parametrize("encoding", ["learned", "sinusoidal", *RELATIVE])
@pytest.mark.parametrize("task", ["add%100", "mul%50", "add%200"])
def test_a_dividing_modulus_is_right_on_every_length(encoding, task):
    for row in predict(task, "D4", "D1..9,B12", encoding=encoding).rows:
        assert row.accuracy == 1 and row.generalizes is True and row.within_theorem


def test_a_power_that_needs_more_digits_than_trained_does_not_divide():
    """1000 divides 10^3, but only two digits were trained."""
    row = only("add%1000", "D2", "B4")
    assert row.accuracy is not None and row.accuracy < 1 and row.generalizes is False


@pytest.mark.parametrize("encoding", RELATIVE)
def test_relative_addition_sees_a_window(encoding):
    within, above = predict("add", "D4", "D4,D9", encoding=encoding).rows
    assert str(within.hypothesis) == "truth" and within.accuracy == 1
    assert str(above.hypothesis) == "windowed:5" and above.generalizes is True
    assert above.paper == 1 - Fraction(1, 1000)


@pytest.mark.parametrize("encoding", RELATIVE)
def test_where_a_window_is_predicted_the_local_rule_is_an_alternative(encoding):
    within, above = predict("add", "D4", "D4,D30", encoding=encoding).as_json()["rows"]
    (local,) = above["alternatives"]
    assert (local["hypothesis"], local["accuracy"], local["percent"]) == ("local", "1", 100)
    assert "digit it has just written" in local["premise"] and above["percent"] < 100
    assert within["alternatives"] == []


def test_other_rows_have_no_alternative():
    rows = [
        *predict("add", "D4", "D1..9").rows,
        *predict("mul", "D4", "D1..9", encoding="coupled").rows,
        *predict("add%100", "D4", "D1..9", encoding="rotary").rows,
        *predict("add", "B4", "D1..9", encoding="rotary").rows,
    ]
    assert all(row.alternatives == () for row in rows)


def test_the_window_is_the_smallest_that_is_right_on_its_own_training_domain():
    """windowed:n, which the paper's text describes, is wrong on D_n itself; windowed:n+1 is not."""
    for n in (2, 3, 4):
        domain = Domain.parse(f"D{n}")
        assert accuracy(Task.parse("add"), Hypothesis("windowed", n), domain) < 1
        assert accuracy(Task.parse("add"), Hypothesis("windowed", n + 1), domain) == 1
    assert str(only("add", "D4", "D6", encoding="coupled", hypothesis="windowed:4").hypothesis) == "windowed:4"


@pytest.mark.parametrize("encoding", ["rotary", "alibi", "t5", "shaw", "fire"])
def test_distances_need_the_aligned_layout(encoding):
    row = only("add", "D4", "D6", encoding=encoding, layout="padded")
    assert row.hypothesis is None and row.accuracy is None and row.generalizes is None
    assert only("add", "D4", "D6", encoding="coupled", layout="padded").accuracy is not None


def test_no_carry_can_be_read_where_the_highest_digit_is_written_first():
    lowest, highest = (
        only("add", "D4", "D6", encoding="rotary", layout=name) for name in ("aligned", "descending")
    )
    assert lowest.hypothesis == highest.hypothesis and lowest.accuracy == highest.accuracy
    assert [str(other.hypothesis) for other in lowest.alternatives] == ["local"] and not highest.alternatives


@pytest.mark.parametrize("task", ["mul", "add%101", "mul%101"])
@pytest.mark.parametrize("encoding", ["coupled", "rotary"])
def test_relative_positions_say_nothing_upward_of_other_tasks(task, encoding):
    row = only(task, "D4", "D6", encoding=encoding)
    assert row.accuracy is None and row.paper is None and row.generalizes is False


@pytest.mark.parametrize("encoding", ["none", "randomized:fire"])
def test_encodings_without_a_theorem(encoding):
    row = only("add", "D4", "D6", encoding=encoding)
    assert (row.accuracy, row.generalizes, row.within_theorem) == (None, None, False)


@pytest.mark.parametrize("train", ["B4", "D4[lead>=6]", "4x2", "4x1", "1x4"])
def test_training_domains_outside_the_assumption(train):
    own, other = predict("add", train, f"{train},D3").rows
    assert own.accuracy == 1 and str(own.hypothesis) == "truth"
    assert other.accuracy is None and other.generalizes is None


def test_one_short_operand_in_training_leaves_theory_silent_but_for_what_it_saw():
    rows = predict("mul", train="1..4x2+2x2", test="1..5x2,D2,B2,4x1,2x4", encoding="coupled").rows
    assert {str(row.domain) for row in rows if str(row.hypothesis) == "truth"} == {
        "1x2",
        "2x2",
        "3x2",
        "4x2",
        "B2",
    }
    others = [row for row in rows if row.hypothesis is None]
    assert {str(row.domain) for row in others} == {"5x2", "D2", "4x1", "2x4"}
    assert all(row.accuracy is None and "leaves digit pairs at position 4 unseen" in row.rule for row in others)


def test_natural_layouts():
    natural = {e: predict("add", "D2", "D1", encoding=e).layout for e in ["abacus", "fire", "learned", "coupled"]}
    assert natural == {"abacus": "reversed", "fire": "aligned", "learned": "padded", "coupled": "padded"}


def test_absolute_positions_in_a_moving_layout():
    assert only("add", "D4", "D6", layout="plain").accuracy is None


@pytest.mark.parametrize("encoding", ["learned", "coupled", "rotary"])
def test_nothing_is_said_of_intermediate_steps(encoding):
    row = only("add", "D4", "D4", encoding=encoding, layout="scratchpad")
    assert row.hypothesis is None and row.generalizes is None
    assert "scratchpad" in row.rule


@pytest.mark.parametrize(
    ("task", "options"),
    [("add%7", {"layout": "scratchpad"}), ("add", {"layout": "plain", "encoding": "abacus"})],
)
def test_layouts_that_do_not_go_with_task_or_encoding(task, options):
    with pytest.raises(InputError, match=r"\(choose from padded, aligned, descending"):
        predict(task, "D2", "D2", **options)


def test_table_1_is_the_papers():
    columns = ["addition", "multiplication", "modulo 100", "modulo 101"]
    assert {k: [v[c] for c in columns] for k, v in table_1().items()} == {
        "absolute": [False, False, True, False],
        "relative": [True, False, True, False],
    }


@pytest.mark.parametrize("encoding", ["learned", "rotary", "none"])
@pytest.mark.parametrize("task", ["max", "max%10"])
def test_nothing_is_predicted_of_an_operation_without_theory(monkeypatch, task, encoding):
    monkeypatch.setitem(OPERATIONS, "max", Maximum())
    rows = predict(task, "D2", "D1,D2,D4", encoding=encoding).rows
    assert {(row.hypothesis, row.accuracy, row.paper, row.within_theorem) for row in rows} == {
        (None, None, None, False)
    }
    assert {row.rule for row in rows} == {"no prediction: no theory of max is known here"}
    assert only(task, "D2", "D4", encoding=encoding, hypothesis="truncated:2").accuracy is None


def test_differences_are_predicted_beside_the_paper():
    near, far = predict("sub", "D2", "D2,D3").rows
    assert (near.accuracy, far.accuracy, far.paper) == (1, Fraction(101, 1100), None)
    assert far.rule.startswith("Not in the paper, by the argument of its Theorem 1: with absolute positions")
    assert not near.within_theorem and not far.within_theorem and far.generalizes is False
    assert only("sub%100", "D2", "D3").generalizes is False and only("sub%2", "D2", "D3").generalizes


@pytest.mark.parametrize("encoding", RELATIVE)
def test_relative_positions_say_nothing_of_differences_but_in_distribution(encoding):
    shorter, trained, longer = predict("sub%2", "D2", "D1,D2,D3", encoding=encoding).rows
    assert (shorter.hypothesis, str(trained.hypothesis), longer.hypothesis) == (None, "truth", None)
    assert "which operand is larger" in longer.rule and "Theorem" not in longer.rule + trained.rule


def test_json_contract():
    printed = predict("add%151", "D4", "B6").as_json()
    assert {k: printed[k] for k in ("task", "base", "train", "encoding", "layout")} == {
        "task": "add%151",
        "base": 10,
        "train": "D4",
        "encoding": "learned",
        "layout": "padded",
    }
    (row,) = printed["rows"]
    assert list(row) == [
        "domain",
        "hypothesis",
        "rule",
        "within_theorem",
        "generalizes",
        "accuracy",
        "percent",
        "paper_percent",
        "alternatives",
        "unseen_pairs",
    ]
    assert row["accuracy"] == "4/675" and round(row["percent"], 3) == 0.593


@pytest.mark.parametrize("task", ["add", "mul", "add%101", "mul%100"])
def test_what_shorter_operands_need_and_training_never_shows(task):
    rows = predict(task, "D4", "D1..6").as_json()["rows"]
    missing = [{"a_position": 4, "b_position": 4, "pairs": [(0, 0)]}]
    assert [row["unseen_pairs"] for row in rows] == [missing] * 3 + [[]] * 3
    assert all(row.unseen == () for row in predict(task, "D1..4", "D1..6").rows)


@pytest.mark.parametrize("options", [{"encoding": "coupled"}, {"encoding": "rotary"}, {"layout": "reversed"}])
def test_nothing_is_unseen_where_positions_have_no_place_of_their_own(options):
    assert all(row.unseen == () for row in predict("mul", "D4", "D1..6", **options).rows)


def test_plateaus_are_told_when_asked_for():
    assert "plateaus" not in predict("mul%150", "D3", "D3").as_json()
    found = predict("mul%150", "D3", "D3", plateaus=True).as_json()["plateaus"]
    (known,) = [row for row in found if row["known"] == "answer mod 50"]
    assert known == {
        "known": "answer mod 50",
        "accuracy": "153/275",
        "percent": pytest.approx(55.636, abs=1e-3),
        "by_chance": "1/3",
    }
    assert [row["percent"] for row in found] == sorted(row["percent"] for row in found)


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "wavelet"},
        {"encoding": "randomized:coupled"},
        {"encoding": "randomized:none"},
        {"layout": "diagonal"},
        {"hypothesis": "magic"},
    ],
)
def test_bad_options(options):
    (value,) = options.values()
    with pytest.raises(InputError, match=value):
        predict("add", "D4", "D6", **options)
