"""What was measured beside each prediction: which runs count and how, and that every way to ask tells the same."""

import json
from pathlib import Path

import pytest
from relative_runs import fake_run
from synthetic_runs import rising, synthetic_run

import lengthwise
from lengthwise.cli import main
from lengthwise.explorer.predict import explain, predict_rows
from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.evidence import Kind, shipped_evidence
from lengthwise.report.page import report_html
from lengthwise.report.queries import Collection
from lengthwise.report.results import PLACE, evidence_table, write_evidence
from lengthwise.theory.hypotheses import TRUTH

RESULTS = Path(__file__).parents[2] / "results"
LEARNED, NOT_YET = rising(-3_000), rising(150)
TYPED = {"operation": "add", "modulus": "", "base": "", "train": "D4", "encoding": "learned", "layout": ""}
"""What stands in the explorer's form."""


def test_the_table_that_ships_is_what_make_results_writes(tmp_path):
    assert write_evidence(RESULTS, tmp_path / "evidence.json").read_text() == PLACE.read_text()


def reported(folder, recipe, row, *, seed=None, **done):
    config = RECIPES[recipe].rows(Setting())[row]
    seed = RECIPES[recipe].seeds[0] if seed is None else seed
    synthetic_run(folder, config.changed(seed=seed), name=f"{row}-s{seed}", **{"learned": LEARNED, **done})


def but_on(name):
    """A model that does what theory says everywhere but there."""
    return lambda domain: 0.5 if str(domain) == name else 1.0


def found(folder):
    """The counts of holding, failing and undecided runs, by kind."""
    rows = evidence_table(Collection(folder).views)
    assert all(row["seeds"] == row["hold"] + row["fail"] + row["undecided"] for row in rows)
    kinds = [tuple(row[key] for key in ("modulus_divides", "encoding", "lengths")) for row in rows]
    counts = [tuple(row[key] for key in ("hold", "fail", "undecided", "source")) for row in rows]
    return dict(zip(kinds, counts, strict=True))


def test_runs_are_counted_as_by_hand(tmp_path):
    reported(tmp_path, "addition", "addition-D4")
    reported(tmp_path, "addition", "addition-D4", seed=102)
    reported(tmp_path, "addition", "addition-D5", follows=but_on("D7"))
    reported(tmp_path, "addition", "addition-D6", learned=NOT_YET)
    reported(tmp_path, "modular-addition", "modular-addition-p100")
    reported(tmp_path, "modular-addition", "modular-addition-p101", follows=but_on("B2"))
    fake_run(tmp_path, "relative-addition", "relative-addition-rotary-D2", None)
    fake_run(tmp_path, "relative-addition", "relative-addition-rotary-D2", TRUTH, seed=2)
    # None of these counts: a tuning seed, other ways to train, position-only attention, and no prediction.
    reported(tmp_path, "addition", "addition-D7", seed=0)
    reported(tmp_path, "regularization", "regularization-add-dropout0-decay0")
    reported(tmp_path, "fixed-samples", "fixed-samples-addition-D4")
    reported(tmp_path, "packing", "packing-lines")
    fake_run(tmp_path, "coupled-1000", "coupled-1000", TRUTH, seed=61)
    assert found(tmp_path) == {
        (None, "learned", "longer"): (2, 1, 1, "addition"),
        (None, "learned", "trained"): (3, 0, 1, "addition"),
        (None, "learned", "shorter"): (3, 0, 1, "addition"),
        (True, "learned", "longer"): (1, 0, 0, "modular-addition"),
        (True, "learned", "trained"): (1, 0, 0, "modular-addition"),
        (True, "learned", "shorter"): (1, 0, 0, "modular-addition"),
        (False, "learned", "longer"): (1, 0, 0, "modular-addition"),
        (False, "learned", "trained"): (1, 0, 0, "modular-addition"),
        (False, "learned", "shorter"): (0, 1, 0, "modular-addition"),
        # Sums that are right throughout are not those of a window: with it carries are lost.
        (None, "rotary", "longer"): (1, 1, 0, "relative-addition"),
        (None, "rotary", "trained"): (2, 0, 0, "relative-addition"),
        (None, "rotary", "shorter"): (2, 0, 0, "relative-addition"),
    }


