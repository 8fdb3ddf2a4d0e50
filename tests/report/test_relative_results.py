"""Tables, verdicts and claims on relative positions, from runs of models that compute a known function."""

import csv
from pathlib import Path

import pytest
from relative_runs import TASKS, fake_run, relative_runs

from lengthwise.arithmetic import Task
from lengthwise.recipes import RECIPES, Tally, generalizes, mark
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.report.figures import FIGURES, draw
from lengthwise.report.queries import Collection, Seeds
from lengthwise.report.recipe_tables import candidates, leaderboard, mark_tally, tasks
from lengthwise.report.results import claim_table, results_page, tables_of, theorem_table, write_tables
from lengthwise.theory.hypotheses import TRUTH, Hypothesis

ROOT = Path(__file__).parent.parent.parent


def collected(folder, *runs, seeds=(1,)):
    """Runs (recipe, row, what it computes), each with every seed."""
    for recipe, row, computes in runs:
        for seed in seeds:
            fake_run(folder / "runs", recipe, row, computes, seed=seed)
    return Collection(folder)


def table(collection, name):
    recipe = "table1" if name == "leaderboard" else name
    return tables_of(RECIPES[recipe], collection)[name]


def judged(make, collection):
    """The counts of rows and runs, and the runs of each verdict, by theorem or claim."""
    return {row[0]: tuple(map(int, row[2:-1])) for row in make(collection).rows}


def line(table, *start):
    (found,) = [row for row in table.rows if row[: len(start)] == start]
    return dict(zip(table.columns, found, strict=True))


def one_wrong_in(count):
    """Right but for every so-manyth sum of more than two digits."""
    return lambda a, b: a + b + (max(a, b) >= 36 and (a + b) % count == 0)


def _products(garbage):
    return lambda a, b: a * b if max(a, b) < 16 else garbage(a, b)


