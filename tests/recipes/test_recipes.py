"""Recipes: the paper's rows, packed as intended; run end to end at a tiny size; never redone."""

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from training import train

import lengthwise
from lengthwise.cli import main
from lengthwise.errors import InputError
from lengthwise.model.config import SIZES
from lengthwise.recipes import RECIPES, Recipe, Setting, catalogue, find_recipes, row_names
from lengthwise.report.queries import Collection
from lengthwise.report.recipe_tables import COLUMNS
from lengthwise.runs.build import stack_key
from lengthwise.runs.engines import covered

FULL, PAPER, LAPTOP = Setting(), Setting(preset="paper"), Setting(scale="laptop")

# Runs, and the stacks they pack into at full scale.
PACKED = {
    "addition": (8, 1),
    "modular-addition": (8, 1),
    "multiplication": (5, 2),
    "modular-multiplication": (7, 1),
    "questions": (20, 20),
    "fixed-samples": (4, 3),
    "as-printed": (4, 4),
    "accuracy-by-domain": (3, 1),
    "digit-accuracy": (23, 4),
    "digit-dynamics": (3, 1),
    "scales": (42, 6),
    "counterexample": (3, 1),
    "packing": (2, 2),
    "dependence": (8, 3),
    "regularization": (36, 4),
    # Products and residues modulo 101 have budgets of their own, and abacus' sums differ in length.
    "table1": (68, 52),
    "relative-addition": (16, 10),
    "jelassi-5-20": (16, 8),
    "modular-relative": (16, 16),
    "multiplication-relative": (28, 14),
    "coupled-1000": (1, 1),
    "coupled-200": (1, 1),
    "abacus-100": (2, 2),
    "long-encodings": (7, 7),
    "multiplication-upward": (1, 1),
    "prior-ladder": (14, 14),
    "prior-lengths": (1, 1),
    "coupling-published": (1, 1),
    "coupling-differences": (8, 8),
    "carry-reading": (16, 16),
    "base-or-modulus": (12, 4),
    "unseen-digits": (36, 4),
}


@pytest.mark.parametrize("setting", [FULL, PAPER, LAPTOP], ids=["full", "paper", "laptop"])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_recipe_has_rows_of_distinct_names(recipe, setting):
    runs = recipe.runs(setting, seeds=2)
    assert len(runs) == 2 * len(recipe.rows(setting))
    first = recipe.seeds[0]
    assert {config.seed for config in runs.values()} == {first, first + 1}
    assert all(name.endswith(f"-s{config.seed}") and "/" not in name for name, config in runs.items())


def test_the_catalogue_speaks_of_every_recipe_and_of_nothing_else():
    assert list(catalogue()["recipes"]) == list(RECIPES)
    sections = catalogue()["sections"]
    for recipe in RECIPES.values():
        assert recipe.section is None or recipe.section in sections
        assert (recipe.section is None) == (not recipe.tables), "tables are shown in a section"
        assert all(claim["says"] and claim["decided_by"] for claim in claims_of(recipe))
    for entry in catalogue()["figures"]:
        assert {*entry["of"], *([entry["recipe"]] if "recipe" in entry else [])} <= RECIPES.keys()
    owned = [figure.name for recipe in RECIPES.values() for figure in recipe.figures]
    assert len(owned) == len(set(owned)) == sum(len(entry["of"]) for entry in catalogue()["figures"])


def claims_of(recipe):
    return [*recipe.theorems.values(), *recipe.claims.values()]


def test_what_the_catalogue_names_is_there():
    tables = {kind for recipe in RECIPES.values() for kind in recipe.tables.values()}
    listed = catalogue()["tables"]
    assert {column for table in listed.values() for column in table["columns"]} == COLUMNS.keys()
    assert listed.keys() <= tables
    makers = {f"report.{kind}" for kind in tables - listed.keys()}
    drawers = {f"report.figures.{figure.drawn_by}" for recipe in RECIPES.values() for figure in recipe.figures}
    claims = [claim for recipe in RECIPES.values() for claim in claims_of(recipe)]
    deciders = {f"recipes.{claim[key]}" for claim in claims for key in ("decided_by", "rows") if key in claim}
    for name in makers | drawers | deciders:
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(f"lengthwise.{module}"), function)), name


