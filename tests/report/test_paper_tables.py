"""Tables from synthetic records equal numbers worked out by hand; the paper's own deviations come out as known."""

import json

import pytest
from synthetic_runs import record_maker

from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.files import write_json
from lengthwise.records.folder import RunFolder
from lengthwise.records.view import RunView
from lengthwise.report.paper import (
    paper_deviations,
    paper_recipes,
    paper_table,
    paper_tables,
    printed_tables,
    summary,
)
from lengthwise.report.queries import Collection


def table_run(out, recipe, row, *, seed=1, wrong=None, status="done"):
    """A run that does what theory says but for `wrong`: by domain, how many of 1,000 it gets wrong."""
    config = RECIPES[recipe].rows(Setting())[f"{recipe}-{row}"].changed(seed=seed)
    folder = RunFolder.claim(out / "runs" / f"{recipe}-{row}-s{seed}", config.model_dump(mode="json"), {})
    view = RunView(folder)
    make = record_maker(view, 100)
    records = []
    for prediction in view.spec.predictions(config.spec.measured_domains()):
        lost = (wrong or {}).get(str(prediction.domain), 0) / 1000
        truth = 1 if prediction.accuracy is None else prediction.accuracy
        records.append(make(prediction.domain, share=abs(float(truth) - lost)))
        reference = f"truncated:{view.train.length}"
        records.append(make(prediction.domain, share=min(1, 1 - lost), reference=reference))
    folder.append(records)
    folder.set_status(status)
    return view


TABLES = {
    name: (recipe, truncated)
    for recipe in paper_recipes()
    for name, truncated in zip(recipe.tables, (False, True), strict=True)
}


def table_of(out, name):
    return paper_table(Collection(out), *TABLES[name])


def cell_of(out, name, row, test):
    (cell,) = table_of(out, name).cells.filter(row=row, test=test).to_dicts()
    return cell


def labels(cells):
    return cells["row"].unique(maintain_order=True).to_list()


def note(out, recipe, scale):
    write_json(out / f"{recipe}.json", {"recipe": recipe, "scale": scale, "wall_seconds": 12.5, "runs": []})


def test_a_cell_is_measured_beside_exact_theory_and_the_paper(tmp_path):
    table_run(tmp_path, "modular-addition", "p101", wrong={"B5": 20})
    table = table_of(tmp_path, "modular_addition_modular_acc")
    assert labels(table.cells) == ["p101"]
    b5 = cell_of(tmp_path, table.name, "p101", "B5")
    assert (b5["measured"], b5["lowest"], b5["highest"], b5["exact"], b5["paper"]) == (
        98.0,
        98.0,
        98.0,
        100.0,
        100.0,
    )
    assert b5["deviation"] == pytest.approx(2.0)
    assert table.cells["test"].to_list() == [f"B{n}" for n in range(1, 10)]
    assert table.cells["in_distribution"].to_list() == [False] * 3 + [True] + [False] * 5
    assert table.missing == ("p50", "p51", "p100", "p150", "p151", "p200", "p201")
    assert len(table.deviations()) == 9
    assert sum(table.deviations()) == pytest.approx(2.0)


def test_seeds_give_a_mean_and_a_spread(tmp_path):
    table_run(tmp_path, "addition", "D4", seed=1, wrong={"D5": 10})
    table_run(tmp_path, "addition", "D4", seed=2, wrong={"D5": 30})
    cell = cell_of(tmp_path, "addition_modular_acc", "D4", "D5")
    assert cell["seeds"] == [1, 2]
    assert (cell["lowest"], cell["highest"], cell["measured"]) == (97.0, 99.0, pytest.approx(98.0))
    assert cell["deviation"] == pytest.approx(2.0)
    lines = table_of(tmp_path, "addition_modular_acc").reading().rows
    assert [line[1] for line in lines] == ["measured", "spread", "exact", "paper"]
    assert (lines[0][6], lines[1][6], lines[0][5]) == ("98", "97–99", "100†")


def test_the_deviation_is_that_of_the_mean_over_seeds_and_each_seed_is_told(tmp_path):
    """Two seeds four points above and below: their mean is right, and each of them is not."""
    for seed, lost in ((101, -40), (102, 40)):
        table_run(tmp_path, "modular-addition", "p150", seed=seed, wrong={"B9": lost})
    cell = cell_of(tmp_path, "modular_addition_true_acc", "p150", "B9")
    assert cell["exact"] == pytest.approx(33.333, abs=0.01)
    assert (cell["highest"], cell["lowest"]) == pytest.approx((37.3, 29.3))
    assert cell["deviation"] == pytest.approx(0, abs=0.05)
    assert table_of(tmp_path, "modular_addition_true_acc").seed_deviations() == {
        101: pytest.approx(4 / 9, abs=0.02),
        102: pytest.approx(4 / 9, abs=0.02),
    }


@pytest.mark.parametrize("seeds", [1, 2, 3, 5])
def test_any_number_of_seeds_is_summed_up(tmp_path, seeds):
    """Seed k loses k points on one of nine lengths."""
    for seed in range(1, seeds + 1):
        table_run(tmp_path, "addition", "D4", seed=seed, wrong={"D5": 10 * seed})
    found = summary(Collection(tmp_path))["tables"]["addition_modular_acc"]
    assert (found["cells"], found["seeds"], found["seeds_differ"]) == (9, seeds, False)
    assert found["mean_abs_deviation"] == pytest.approx((seeds + 1) / 2 / 9, abs=1e-4)
    assert found["worst_seed"] == {"seed": seeds, "mean_abs_deviation": pytest.approx(seeds / 9, abs=1e-4)}
    assert found["spread"] == [pytest.approx(1 / 9, abs=1e-4), pytest.approx(seeds / 9, abs=1e-4)]
    lines = table_of(tmp_path, "addition_modular_acc").reading().rows
    assert ("spread" in {line[1] for line in lines}) == (seeds > 1)