class TestLeaderboard:
    def test_marks_are_compared_with_what_models_do(self, tmp_path):
        """Learned positions do what theory says; rotary ones add right, and residues of 35 too."""
        collection = collected(
            tmp_path,
            *(("table1", f"table1-learned-{task}", None) for task in TASKS),
            *(("table1", f"table1-rotary-{task}", TRUTH) for task in TASKS),
            seeds=(1, 2),
        )
        board = leaderboard(collection.views)
        assert tasks(board) == ["add", "mul", "add%35", "add%36"]
        assert [*board] == ["rotary", "learned"], "the best first"
        rotary, learned = board.values()
        both, neither = Tally((HOLDS, HOLDS)), Tally((FAILS, FAILS))
        assert {task: mark_tally(cell) for task, cell in learned.items()} == dict.fromkeys(tasks(board), both)
        assert {task: mark(cell.first) for task, cell in learned.items()} == {
            "add": False,
            "mul": False,
            "add%35": False,
            "add%36": True,
        }
        assert {task: mark_tally(cell) for task, cell in rotary.items()} == {
            "add": both,
            "mul": neither,
            "add%35": neither,
            "add%36": both,
        }
        assert neither.refuted and not both.refuted
        assert rotary["mul"].learned == rotary["mul"].beyond() == (100.0, 100.0, 100.0)

    def test_every_seed_is_judged_by_itself(self, tmp_path):
        for seed, computes in ((1, TRUTH), (2, Hypothesis.parse("truncated:2")), (3, lambda a, b: 0)):
            fake_run(tmp_path / "runs", "table1", "table1-learned-add", computes, seed=seed)
        cell = leaderboard(Collection(tmp_path).views)["learned"]["add"]
        verdict = mark_tally(cell)
        assert verdict.words == (FAILS, HOLDS, UNDECIDED), "what has not learned decides nothing"
        assert str(verdict) == "holds in 1 of 3 seeds, 1 undecided"
        assert [generalizes(view) for view in cell.views] == [HOLDS, FAILS, UNDECIDED]
        assert not verdict.refuted, "one seed agrees"
        assert cell.beyond() == (pytest.approx(100 / 3), 0.0, 100.0)

    def test_that_a_model_does_not_generalize_is_decided_by_what_it_computes_instead(self, tmp_path):
        """Wrong beyond two digits, as theory says, but not in the way it says."""

        def garbage(a, b):
            return a + b if max(a, b) < 36 else 1

        for row in ("table1-learned-add", "table1-rotary-mul"):
            fake_run(tmp_path / "runs", "table1", row, garbage if row.endswith("add") else _products(garbage))
        lines = leaderboard(Collection(tmp_path).views)
        cells = {encoding: cell for encoding, line in lines.items() for cell in line.values()}
        assert [generalizes(cell.first) for cell in cells.values()] == [FAILS, FAILS]
        assert mark_tally(cells["learned"]).words == (FAILS,), "theory says truncated:2"
        assert mark_tally(cells["rotary"]).words == (HOLDS,), "theory does not say what it computes"

    def test_written_in_three_ways(self, tmp_path):
        collection = collected(
            tmp_path, ("table1", "table1-learned-add", None), ("table1", "table1-rotary-mul", TRUTH)
        )
        names = {path.name for path in write_tables(collection, RECIPES["table1"], tmp_path / "tables")}
        assert names == {f"{name}.{end}" for name in ("table1", "leaderboard") for end in ("md", "tex", "csv")}
        with (tmp_path / "tables" / "leaderboard.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * 4, "a line for each length"
        (fourth,) = [row for row in rows if row["task"] == "add" and row["test"] == "D4"]
        assert (fourth["measured"], fourth["theory_goes_on"]) == ("0", "no")
        assert (fourth["goes_on"], fourth["verdict"]) == ("0 of 1 seed", "holds in 1 of 1 seed")
        shown = line(table(collection, "leaderboard"), "learned")
        assert (shown["layout"], shown["add"], shown["mul"]) == ("padded", "100 / 0", "–")
        shown = line(table(collection, "table1"), "relative: rotary", "mul")
        assert (shown["verdict"], shown["D2"], shown["D3"]) == ("holds in 0 of 1 seed", "100†", "100")


class TestSums:
    @pytest.mark.parametrize(
        ("computes", "where", "theorem"),
        [
            (None, "where theory says, and only there", "holds in 1 of 1 seed"),
            (TRUTH, "nowhere: longer chains are right too", "holds in 0 of 1 seed"),
            (one_wrong_in(5), "elsewhere too", "holds in 0 of 1 seed"),
            (lambda a, b: 0, "not learned yet", "holds in 0 of 1 seed, 1 undecided"),
        ],
    )
    def test_where_a_model_fails(self, tmp_path, computes, where, theorem):
        collection = collected(tmp_path, ("relative-addition", "relative-addition-rotary-D2", computes))
        shown = line(table(collection, "relative-addition"), "rotary", "D2")
        assert (shown["where it fails"], shown["Theorem 3"]) == (where, theorem)

    def test_seeds_that_differ_say_so(self, tmp_path):
        fake_run(tmp_path / "runs", "relative-addition", "relative-addition-rotary-D2", None, seed=1)
        fake_run(tmp_path / "runs", "relative-addition", "relative-addition-rotary-D2", TRUTH, seed=2)
        shown = line(table(Collection(tmp_path), "relative-addition"), "rotary", "D2")
        assert shown["where it fails"].startswith("seeds differ: nowhere")
        assert shown["agreement with windowed:n+1"].endswith("–100)")

    def test_claims_and_theorem(self, tmp_path):
        collection = collected(tmp_path, ("relative-addition", "relative-addition-rotary-D3", None))
        claims = judged(claim_table, collection)
        assert claims["Theorem 3, seen chains"] == (1, 1, 1, 0, 0)
        assert claims["Theorem 3, longer chains"] == (1, 1, 1, 0, 0)
        assert claims["Theorem 3, bound"][:2] == (1, 1)
        theorems = judged(theorem_table, collection)
        assert theorems["Theorem 3"] == (1, 1, 1, 0, 0)

    def test_five_to_twenty(self, tmp_path):
        collection = collected(
            tmp_path,
            ("jelassi-5-20", "jelassi-rotary-D2", TRUTH),
            ("jelassi-5-20", "jelassi-coupled-D2", Hypothesis.parse("truncated:2")),
        )
        shown = table(collection, "jelassi-5-20")
        assert line(shown, "rotary")["generalizes"] == "1 of 1 seed"
        assert (line(shown, "coupled")["D6"], line(shown, "coupled")["generalizes"]) == ("0", "0 of 1 seed")
        claims = judged(claim_table, collection)
        assert claims["Jelassi and others"] == (2, 2, 1, 1, 0)


class TestResidues:
    @pytest.mark.parametrize("name", ["truncated:2", "leading:2", "folded:1", "windowed:1"])
    def test_the_search_finds_what_a_model_computes(self, tmp_path, name):
        """Modulo 35 all candidates differ, so that the right one is alone at the top; two digits are learned."""
        task, hypothesis = Task.parse("add%35", 6), Hypothesis.parse(name)
        collection = collected(
            tmp_path,
            (
                "modular-relative",
                "relative-modular-rotary-p35",
                lambda a, b: task(a, b) if max(a, b) < 36 else hypothesis(task, a, b),
            ),
            seeds=(1, 2),
        )
        found = candidates(Seeds(tuple(collection.views)))
        best, second = [*found][:2]
        assert (best, found[best]) == (name, (100.0, 100.0, 100.0))
        assert [generalizes(view, best) for view in collection.views] == [HOLDS, HOLDS]
        assert [generalizes(view, second) for view in collection.views] == [FAILS, FAILS]

    def test_truth_comes_before_its_equals(self, tmp_path):
        collection = collected(tmp_path, ("modular-relative", "relative-modular-rotary-p36", TRUTH))
        found = candidates(Seeds(tuple(collection.views)))
        assert next(iter(found)) == "truth"
        fit = {name for name in found if generalizes(*collection.views, name) == HOLDS}
        assert fit >= {"truth", "truncated:2", "truncated:3"}, "36 is 6 squared"

    def test_theorem_4_speaks_of_relative_positions_too(self, tmp_path):
        rows = (f"relative-modular-rotary-p{p}" for p in (35, 36))
        collection = collected(tmp_path, *(("modular-relative", row, TRUTH) for row in rows))
        theorems = judged(theorem_table, collection)
        assert theorems["Theorem 4, relative"] == (1, 1, 1, 0, 0), "35 divides no power of 6"
        assert theorems["Theorem 4"] == theorems["Theorem 5"] == (0, 0, 0, 0, 0)

    def test_theorem_7_1_speaks_of_relative_positions_too(self, tmp_path):
        collection = collected(
            tmp_path,
            ("modular-relative", "relative-modular-rotary-mul-p16", None),
            ("modular-relative", "relative-modular-rotary-p36", None),
        )
        theorems = judged(theorem_table, collection)
        assert theorems["Theorem 7 (1), relative"] == theorems["Theorem 4, relative"] == (1, 1, 1, 0, 0)
        shown = line(table(collection, "modular-relative"), "rotary", "16, products")
        assert (shown["best candidate"], shown["fits"]) == ("truth", "1 of 1 seed")
        figure = draw(FIGURES["modular-relative"], collection.views)
        assert {ax.get_title() for ax in figure.axes} >= {"modulo 36", "modulo 16, products"}

    def test_none_fits(self, tmp_path):
        collection = collected(
            tmp_path, ("modular-relative", "relative-modular-rotary-p35", lambda a, b: (3 * a + b) % 35)
        )
        shown = line(table(collection, "modular-relative"), "rotary")
        assert shown["fits"] == "0 of 1 seed, 1 undecided", "it has not learned residues"

    def test_none_of_those_that_were_learned(self, tmp_path):
        """Residues are right up to two digits, and off by one beyond them."""
        computed = lambda a, b: (a + b + (max(a, b) >= 36)) % 35  # noqa: E731
        collection = collected(tmp_path, ("modular-relative", "relative-modular-rotary-p35", computed))
        assert line(table(collection, "modular-relative"), "rotary")["fits"] == "0 of 1 seed"


class TestProducts:
    def test_which_step_is_hard(self, tmp_path):
        steps = {"sums": 0.2, "carries": 1.0, "answer": 1.0}
        for way, told in (("direct", None), ("scratchpad", steps)):
            row = f"relative-multiplication-rotary-{way}-D1..2"
            fake_run(tmp_path / "runs", "multiplication-relative", row, TRUTH, steps=told)
        collection = Collection(tmp_path)
        shown = line(table(collection, "multiplication-relative"), "rotary", "sums and carries")
        assert [shown[f"{kind} on D3"] for kind in steps] == ["20", "100", "100"]
        assert line(table(collection, "multiplication-relative"), "rotary", "at once")["sums on D3"] == "–"
        claims = judged(claim_table, collection)
        assert claims["multiplication, steps"] == (1, 1, 1, 0, 0)
        assert claims["multiplication, raw sums"] == (1, 1, 1, 0, 0)
        assert claims["multiplication, scratchpad"] == (1, 1, 1, 0, 0), "its answers are all right"


def test_the_page_has_a_part_for_every_recipe(tmp_path):
    relative_runs(tmp_path / "runs")
    page = results_page(tmp_path, tmp_path / "results.md")
    part = page.partition("\n## Relative positions\n")[2].partition("\n## ")[0]
    for title in ("Table 1", "Sums longer than trained", "From five", "Residues", "Longer products"):
        assert f"\n### {title}" in part


def test_without_runs_there_is_no_part(tmp_path):
    assert "## Relative positions" not in results_page(tmp_path, tmp_path / "results.md")


def test_a_frame_says_what_of_theory_does_not_hold(tmp_path):
    """Rotary positions add wrong where they should generalize; residues of 36 were not learned; those of 35 are
    right where theory says they are not. Learned positions do as theory says."""
    computes = {"add": one_wrong_in(3), "add-mod-36": lambda a, b: 7, "add-mod-35": TRUTH}
    collection = collected(
        tmp_path,
        *(("table1", f"table1-learned-{task}", None) for task in computes),
        *(("table1", f"table1-rotary-{task}", own) for task, own in computes.items()),
    )
    figure = draw(FIGURES["leaderboard"], collection.views)
    left, axes = figure.axes[:2]
    tasks, encodings = (
        [tick.get_text() for tick in own] for own in (axes.get_xticklabels(), left.get_yticklabels())
    )
    places = {
        (round(f.get_x() + f.get_width() / 2), round(f.get_y() + f.get_height() / 2)): f for f in axes.patches
    }
    frames = {(encodings[row], tasks[column]): f.get_label() for (column, row), f in places.items()}
    assert frames == {
        ("rotary", "add"): "contradicted: theory says it generalizes",
        ("rotary", "add%36"): "undecided in every seed",
        ("rotary", "add%35"): "contradicted: wrong in another way than predicted",
    }
    (legend,) = figure.legends
    assert {*frames.values()} == {text.get_text() for text in legend.get_texts()}


def test_of_encodings_that_theory_does_not_speak_of_the_leaderboard_has_numbers_in_brackets():
    rows = ("table1-none-add", "table1-learned-add")
    figure = draw(
        FIGURES["leaderboard"], [view for view in Collection(ROOT / "results").views if view.row in rows]
    )
    within, beyond = ([text.get_text() for text in axes.texts] for axes in figure.axes[:2])
    assert not any("(" in text for text in within)
    assert sorted(text.startswith("(") for text in beyond) == [False, True]


def test_sums_by_length_have_a_line_for_each_seed_under_what_theory_says(tmp_path):
    views = [
        fake_run(tmp_path, "relative-addition", "relative-addition-rotary-D2", computes, seed=seed)
        for seed, computes in enumerate((TRUTH, one_wrong_in(1)), start=1)
    ]
    (axes,) = draw(FIGURES["relative-addition"], views).axes
    right, wrong, theory = (list(drawn.get_ydata()) for drawn in axes.lines)
    assert right == [100] * len(right) and wrong == [100] * 2 + [0] * (len(wrong) - 2)
    assert len(theory) == len(right) - 2 and 90 < min(theory) < 100
    assert theory == sorted(theory, reverse=True), "the longer a sum, the likelier a long carry"


def test_chains_are_drawn_as_measured(tmp_path):
    view = fake_run(tmp_path, "relative-addition", "relative-addition-rotary-D2", None)
    figure = draw(FIGURES["relative-addition-chains"], [view])
    (axes,) = figure.axes
    measured, rule, paper = (list(drawn.get_ydata()) for drawn in axes.lines)
    assert measured == [100, 100, 100, 0, 0, 0], "chains of 3 columns and more are lost after training on D2"
    assert rule == measured
    assert paper == [100, 100, 0, 0, 0, 0]