def test_every_run_in_the_repository_is_of_a_recipe_s_row():
    """A run is shown by its row: one of no row would go missing without a word."""
    rows = {name for recipe in RECIPES.values() for name in row_names(recipe.rows)}
    collection = Collection(Path(__file__).parent.parent.parent / "results")
    assert len(collection.rows) > 200
    assert {*collection.rows} <= rows
    for name, note in collection.notes.items():
        listed = {run.rpartition("-s")[0] for run in note["runs"]}
        assert listed <= row_names(RECIPES[name].rows), name


@pytest.mark.parametrize("recipe", PACKED)
def test_rows_pack_into_stacks(recipe):
    runs = RECIPES[recipe].runs(FULL, seeds=1)
    assert (len(runs), len({stack_key(config) for config in runs.values()})) == PACKED[recipe]


def test_rows_of_equal_name_are_equal_in_every_recipe():
    """A run is shared, so two recipes may not mean different things by its name."""
    for setting in (FULL, PAPER, LAPTOP):
        configs: dict[str, object] = {}
        for recipe in RECIPES.values():
            for name, config in recipe.rows(setting).items():
                assert configs.setdefault(name, config) == config, name


def test_training_domains_and_sizes_are_the_papers():
    rows = {name: row for recipe in RECIPES.values() for name, row in recipe.rows(PAPER).items()}
    assert rows["modular-addition-p150"].train == "D1..4"
    assert {rows[f"modular-addition-p{p}"].train for p in (50, 51, 100, 101, 151, 200, 201)} == {"D4"}
    assert rows["addition-D6+D7"].data.samples == 120_000
    assert rows["addition-D5+D6"].data.samples == 100_000
    for name, size in (("multiplication-D2", "micro"), ("multiplication-D3", "mini"), ("addition-D4", "mini")):
        for setting in (PAPER, FULL):
            model = RECIPES[name.split("-")[0]].rows(setting)[name].model
            assert (model.layers, model.heads, model.width) == tuple(SIZES[size].values())


def test_seed_0_is_for_tuning_alone():
    assert {*RECIPES["digit-dynamics"].runs(FULL, seeds=0)} == {
        "dynamics-D4-s0",
        "dynamics-D5-s0",
        "dynamics-D4+D5-s0",
    }


def test_only_chooses_rows():
    assert [*RECIPES["addition"].runs(FULL, seeds=1, only=["addition-D5"])] == ["addition-D5-s101"]
    with pytest.raises(InputError, match=r"no row 'D5' \(choose from addition-D4, .*addition-D6\+D7"):
        RECIPES["addition"].runs(FULL, seeds=1, only=["D5"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["addiction"], "unknown recipe 'addiction' (choose from all, addition, modular-addition"),
        ([], "missing recipe"),
        (["addition", "--scale", "tiny"], "unknown scale 'tiny' (choose from full, laptop"),
        (["addition", "--preset", "slow"], "unknown preset 'slow' (choose from fast, paper"),
        (["addition", "--scale", "laptop", "--preset", "paper"], "scale 'laptop' requires preset fast"),
        (["addition", "--seeds", "-1"], "seeds is -1 (must be 0 or more)"),
    ],
)
def test_mistakes_are_one_line(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *arguments])
    shown = capsys.readouterr().err
    assert stop.value.code == 2
    assert complaint in shown
    assert shown.count("\n") == 1