def test_rows_that_differ_in_seeds_are_told(tmp_path):
    for row, seed in (("D4", 1), ("D4", 2), ("D5", 1)):
        table_run(tmp_path, "addition", row, seed=seed)
    found = summary(Collection(tmp_path))["tables"]
    assert [found["addition_true_acc"][key] for key in ("seeds", "seeds_differ")] == [1, True]
    assert found["addition_true_acc"]["worst_seed"]["seed"] == 1, "seed 2 lacks a row, so it is not compared"
    nothing = found["multiplication_true_acc"]
    assert [nothing[key] for key in ("cells", "seeds", "worst_seed", "spread")] == [0, 0, None, None]


def test_a_table_is_given_without_named_cells_too(tmp_path):
    table_run(tmp_path, "multiplication", "D2", wrong={"D1": 500, "D3": 90})
    table = table_of(tmp_path, "multiplication_modular_acc")
    assert sum(table.deviations()) == pytest.approx(59)
    assert sum(table.deviations([("D2", "D1")])) == pytest.approx(9)
    assert sum(table.deviations([("D2", "D1"), ("D2", "D3")])) == pytest.approx(0)
    found = summary(Collection(tmp_path))["tables"]["multiplication_modular_acc"]
    assert (found["cells"], found["mean_abs_deviation"]) == (9, pytest.approx(59 / 9, abs=1e-4))
    without = found["without"]
    assert (without["named"], without["cells"], without["mean_abs_deviation"]) == (["D2 on D1"], 8, 9 / 8)
    assert without["paper_mean_abs_deviation"] < found["paper_mean_abs_deviation"], "80 in the paper"


def test_what_is_not_reported_is_not_in_a_table(tmp_path):
    table_run(tmp_path, "addition", "D5", seed=0)
    table_run(tmp_path, "addition", "D6", status="running")
    assert table_of(tmp_path, "addition_true_acc").cells.is_empty()


def test_rows_without_theory_or_paper_are_shown_apart(tmp_path):
    for row in ("B4", "D7", "D4"):
        table_run(tmp_path, "addition", row)
    table = table_of(tmp_path, "addition_true_acc")
    assert labels(table.cells.filter("counted")) == ["D4"]
    assert labels(table.cells) == ["D4", *table.apart] == ["D4", "B4", "D7"]
    both_long = cell_of(tmp_path, table.name, "B4", "D3")
    assert both_long["paper"] == 72.6
    assert both_long["exact"] is None and both_long["deviation"] is None
    assert table.cells.filter(row="D7")["paper"].null_count() == 9
    assert len(table.deviations()) == 9
    counted = {(line[1], line[5]) for line in table.data().rows}
    assert counted == {("D4", "true"), ("B4", "false"), ("D7", "false")}


def test_all_rows_give_all_450_cells(tmp_path):
    for recipe in paper_recipes():
        for row in recipe.rows(Setting()):
            table_run(tmp_path, recipe.name, row.removeprefix(f"{recipe.name}-"))
        note(tmp_path, recipe.name, "full")
    collection = Collection(tmp_path)
    tables, found = paper_tables(collection), summary(collection)
    assert found["cells"] == 450
    # Counts of 1,000 round exact accuracies to 0.1 points, at most 0.05 away.
    assert found["mean_abs_deviation"] <= 0.05
    assert {table.missing for table in tables} == {()}
    assert list(found) == ["cells", "mean_abs_deviation", "paper_mean_abs_deviation", "tables"]
    assert list(found["tables"]["addition_true_acc"]) == [
        *("cells", "mean_abs_deviation", "paper_mean_abs_deviation", "spread", "worst_seed"),
        *("seeds", "seeds_differ", "wall_seconds"),
    ]
    assert found["tables"]["addition_true_acc"]["wall_seconds"] == 12.5
    assert json.loads(json.dumps(found)) == found


def test_at_laptop_scale_no_row_is_the_papers(tmp_path):
    table_run(tmp_path, "addition", "D4")
    note(tmp_path, "addition", "laptop")
    table = table_of(tmp_path, "addition_true_acc")
    assert (labels(table.cells.filter("counted")), table.missing) == ([], ())
    assert cell_of(tmp_path, table.name, "D4", "D1")["paper"] is None


@pytest.mark.parametrize(
    ("name", "cells", "deviation"),
    [
        ("addition_true_acc", 54, 0.0),
        ("addition_modular_acc", 54, 0.0),
        ("modular_addition_true_acc", 72, 0.77),
        ("modular_addition_modular_acc", 72, 1.65),
        ("multiplication_true_acc", 36, 1.28),
        ("multiplication_modular_acc", 36, 10.14),
        ("modular_multiplication_true_acc", 63, 8.68),
        ("modular_multiplication_modular_acc", 63, 18.38),
    ],
)
def test_the_papers_own_deviation_from_exact_theory(name, cells, deviation):
    """Held against our exact theory, not against the column of approximations that the paper prints."""
    found = paper_deviations(*TABLES[name])
    assert len(found) == cells
    assert sum(found) / cells == pytest.approx(deviation, abs=0.005)


def test_the_papers_deviation_over_all_450_cells():
    found = [deviation for name in TABLES for deviation in paper_deviations(*TABLES[name])]
    assert len(found) == 450
    assert sum(found) / 450 == pytest.approx(5.09, abs=0.005)


def test_the_papers_tables_are_whole():
    assert set(printed_tables()) == set(TABLES)
    assert {len(row) for table in printed_tables().values() for row in table.values()} == {9, 10}
