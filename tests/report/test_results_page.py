"""docs/results.md from synthetic runs: every table and verdict is there, and equal runs give equal files."""

import re

import pytest
from synthetic_runs import rising, synthetic_run

from lengthwise.recipes import RECIPES, Setting, row_names
from lengthwise.recipes.paper import table_rows, unread_digits_dead
from lengthwise.records.files import write_json
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.report.queries import Collection
from lengthwise.report.recipe_tables import regularization_grid
from lengthwise.report.results import (
    claim_table,
    far_off,
    results_page,
    theorem_rows,
    theorem_table,
    write_results,
)

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
        for name, config in RECIPES[recipe].runs(Setting(), seeds=1, only=names).items():
            learned = NOT_YET if name.startswith("multiplication-D2-") else LEARNED
            synthetic_run(out / "runs", config, name=name, learned=learned)
        write_json(out / f"{recipe}.json", note(recipe, [f"{name}-s{RECIPES[recipe].seeds[0]}" for name in names]))
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
    trained = RECIPES["addition"].rows(Setting())["addition-D4"]
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


ONE_SEED = "no verdict: one seed"


def test_theorems_are_judged_by_the_runs_of_their_tables(results):
    lines = {line[0]: line[2:] for line in theorem_table(Collection(results)).rows}
    assert lines["Theorem 1, Corollary 2"] == ("2", "2", "2", "0", "0", ONE_SEED)
    assert lines["Theorem 3"] == ("0", "0", "0", "0", "0", "not tested here")
    assert lines["Theorem 4"] == ("1", "1", "1", "0", "0", ONE_SEED)
    assert lines["Theorem 5"] == ("1", "1", "1", "0", "0", ONE_SEED)
    assert lines["Theorem 6"] == ("1", "1", "0", "0", "1", ONE_SEED), "what has not learned decides nothing"
    assert list(lines) == sorted(lines), "in the order of their numbers"


def test_a_theorem_is_the_table_of_its_rows_and_a_row_counts_its_seeds(tmp_path):
    """One failing length fails its seed, and neither the other seeds nor the theorem."""
    follows = {101: 1.0, 102: 0.5, 103: 1.0}
    for row in ("addition-D4", "addition-D5"):
        for name, config in RECIPES["addition"].runs(Setting(), seeds=3, only=[row]).items():
            share = follows[config.seed] if row == "addition-D5" else 1.0
            synthetic_run(
                tmp_path / "runs",
                config,
                name=name,
                learned=LEARNED,
                follows=lambda domain, share=share: share if domain.length == 9 else 1.0,
            )
    collection = Collection(tmp_path)
    assert theorem_rows(collection).rows == (
        ("Theorem 1, Corollary 2", "addition-D4", "101 holds, 102 holds, 103 holds", "holds in 3 of 3 seeds"),
        ("Theorem 1, Corollary 2", "addition-D5", "101 holds, 102 fails, 103 holds", "holds in 2 of 3 seeds"),
    )
    (line,) = [line for line in theorem_table(collection).rows if line[0] == "Theorem 1, Corollary 2"]
    assert line[2:] == ("2", "6", "5", "1", "0", "1 of 2")


def test_claims_are_judged(results):
    """Both mixtures and single lengths are learned at once here, and one of the runs has not learned at all."""
    lines = {line[0]: line[2:] for line in claim_table(Collection(results)).rows}
    assert lines["remark on Theorem 1"] == ("1", "1", "0", "0", "1", ONE_SEED)
    assert lines["counterexample"][-1] == "not tested here"
    assert lines["capacity"] == ("1", "1", "1", "0", "0", ONE_SEED)
    assert lines["dependence"] == ("5", "5", "4", "0", "1", ONE_SEED)
    digits = [unread_digits_dead(run) for run in Collection(results).views if run.row in DEPENDENCE]
    words = [word for run in digits for word in run]
    assert words.count(HOLDS) == 10 * (5 + 4) + 2 * 7 + 3 * 5
    assert (words.count(UNDECIDED), words.count(FAILS)) == (18 * 7, 0)


DEPENDENCE = row_names(table_rows)


def test_the_error_of_corollary_2_is_told_as_far_as_records_go(tmp_path):
    """Answers that equal the truncated sum are off by 10^4 or more: all of them on D5 to D9 but for D7."""
    (config,) = RECIPES["addition"].runs(Setting(), 1, ["addition-D4"]).values()
    follows = lambda domain: 0.9 if domain.length == 7 else 1.0  # noqa: E731
    synthetic_run(tmp_path / "runs", config, name="addition-D4-s101", learned=LEARNED, follows=follows)
    assert far_off(Collection(tmp_path)) == (98, 90, 100), "the mean, the lowest and the highest"
    page = results_page(tmp_path, tmp_path / "results.md")
    assert "This holds for at least 90 % of the sums of every longer length and run, 98 % on average" in page


def test_what_was_tuned_is_linked(results, tmp_path):
    assert "tuning.csv" not in results_page(results, tmp_path / "results.md")
    (tmp_path / "tuning.csv").write_text("task\n")
    assert "[tuning.csv](./tuning.csv)" in results_page(tmp_path, tmp_path / "results.md")


def test_controls_are_shown_once_they_have_runs(results, tmp_path):
    assert "## Controls" not in results_page(results, tmp_path / "results.md")
    runs = {
        **RECIPES["questions"].runs(Setting(), 1, ["questions-01", "questions-02"]),
        **RECIPES["fixed-samples"].runs(Setting(), 1, ["fixed-samples-addition-D4"]),
    }
    for name, config in runs.items():
        follows = (lambda domain: 0.5) if name.startswith("questions-02") else None
        synthetic_run(tmp_path / "runs", config, name=name, learned=LEARNED, follows=follows)
    page = results_page(tmp_path, tmp_path / "results.md")
    part = page.partition("\n## Controls\n")[2].partition("\n## ")[0]
    assert "**1 of 2 hold on every length, one seed**" in part, "of the questions"
    assert re.search(r"\| questions-01 \| .* \| 100 \| 100 \| 100 \| holds in 1 of 1 seed \|", part)
    assert re.search(r"\| questions-02 \| .* \| holds in 0 of 1 seed.* \|", part)
    assert "### The paper's amount of data" in part and "own hyperparameters" not in part


def test_the_grid_stands_under_its_table(results):
    grid = regularization_grid(Collection(results), RECIPES["regularization"], RECIPES["addition"])
    assert grid.columns == ("dropout", "decay 0", "decay 0.05")
    assert grid.rows == (("0", "100 (100)", "–"), ("0.1", "–", "100 (100)"))