def test_list_names_every_recipe(capsys):
    main(["reproduce", "--list"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RECIPES)
    main(["reproduce", "--list", "--json"])
    assert json.loads(capsys.readouterr().out) == {name: recipe.purpose for name, recipe in RECIPES.items()}
    assert find_recipes("all") == list(RECIPES.values())


def tiny(name: str) -> Recipe:
    """A laptop recipe with hardly a step of training and of measuring."""
    recipe = RECIPES[name]
    changes = {
        "model": {"layers": 1, "heads": 2, "width": 16},
        "training": {"steps": 4, "batch": 8, "warmup": 1, "evaluate_every": 2},
        "evaluation": {"problems": 20, "interim_problems": 20, "dependence": False, "dynamics": False},
    }
    return replace(
        recipe,
        rows=lambda setting: {
            name: row.changed(**changes if setting.laptop else {}) for name, row in recipe.rows(setting).items()
        },
    )


@pytest.mark.parametrize("name", ["modular-addition", "packing", "counterexample"])
def test_a_recipe_is_run_once_and_added_to(name, tmp_path):
    recipe = tiny(name)
    folders = train(recipe, tmp_path, LAPTOP)
    assert {folder.status() for folder in folders} == {"done"}
    note = json.loads((tmp_path / f"{name}.json").read_text())
    assert note["runs"] == [f"{row}-s{recipe.seeds[0]}" for row in recipe.rows(LAPTOP)]
    assert note["wall_seconds"] > 0
    assert (note["scale"], note["preset"], note["seeds"]) == ("laptop", "fast", 1)
    train(recipe, tmp_path, LAPTOP)
    assert json.loads((tmp_path / f"{name}.json").read_text()) == note, "nothing was left to train"


def test_a_second_seed_adds_to_the_note(tmp_path):
    recipe = tiny("modular-addition")
    train(recipe, tmp_path, LAPTOP)
    first = json.loads((tmp_path / "modular-addition.json").read_text())
    train(recipe, tmp_path, LAPTOP, seeds=2)
    both = json.loads((tmp_path / "modular-addition.json").read_text())
    assert both["wall_seconds"] > first["wall_seconds"]
    assert (len(both["runs"]), both["seeds"]) == (4, 2)
    assert len(set(both["runs"])) == 4


def test_the_command_trains_and_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(RECIPES, "modular-addition", tiny("modular-addition"))
    main(["reproduce", "modular-addition", "--scale", "laptop", "--out", str(tmp_path), "--json"])
    (shown,) = json.loads(capsys.readouterr().out)
    assert [len(row["rows"]) for row in shown["rows"]] == [3, 3]
    assert (tmp_path / "tables" / "modular_addition_true_acc.md").exists()
    assert (tmp_path / "summary.json").exists()
    runs = lengthwise.reproduce("modular-addition", scale="laptop", out=tmp_path, quiet=True)
    assert [str(run.path) for run in runs] == [row["run"] for row in shown["rows"]]
    assert [run.status for run in runs] == ["done", "done"]


def test_without_libraries_to_draw_it_still_trains(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(RECIPES, "packing", tiny("packing"))
    monkeypatch.setitem(sys.modules, "lengthwise.report.results", None)
    main(["reproduce", "packing", "--scale", "laptop", "--out", str(tmp_path)])
    assert "run the same command where it is installed" in capsys.readouterr().out
    assert (tmp_path / "packing.json").exists()


def test_rows_trained_side_by_side_are_not_counted_twice():
    assert covered([[0.0, 10.0], [5.0, 12.0], [6.0, 7.0]]) == 12.0
    assert covered([[20.0, 21.0], [0.0, 10.0]]) == 11.0
    assert covered([]) == 0.0


def test_the_first_seed_is_higher_where_lower_ones_were_looked_at():
    names = [*RECIPES["coupled-1000"].runs(Setting(), 3)]
    assert names == ["coupled-1000-s61", "coupled-1000-s62", "coupled-1000-s63"]
    assert [*RECIPES["coupled-1000"].runs(Setting(), 0)] == ["coupled-1000-s0"]
