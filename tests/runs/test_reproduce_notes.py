"""The note of a recipe keeps what earlier calls, and calls at the same time, wrote into it."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from rich.console import Console

from lengthwise.errors import InputError
from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.files import read_json, write_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs import engines, launch
from lengthwise.runs.engines import covered, train_recipe

RECIPE = RECIPES["modular-addition"]
ROWS = [*RECIPE.rows(Setting())]
FACTS = {"commit": "abc123", "device": "none"}
FILE = "modular-addition.json"


@pytest.fixture(autouse=True)
def trained_at_once(monkeypatch):
    def train(jobs, **_):
        for job in jobs:
            if job.folder.status() != "done":
                time.sleep(0.2)
                RunFolder.claim(job.folder.path, job.config.model_dump(mode="json"), FACTS).set_status("done")
        return [job.folder for job in jobs]

    monkeypatch.setattr(launch, "train_jobs", train)


def noted(row, out):
    asked = {"scale": "full", "preset": "fast", "seeds": 1}
    train_recipe(RECIPE.name, RECIPE.runs(Setting(), 1, [row]), out, asked=asked, console=Console(quiet=True))
    return read_json(out / FILE)


def test_seconds_of_a_note_without_spans_are_kept(tmp_path):
    note = noted(ROWS[0], tmp_path)
    del note["spans"]
    write_json(tmp_path / FILE, {**note, "wall_seconds": 394.0, "remark": "by hand"})
    again = noted(ROWS[0], tmp_path)
    assert (again["wall_seconds"], again["spans"], again["remark"]) == (394.0, [], "by hand")
    more = noted(ROWS[1], tmp_path)
    assert len(more["spans"]) == 1
    assert more["wall_seconds"] == round(394.0 + covered(more["spans"]), 1) > 394.0
    assert noted(ROWS[1], tmp_path) == more


def test_calls_that_end_together_lose_nothing(tmp_path, monkeypatch):
    start = Barrier(len(ROWS))

    def slowly(path, content):
        time.sleep(0.02)
        write_json(path, content)

    def call(row):
        start.wait()
        return noted(row, tmp_path)

    monkeypatch.setattr(engines, "write_json", slowly)
    with ThreadPoolExecutor(len(ROWS)) as pool:
        list(pool.map(call, ROWS))
    note = read_json(tmp_path / FILE)
    assert sorted(note["runs"]) == sorted(f"{row}-s101" for row in ROWS)
    assert len(note["spans"]) == len(ROWS)
    assert note["wall_seconds"] == covered(note["spans"])
    assert {path.name for path in tmp_path.iterdir()} == {"runs", FILE}, "no lock is left behind"


@pytest.mark.parametrize("odd", [[], "note", {"spans": 3}, {"runs": None}, {"wall_seconds": "long"}])
def test_what_is_no_note_is_refused_before_anything_is_trained(tmp_path, odd):
    write_json(tmp_path / FILE, odd)
    with pytest.raises(InputError, match="is not a recipe's note of its runs"):
        noted(ROWS[0], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert read_json(tmp_path / FILE) == odd
