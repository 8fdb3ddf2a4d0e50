"""Tables, verdicts and claims on relative positions, from runs of models that compute a known function."""

import csv

import pytest
from relative_runs import TASKS, fake_run, relative_runs

from lengthwise.arithmetic import Task
from lengthwise.records.verdicts import FAILS, HOLDS, UNDECIDED
from lengthwise.report.beyond import candidates
from lengthwise.report.claims import claim_table
from lengthwise.report.collection import Collection
from lengthwise.report.figures import FIGURES
from lengthwise.report.leaderboard import board_table, leaderboard, table_1_by_length
from lengthwise.report.relative import addition_table, jelassi_table, modular_table, products_table
from lengthwise.report.results import write_recipes
from lengthwise.report.results_page import results_page
from lengthwise.report.theorems import theorem_table
from lengthwise.theory.hypotheses import TRUTH, Hypothesis


def collected(folder, *runs, seeds=(1,)):
    """Runs (recipe, row, what it computes), each with every seed."""
    for recipe, row, computes in runs:
        for seed in seeds:
            fake_run(folder / "runs", recipe, row, computes, seed=seed)
    return Collection(folder)


def line(table, *start):
    (found,) = [row for row in table.rows if row[: len(start)] == start]
    return dict(zip(table.columns, found, strict=True))