def test_a_kind_names_all_recipes_that_it_counts(tmp_path):
    reported(tmp_path, "addition", "addition-D4")
    reported(tmp_path, "table1", "table1-learned-add")
    assert found(tmp_path)[None, "learned", "longer"] == (2, 0, 0, "addition, table1")
    assert found(tmp_path)[None, "learned", "shorter"] == (1, 0, 0, "addition")


@pytest.mark.parametrize(
    ("task", "train", "test", "encoding", "kind"),
    [
        ("add", "D4", "D5", "learned", ("add", None, "learned", "padded", "longer")),
        ("add", "D4", "B4", "learned", ("add", None, "learned", "padded", "trained")),
        ("add", "D4", "D2", "learned", ("add", None, "learned", "padded", "shorter")),
        ("add", "D1..4", "D2", "learned", ("add", None, "learned", "padded", "trained")),
        ("add%200", "D4", "B7", "learned", ("add", True, "learned", "padded", "longer")),
        ("add%200", "D2", "B7", "learned", ("add", False, "learned", "padded", "longer")),
        ("mul%201", "D3", "B4", "learned", ("mul", False, "learned", "padded", "longer")),
        ("add", "D4", "D5", "alibi", ("add", None, "alibi", "aligned", "longer")),
    ],
)
def test_a_prediction_finds_its_kind(task, train, test, encoding, kind):
    (row,) = lengthwise.predict(task, train, test, encoding=encoding).rows
    assert row.evidence is not None and row.evidence == shipped_evidence()[Kind(*kind)]


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("add", {"encoding": "none"}),
        ("mul", {"encoding": "rotary"}),
        ("add", {"hypothesis": "windowed:3"}),
        ("add", {"layout": "aligned"}),
        ("mul%101", {"encoding": "sinusoidal"}),
    ],
    ids=["no theorem", "no function", "another function", "another layout", "not run"],
)
def test_there_is_no_evidence(task, options):
    (row,) = lengthwise.predict(task, "D4", "D5", **options).rows
    assert row.evidence is None and row.as_json()["evidence"] is None


def test_all_who_show_a_prediction_tell_the_same(capsys):
    kind = Kind("add", None, "alibi", "aligned", "longer")
    evidence = shipped_evidence()[kind]
    assert evidence.hold + evidence.fail + evidence.undecided == evidence.seeds
    asked = ("predict", "add", "--train", "D4", "--test", "D5", "--encoding", "alibi")
    main([*asked, "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["evidence"] == evidence._asdict()
    typed = {**TYPED, "encoding": "alibi"}
    explained = explain(a="", b="", draw=0, **typed)
    assert predict_rows(test="D5", **typed)["rows"][0]["evidence"] == explained["evidence"] == row["evidence"]
    main([*asked])
    out = capsys.readouterr().out
    assert f"{evidence.hold} of {evidence.seeds} hold" in out
    assert f"theory says yes, but {explained['measured_words']}" in out and evidence.source in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["add"], "no; the prediction holds in"),
        (["mul%101", "--train", "D3", "--encoding", "sinusoidal"], "no; no trained model was measured on this"),
        (["mul", "--encoding", "rotary"], "theory says no, but not what it computes instead"),
        (["add", "--encoding", "none"], "theory does not say"),
    ],
)
def test_the_last_line_says_what_theory_says_and_whether_models_do_it(capsys, options, said):
    main(["predict", *options])
    last = capsys.readouterr().out.splitlines()[-1]
    assert "Does it generalize to longer operands?" in last and said in last


def test_the_report_says_it_of_what_it_predicts(tmp_path):
    reported(tmp_path, "addition", "addition-D4")
    learned = explain(a="", b="", draw=0, **TYPED)
    assert f"on longer operands: {learned['measured_words']}." in report_html([tmp_path])


def test_functions_are_explained_under_the_table(capsys):
    main(["predict", "add", "--encoding", "coupled"])
    out = capsys.readouterr().out
    assert "- windowed:5: it will compute each digit from only 5 columns" in out
    assert out.count("- windowed:5:") == 1
