"""docs/results.md from synthetic runs: every table and verdict is there, and equal runs give equal files."""

import re

import pytest
from synthetic_runs import rising, synthetic_run

from lengthwise.records.files import write_json
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.report.claims import claim_table
from lengthwise.report.collection import Collection
from lengthwise.report.regularization import grids
from lengthwise.report.results import write_results
from lengthwise.report.results_page import results_page
from lengthwise.report.theorems import theorem_table, verdict_on
from lengthwise.runs.recipes import RECIPES, Setting

LEARNED, NOT_YET = rising(-3_000), rising(150)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Rows of the four tables and of what stands beside them, as theory says they come out."""
    out = tmp_path_factory.mktemp("results")
    wanted = {
        "addition": ["addition-D4", "addition-D5"],
        "modular-addition": ["modular-addition-p100", "modular-addition-p101"],
        "multiplication": ["multiplication-D2"],
        "regularization": ["regularization-add-dropout0-decay0", "regularization-add-dropout0.1-decay0.05"],
        "counterexample": ["counterexample-D1..9"],
        "scales": ["scales-nano-100k-D5", "scales-nano-100k-D4+D5"],
    }
    for recipe, names in wanted.items():
        for run in RECIPES[recipe].runs(Setting(), seeds=1, only=names):
            learned = NOT_YET if run.name.startswith("multiplication-D2-") else LEARNED
            synthetic_run(out / "runs", run.config, name=run.name, learned=learned)
        write_json(
            out / f"{recipe}.json", note(recipe, [f"{name}-s{RECIPES[recipe].first_seed}" for name in names])
        )
    write_results(out)
    return out


def note(recipe, runs):
    return {
        "recipe": recipe,
        "scale": "full",
        "preset": "fast",
        "seeds": 1,
        "runs": runs,
        "wall_seconds": 61.4,
        "commit": "abc123",
        "device": "NVIDIA H200",
    }


def test_the_page_holds_tables_verdicts_and_budgets(results, tmp_path):
    page = results_page(results, tmp_path / "results.md")
    for title in ("In numbers", "Theorems", "Other claims", "Tables", "Figures", "Budgets"):
        assert f"\n## {title}\n" in page
    assert "### Addition, against truth" in page
    assert "Modular multiplication, against truth" not in page.partition("## Tables")[2]
    assert "modular-multiplication p50, p51" in page, "rows that are missing are named"
    trained = RECIPES["addition"].rows(Setting())[0].config
    assert f"| 2 | {trained.training.steps:,} | {trained.training.batch} | {trained.model.dropout:g} |" in page
    assert "| fresh, sparse digits | 10 | – | 61 | NVIDIA H200 | – |" in page
    assert "Regularization" in page
    assert "at most 0." in page, "Theorem 5's formula beside exact accuracies"
    for link in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page):
        assert (tmp_path / link).exists()


def test_equal_runs_give_equal_files(results, tmp_path):
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    page = results_page(results, tmp_path / "results.md")
    assert set(write_results(results)) <= set(before)
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before
    assert results_page(results, tmp_path / "results.md") == page


def test_theorems_are_judged_by_the_runs_of_their_tables(results):
    lines = {line[0]: line[2:] for line in theorem_table(Collection(results).views).rows}
    assert lines["Theorem 1, Corollary 2"] == ("2", "18", "0", "0", HOLDS)
    assert lines["Theorem 3"] == ("0", "0", "0", "0", "not tested here")
    assert lines["Theorem 4"] == ("1", "9", "0", "0", HOLDS)
    assert lines["Theorem 5"] == ("1", "9", "0", "0", HOLDS)
    assert lines["Theorem 6"] == ("1", "0", "0", "9", UNDECIDED), "a model that has not learned decides nothing"


def test_claims_are_judged(results):
    """Both mixtures and single lengths are learned at once here, and one of the runs has not learned at all."""
    lines = {line[0]: line[2:] for line in claim_table(Collection(results).views).rows}
    assert lines["remark on Theorem 1"] == ("2", "0", "0", "1", UNDECIDED)
    assert lines["counterexample"][-1] == "not tested here"
    assert lines["capacity"] == ("1", "9", "0", "0", HOLDS)
    runs, holds, fails, undecided, word = lines["dependence"]
    assert (runs, fails, word) == ("5", "0", UNDECIDED)
    assert int(holds) == 10 * (5 + 4) + 2 * 7 + 3 * 5
    assert int(undecided) == 18 * 7


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ([], "not tested here"),
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([UNDECIDED, FAILS, HOLDS], FAILS),
    ],
)
def test_one_that_fails_is_enough(words, verdict):
    assert verdict_on(words) == verdict


def test_the_grid_stands_under_its_table(results):
    grid = grids(Collection(results))["addition"]
    assert grid.columns == ("dropout", "decay 0", "decay 0.05")
    assert grid.rows == (("0", "100 (100)", "–"), ("0.1", "–", "100 (100)"))
