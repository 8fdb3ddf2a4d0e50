"""The table of budgets tells of every run of a recipe, not of one."""

from synthetic_runs import synthetic_run

from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.files import write_json
from lengthwise.report.queries import Collection
from lengthwise.report.recipe_tables import budget_table


def test_runs_of_several_commits_tell_each_in_order_of_first_use(tmp_path):
    commits = {"addition-D5": "ffe3862ce7e9", "addition-D4": "bb1823a35000-dirty", "addition-D6": "ffe3862ce7e9"}
    for name, config in RECIPES["addition"].runs(Setting(), 1, list(commits)).items():
        view = synthetic_run(tmp_path / "runs", config, name=name, steps=(0,))
        commit = commits[view.row]
        write_json(view.source.path / "environment.json", {"commit": commit})
    first = RECIPES["addition"].seeds[0]
    names = [f"{name}-s{first}" for name in commits]
    note = {"recipe": "addition", "runs": names, "wall_seconds": 1.0, "device": "d"}
    write_json(tmp_path / "addition.json", {**note, "commit": "894c937b92ca"})
    table = budget_table(Collection(tmp_path))
    assert dict(zip(table.columns, *table.rows, strict=True))["commits"] == "ffe3862; bb1823a-dirty"


def test_how_problems_are_drawn_is_told_where_it_is_not_uniformly(tmp_path):
    runs = RECIPES["modular-addition"].runs(Setting(), 1, ["modular-addition-p50", "modular-addition-p51"])
    drawn = ({"sparse": 0.0}, {"sampling": "balanced"})
    for (name, config), data in zip(runs.items(), drawn, strict=True):
        synthetic_run(tmp_path / "runs", config.changed(data=data), name=name, steps=(0,))
    note = {"recipe": "modular-addition", "runs": [*runs], "wall_seconds": 1.0, "device": "d"}
    write_json(tmp_path / "modular-addition.json", {**note, "commit": "894c937b92ca"})
    table = budget_table(Collection(tmp_path))
    assert dict(zip(table.columns, *table.rows, strict=True))["samples"] == "fresh; fresh, balanced, sparse digits"
