"""A frame of records says what the records of each run say, whether the run is live or packed."""

from pathlib import Path

import polars as pl
import pytest
from packing import unpack
from polars.testing import assert_frame_equal

from lengthwise.records.folder import RunFolder, packed_runs
from lengthwise.records.frame import records_frame
from lengthwise.records.view import RunView
from lengthwise.report.queries import Collection

ROOT = Path(__file__).parent.parent.parent
FILES = ("counterexample.json", "coupled-200.json", "packing.json", "readme.json")


@pytest.fixture(scope="module")
def packed():
    return [RunView(run) for file in FILES for run in packed_runs(ROOT / "results" / file)]


def test_every_record_is_a_line_with_what_its_run_asked(packed):
    frame = records_frame(packed, {"packing-lines-s1": "packing"})
    lines = [(view, record) for view in packed for record in view.records]
    assert len(frame) == len(lines) > 2_000
    last = {view.name: max(record.step for record in view.records) for view in packed}
    for line, (view, record) in zip(frame.to_dicts(), lines, strict=True):
        stored = record.model_dump() | {"run": view.name}
        assert {key: line[key] for key in stored} == stored
        asked = {key: str(getattr(view.spec, key)) for key in ("train", "encoding", "layout", "question")}
        assert {key: line[key] for key in asked} == asked
        assert line["last"] == (record.step == last[view.name])
        assert line["share"] == (None if record.correct is None else record.correct / record.total)
        assert line["recipe"] == ("packing" if view.name == "packing-lines-s1" else None)


def test_rows_are_runs_without_their_seed(packed):
    rows = records_frame(packed).group_by("run").agg(pl.col("row", "seed").first())
    found = {run: (row, seed) for run, row, seed in rows.iter_rows()}
    assert found["packing-lines-s1"] == ("packing-lines", 1)
    assert found["coupled-200-s61"] == ("coupled-200", 61)
    assert found["addition-D4-seed1"] == ("addition-D4-seed1", 1)


def test_live_runs_give_the_same_frame(packed, tmp_path):
    unpack(ROOT / "results", tmp_path)
    live = [RunView.of(tmp_path / "runs" / view.name) for view in packed]
    assert_frame_equal(records_frame(live), records_frame(packed))
    assert_frame_equal(live[0].frame, packed[0].frame)


def test_a_collection_knows_the_recipe_that_stores_a_run():
    """The first that lists it, by name."""
    collection = Collection(ROOT / "results")
    recipes = {name: recipe for recipe, note in reversed(collection.notes.items()) for name in note["runs"]}
    frame = records_frame(collection.views, recipes)
    assert frame["recipe"].null_count() == 0
    found = dict(frame.select("run", "recipe").unique().iter_rows())
    assert found["addition-B4-s101"] == "addition" and found["dynamics-D4-s1"] == "accuracy-by-domain"


def test_no_runs_give_an_empty_frame_with_all_columns(packed):
    empty = records_frame([])
    assert empty.is_empty() and empty.schema == records_frame(packed).schema


def test_a_loss_between_evaluations_is_no_evaluation(packed, tmp_path):
    unpack(ROOT / "results", tmp_path)
    folder = RunFolder(tmp_path / "runs" / packed[0].name)
    before = RunView(folder)
    after_it = before.records[0].model_copy(
        update={"step": before.last_step + 7, "metric": "train_loss", "correct": None, "value": 0.5}
    )
    folder.append([after_it])
    view = RunView(folder)
    assert (view.last_step, view.verdicts(), view.last_whole()) == (
        before.last_step,
        before.verdicts(),
        before.last_whole(),
    )
    assert_frame_equal(view.frame.filter("last"), before.frame.filter("last"))
    assert view.history("train_loss", after_it.domain)[after_it.step].value == 0.5