def one_wrong_in(count):
    """Right but for every so-manyth sum of more than two digits."""
    return lambda a, b: a + b + (max(a, b) >= 36 and (a + b) % count == 0)


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
        assert board is not None and board.tasks == ("add", "mul", "add%35", "add%36")
        assert [row.label for row in board.lines] == ["rotary", "learned"], "the best first"
        rotary, learned = board.lines
        assert {task: cell.word for task, cell in learned.cells.items()} == dict.fromkeys(board.tasks, HOLDS)
        assert {task: cell.mark for task, cell in learned.cells.items()} == {
            "add": False,
            "mul": False,
            "add%35": False,
            "add%36": True,
        }
        assert {task: cell.word for task, cell in rotary.cells.items()} == {
            "add": HOLDS,
            "mul": FAILS,
            "add%35": FAILS,
            "add%36": HOLDS,
        }
        assert rotary.cells["mul"].within.values == rotary.cells["mul"].beyond.values == (100.0, 100.0)

    def test_seeds_that_differ_decide_nothing(self, tmp_path):
        for seed, computes in ((1, TRUTH), (2, Hypothesis.parse("truncated:2"))):
            fake_run(tmp_path / "runs", "table1", "table1-learned-add", computes, seed=seed)
            fake_run(tmp_path / "runs", "table1", "table1-rotary-add", lambda a, b: 0, seed=seed)
        board = leaderboard(Collection(tmp_path).views)
        assert board is not None
        words = {row.encoding: row.cells["add"].word for row in board.lines}
        assert words == {"learned": UNDECIDED, "rotary": UNDECIDED}, "and none that has not learned"
        cell = next(row for row in board.lines if row.encoding == "learned").cells["add"]
        assert sorted(cell.beyond.values) == [0.0, 100.0]
        assert str(cell.beyond) == "50 (0–100)"

    @pytest.mark.parametrize(("able", "word"), [(2, HOLDS), (1, UNDECIDED)])
    def test_seeds_that_have_not_learned_have_no_say(self, tmp_path, able, word):
        for seed in (1, 2, 3):
            computes = TRUTH if seed <= able else lambda a, b: 0
            fake_run(tmp_path / "runs", "table1", "table1-rotary-add", computes, seed=seed)
        board = leaderboard(Collection(tmp_path).views)
        assert board is not None
        assert board.lines[0].cells["add"].word == word, "and more than half are needed"

    def test_written_in_three_ways(self, tmp_path):
        collection = collected(
            tmp_path, ("table1", "table1-learned-add", None), ("table1", "table1-rotary-mul", TRUTH)
        )
        names = {path.name for path in write_recipes(collection, tmp_path / "tables")}
        assert names == {f"{name}.{end}" for name in ("table1", "leaderboard") for end in ("md", "tex", "csv")}
        with (tmp_path / "tables" / "leaderboard.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * 4, "a line for each length"
        (fourth,) = [row for row in rows if row["task"] == "add" and row["test"] == "D4"]
        assert (fourth["measured"], fourth["theory_goes_on"], fourth["verdict"]) == ("0", "no", HOLDS)
        board = leaderboard(collection.views)
        assert board is not None
        shown = line(board_table(board), "learned")
        assert (shown["layout"], shown["add"], shown["mul"]) == ("padded", "100 / 0", "–")
        by_length = table_1_by_length(board)
        assert by_length is not None
        assert line(by_length, "relative: rotary", "mul") | {"verdict": FAILS, "D2": "100†", "D3": "100"} == line(
            by_length, "relative: rotary", "mul"
        )


class TestSums:
    @pytest.mark.parametrize(
        ("computes", "where", "theorem"),
        [
            (None, "where theory says, and only there", HOLDS),
            (TRUTH, "nowhere: longer chains are right too", FAILS),
            (one_wrong_in(5), "elsewhere too", FAILS),
            (lambda a, b: 0, "not learned yet", UNDECIDED),
        ],
    )
    def test_where_a_model_fails(self, tmp_path, computes, where, theorem):
        collection = collected(tmp_path, ("relative-addition", "relative-addition-rotary-D2", computes))
        shown = line(addition_table(collection), "rotary", "D2")
        assert (shown["where it fails"], shown["Theorem 3"]) == (where, theorem)

    def test_seeds_that_differ_say_so(self, tmp_path):
        fake_run(tmp_path / "runs", "relative-addition", "relative-addition-rotary-D2", None, seed=1)
        fake_run(tmp_path / "runs", "relative-addition", "relative-addition-rotary-D2", TRUTH, seed=2)
        shown = line(addition_table(Collection(tmp_path)), "rotary", "D2")
        assert shown["where it fails"].startswith("seeds differ: nowhere")
        assert shown["as windowed:n+1"].endswith("–100)")

    def test_claims_and_theorem(self, tmp_path):
        collection = collected(tmp_path, ("relative-addition", "relative-addition-rotary-D3", None))
        claims = {row[0]: row[2:] for row in claim_table(collection.views).rows}
        assert claims["Theorem 3, seen chains"] == ("1", "1", "0", "0", HOLDS)
        assert claims["Theorem 3, longer chains"] == ("1", "1", "0", "0", HOLDS)
        assert claims["Theorem 3, bound"][:1] == ("1",)
        theorems = {row[0]: row[2:] for row in theorem_table(collection.views).rows}
        assert theorems["Theorem 3"] == ("1", "5", "0", "0", HOLDS)

    def test_five_to_twenty(self, tmp_path):
        collection = collected(
            tmp_path,
            ("jelassi-5-20", "jelassi-rotary-D2", TRUTH),
            ("jelassi-5-20", "jelassi-coupled-D2", Hypothesis.parse("truncated:2")),
        )
        table = jelassi_table(collection)
        assert line(table, "rotary")["goes on"] == "yes"
        assert (line(table, "coupled")["D6"], line(table, "coupled")["goes on"]) == ("0", "no")
        claims = {row[0]: row[2:] for row in claim_table(collection.views).rows}
        assert claims["Jelassi and others"] == ("2", "1", "1", "0", FAILS)


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
        best, second, *_ = candidates(collection.views)
        assert (best.name, best.agreement.values, best.word) == (name, (100.0, 100.0), HOLDS)
        assert second.word == FAILS

    def test_truth_comes_before_its_equals(self, tmp_path):
        collection = collected(tmp_path, ("modular-relative", "relative-modular-rotary-p36", TRUTH))
        found = candidates(collection.views)
        assert found[0].name == "truth"
        assert {c.name for c in found if c.word == HOLDS} >= {"truth", "truncated:2", "truncated:3"}, (
            "36 is 6 squared"
        )

    def test_theorem_4_speaks_of_relative_positions_too(self, tmp_path):
        rows = (f"relative-modular-rotary-p{p}" for p in (35, 36))
        collection = collected(tmp_path, *(("modular-relative", row, TRUTH) for row in rows))
        theorems = {row[0]: row[2:] for row in theorem_table(collection.views).rows}
        assert theorems["Theorem 4, relative"] == ("1", "4", "0", "0", HOLDS), "35 divides no power of 6"
        assert theorems["Theorem 4"][-1] == theorems["Theorem 5"][-1] == "not tested here"

    def test_none_fits(self, tmp_path):
        collection = collected(
            tmp_path, ("modular-relative", "relative-modular-rotary-p35", lambda a, b: (3 * a + b) % 35)
        )
        assert line(modular_table(collection), "rotary")["fits"] == "undecided", "it has not learned residues"

    def test_none_of_those_that_were_learned(self, tmp_path):
        """Residues are right up to two digits, and off by one beyond them."""
        computed = lambda a, b: (a + b + (max(a, b) >= 36)) % 35  # noqa: E731
        collection = collected(tmp_path, ("modular-relative", "relative-modular-rotary-p35", computed))
        assert line(modular_table(collection), "rotary")["fits"] == "none fits"


class TestProducts:
    def test_which_step_is_hard(self, tmp_path):
        steps = {"sums": 0.2, "carries": 1.0, "answer": 1.0}
        for way, told in (("direct", None), ("scratchpad", steps)):
            row = f"relative-multiplication-rotary-{way}-D1..2"
            fake_run(tmp_path / "runs", "multiplication-relative", row, TRUTH, steps=told)
        collection = Collection(tmp_path)
        shown = line(products_table(collection), "rotary", "sums and carries")
        assert [shown[f"{kind} on D3"] for kind in steps] == ["20", "100", "100"]
        assert line(products_table(collection), "rotary", "at once")["sums on D3"] == "–"
        claims = {row[0]: row[2:] for row in claim_table(collection.views).rows}
        assert claims["multiplication, steps"] == ("1", "2", "0", "0", HOLDS)
        assert claims["multiplication, raw sums"] == ("1", "1", "0", "0", HOLDS)
        assert claims["multiplication, scratchpad"] == ("1", "1", "0", "0", HOLDS), "its answers are all right"


def test_the_page_has_a_part_for_every_recipe(tmp_path):
    relative_runs(tmp_path / "runs")
    page = results_page(tmp_path, tmp_path / "results.md")
    part = page.partition("\n## Relative positions\n")[2].partition("\n## ")[0]
    for title in ("Table 1", "Sums upward", "From five", "Residues", "Longer products"):
        assert f"\n### {title}" in part


def test_without_runs_there_is_no_part(tmp_path):
    assert "## Relative positions" not in results_page(tmp_path, tmp_path / "results.md")


def test_chains_are_drawn_as_measured(tmp_path):
    view = fake_run(tmp_path, "relative-addition", "relative-addition-rotary-D2", None)
    figure = FIGURES["relative-addition-chains"].draw([view])
    (axes,) = figure.axes
    measured, rule, paper = (list(drawn.get_ydata()) for drawn in axes.lines)
    assert measured == [100, 100, 100, 0, 0, 0], "chains of 3 columns and more are lost after training on D2"
    assert rule == measured
    assert paper == [100, 100, 0, 0, 0, 0]
