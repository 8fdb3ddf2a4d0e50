"""Tables from synthetic records equal numbers worked out by hand; the paper's own deviations come out as known."""

import json

import pytest
from synthetic_runs import record_maker

from lengthwise.records.files import write_json
from lengthwise.records.folder import RunFolder
from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.paper import TABLES, paper_deviations, paper_table, printed_tables, summary
from lengthwise.runs.recipes import RECIPES, Setting


def table_run(out, recipe, row, *, seed=1, wrong=None, status="done"):
    """A run that does what theory says but for `wrong`: by domain, how many of 1,000 it gets wrong."""
    (config,) = (named.config for named in RECIPES[recipe].rows(Setting()) if named.name == f"{recipe}-{row}")
    config = config.changed(seed=seed)
    folder = RunFolder.claim(out / "runs" / f"{recipe}-{row}-s{seed}", config.model_dump(mode="json"), {})
    view = RunView(folder)
    make = record_maker(view, 100)
    records = []
    for prediction in view.spec.predictions(config.measured_domains):
        lost = (wrong or {}).get(str(prediction.domain), 0) / 1000
        truth = 1 if prediction.accuracy is None else prediction.accuracy
        records.append(make(prediction.domain, share=abs(float(truth) - lost)))
        reference = f"truncated:{view.train.length}"
        records.append(make(prediction.domain, share=min(1, 1 - lost), reference=reference))
    folder.append(records)
    folder.set_status(status)
    return view


def table_of(out, name):
    return paper_table(Collection(out), name)


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
    assert len(table.deviations) == 9
    assert sum(table.deviations) == pytest.approx(2.0)


def test_seeds_give_a_mean_a_spread_and_the_mean_of_their_deviations(tmp_path):
    table_run(tmp_path, "addition", "D4", seed=1, wrong={"D5": 10})
    table_run(tmp_path, "addition", "D4", seed=2, wrong={"D5": 30})
    cell = cell_of(tmp_path, "addition_modular_acc", "D4", "D5")
    assert cell["seeds"] == [1, 2]
    assert (cell["lowest"], cell["highest"], cell["measured"]) == (97.0, 99.0, pytest.approx(98.0))
    assert cell["deviation"] == pytest.approx(2.0)
    lines = table_of(tmp_path, "addition_modular_acc").reading().rows
    assert [line[1] for line in lines] == ["measured", "spread", "exact", "paper"]
    assert (lines[0][6], lines[1][6], lines[0][5]) == ("98", "97–99", "100†")


def test_deviations_do_not_cancel_between_seeds(tmp_path):
    for seed, lost in ((1, -40), (2, 40)):
        table_run(tmp_path, "modular-addition", "p150", seed=seed, wrong={"B9": lost})
    cell = cell_of(tmp_path, "modular_addition_true_acc", "p150", "B9")
    assert cell["exact"] == pytest.approx(33.333, abs=0.01)
    assert (cell["highest"], cell["lowest"]) == pytest.approx((37.3, 29.3))
    assert cell["deviation"] == pytest.approx(4.0)


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
    assert len(table.deviations) == 9
    counted = {(line[1], line[5]) for line in table.data().rows}
    assert counted == {("D4", "true"), ("B4", "false"), ("D7", "false")}


def test_all_rows_give_all_450_cells(tmp_path):
    for recipe in {spec.recipe for spec in TABLES.values()}:
        for row in RECIPES[recipe].rows(Setting()):
            table_run(tmp_path, recipe, row.name.removeprefix(f"{recipe}-"))
        write_json(
            tmp_path / f"{recipe}.json", {"recipe": recipe, "scale": "full", "wall_seconds": 12.5, "runs": []}
        )
    collection = Collection(tmp_path)
    tables = [paper_table(collection, name) for name in TABLES]
    found = summary(collection, tables)
    assert found["cells"] == 450
    # Counts of 1,000 round exact accuracies to 0.1 points, at most 0.05 away.
    assert found["mean_abs_deviation"] <= 0.05
    assert {table.missing for table in tables} == {()}
    assert list(found) == ["cells", "mean_abs_deviation", "paper_mean_abs_deviation", "tables"]
    keys = ["cells", "mean_abs_deviation", "paper_mean_abs_deviation", "wall_seconds"]
    assert {tuple(table) for table in found["tables"].values()} == {tuple(keys)}
    assert found["tables"]["addition_true_acc"]["wall_seconds"] == 12.5
    assert json.loads(json.dumps(found)) == found


def test_at_laptop_scale_no_row_is_the_papers(tmp_path):
    table_run(tmp_path, "addition", "D4")
    write_json(
        tmp_path / "addition.json", {"recipe": "addition", "scale": "laptop", "wall_seconds": 1, "runs": []}
    )
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
    found = paper_deviations(name)
    assert len(found) == cells
    assert sum(found) / cells == pytest.approx(deviation, abs=0.005)


def test_the_papers_deviation_over_all_450_cells():
    found = [deviation for name in TABLES for deviation in paper_deviations(name)]
    assert len(found) == 450
    assert sum(found) / 450 == pytest.approx(5.09, abs=0.005)


def test_the_papers_tables_are_whole():
    assert set(printed_tables()) == set(TABLES)
    assert {len(row) for table in printed_tables().values() for row in table.values()} == {9, 10}
