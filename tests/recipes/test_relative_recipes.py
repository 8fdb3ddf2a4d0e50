"""Recipes on relative positions: rows as meant, and one row of each at full scale takes two steps of training."""

from dataclasses import replace

import pytest
from training import train

from lengthwise.model.positions import ENCODINGS as REGISTERED
from lengthwise.recipes import RECIPES, Setting, row_names
from lengthwise.recipes.paper import table_rows
from lengthwise.recipes.relative import ENCODINGS
from lengthwise.records.view import RunView
from lengthwise.runs.build import stack_key
from lengthwise.theory.hypotheses import Hypothesis

OURS = ("table1", "relative-addition", "jelassi-5-20", "modular-relative", "multiplication-relative")
# One whose layout differs from the others', where there is one.
ROWS = {
    "table1": ["table1-rotary-padded-add-mod-101"],
    "relative-addition": ["relative-addition-coupled-D3"],
    "jelassi-5-20": ["jelassi-t5-D1..5"],
    "modular-relative": ["relative-modular-abacus-p101"],
    "multiplication-relative": ["relative-multiplication-rotary-scratchpad-D2"],
}


def rows(name, setting=None):
    return RECIPES[name].rows(setting or Setting())


def test_table_1_has_every_encoding_on_every_task():
    inner = {name.removeprefix("randomized:") for name in ENCODINGS}
    assert inner == set(REGISTERED), "none that is registered is left out"
    found = {(c.encoding, c.spec.layout, c.task) for c in rows("table1").values()}
    assert len(found) == len(rows("table1")) == 17 * 4
    assert {c.test for c in rows("table1").values()} == {"D1..8"}, "one protocol"


def test_tasks_of_an_encoding_and_a_budget_train_together():
    by_encoding = {}
    for config in rows("table1").values():
        key = config.encoding, config.spec.layout
        by_encoding.setdefault(key, set()).add(stack_key(config))
    counts = {layout: {len(keys) for (_, own), keys in by_encoding.items() if own == layout} for layout in LAYOUTS}
    assert counts == {"padded": {3}, "aligned": {3}, "reversed": {4}}


LAYOUTS = ("padded", "aligned", "reversed")


def test_both_windows_of_every_row_are_measured():
    for setting in (Setting(), Setting(scale="laptop")):
        for config in rows("relative-addition", setting).values():
            n = config.spec.train.length
            assert {f"windowed:{n}", f"windowed:{n + 1}"} <= set(config.evaluation.hypotheses)
            assert config.evaluation.chains


def test_candidates_cover_every_kind_up_to_beyond_training():
    for setting in (Setting(), Setting(scale="laptop")):
        for config in rows("modular-relative", setting).values():
            named = [Hypothesis.parse(name) for name in config.evaluation.hypotheses]
            sums = {"windowed"} if config.task.startswith("add") else set()
            assert {h.kind for h in named} == {"truncated", "leading", "folded"} | sums
            assert max(h.size for h in named) > config.spec.train.length


@pytest.mark.parametrize("name", OURS)
def test_no_row_is_taken_for_one_of_the_papers_tables(name):
    assert not row_names(table_rows) & {*rows(name)}
    assert len(RECIPES[name].seeds) == 3


@pytest.mark.parametrize("name", OURS)
def test_a_row_of_each_trains(name, tmp_path):
    changes = {
        "model": {"layers": 1, "width": 16, "heads": 2},
        "training": {"steps": 2, "batch": 8, "warmup": 1, "evaluate_every": 2},
        "evaluation": {"problems": 20, "interim_problems": 20},
    }
    small = {row: config.changed(**changes) for row, config in rows(name).items()}
    recipe = replace(RECIPES[name], rows=lambda setting: small)
    (folder,) = train(recipe, tmp_path, only=ROWS[name])
    view = RunView(folder)
    assert folder.status() == "done"
    assert len(view.verdicts()) == len(view.tests)
    measured = {record.reference for record in view.at(2)}
    assert set(view.config["evaluation"]["hypotheses"]) <= measured
    assert recipe_bytes(name, view) < 4_500_000, "hundreds of runs are kept in the repository"


def recipe_bytes(name, view):
    """What all runs of a recipe write, if each of their evaluations is as large as those of this one."""
    before, last = (sum(len(record.model_dump_json()) for record in view.at(step)) for step in (0, 2))
    recipe, training = RECIPES[name], rows(name)[ROWS[name][0]].training
    evaluations = -(-training.steps // training.evaluate_every)
    return len(recipe.runs(Setting(), len(recipe.seeds))) * (evaluations * before + last)
