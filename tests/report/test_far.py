"""What is told of long operands: summary, table, page and figures, from made records."""

import json
from itertools import pairwise

import pytest
from far_runs import ABACUS, COUPLED, abacus_run, attending_run, coupled_run, needed, plain_run, upward_run
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex

from lengthwise.recipes import RECIPES
from lengthwise.report.figures import COLOURS, FIGURES, draw
from lengthwise.report.paper import far_summary
from lengthwise.report.queries import Collection
from lengthwise.report.results import results_page, tables_of, write_results


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    for seed in (1, 2, 3):
        coupled_run(out / "runs", "coupled-1000", seed=seed)
    coupled_run(out / "runs", "long-encodings-rotary", {**COUPLED, "encoding": "rotary"})
    abacus_run(out / "runs", 1)
    abacus_run(out / "runs", 2)
    plain_run(out / "runs", "abacus-100-mul-s1", {**ABACUS, "task": "mul", "seed": 1})
    upward_run(out / "runs", 1)
    upward_run(out / "runs", 2)
    write_results(out)
    return out


def test_the_summary_has_every_seed_and_the_grid_outside_training(results):
    found = json.loads((results / "summary.json").read_text())
    assert found["coupled-1000"] == {"2": [100, 100, 100], "5": [90, 80, 70], "20": [40, 30, 20]}
    assert found["multiplication-upward"] == {"3": [97, 94], "8": [92, 84]}
    # Lengths are 1, 2 and 4, which stands for 3 too. Of 16 pairs of lengths up to 4, 12 are outside: four half
    # right, eight right in the first run and four fifths of them in the second.
    assert found["abacus-100"] == {"outside": pytest.approx(100 * (4 * 0.5 + 8 * 0.9) / 12)}


def test_without_such_runs_the_summary_is_silent(tmp_path):
    assert far_summary(Collection(tmp_path)) == {}


def test_each_table_has_a_line_for_each_kind_of_problem(results):
    collection = Collection(results)
    tables = {name: table for recipe in RECIPES.values() for name, table in tables_of(recipe, collection).items()}
    assert list(tables) == ["coupled-1000", "abacus-100", "long-encodings", "multiplication-upward"]
    assert tables["coupled-1000"].columns == ("run", "trained on", "problems", "2", "5", "20")
    lines = {(line[0], line[2]): line[3:] for table in tables.values() for line in table.rows}
    assert lines["coupled-1000-s2", "random"] == ("100", "80", "30")
    assert lines["coupled-1000-s2", "random, decoded"] == ("100", "80", "30")
    assert lines["coupled-1000-s2", "carry"] == ("50", "40", "15")
    assert lines["coupled-1000-s2", "lopsided"] == ("100", "100", "100")
    assert lines["abacus-100-mul-s1", "random"] == ("50", "50")
    assert ("abacus-100-mul-s1", "random, decoded") not in lines
    assert tables["multiplication-upward"].columns[3:] == ("3", "8")
    assert lines["upward-multiplication-s2", "random"] == ("94", "84")
    assert lines["upward-multiplication-s2", "random, decoded"] == ("94", "84")


def test_the_ladder_is_sorted_best_first_and_the_table_of_lengths_has_the_lowest_seed(tmp_path):
    for seed, rung in enumerate(("prior-content-attention", "prior-recipe", "prior-without-clipping"), start=1):
        coupled_run(tmp_path / "runs", rung, seed=4 - seed)  # accuracy falls with the seed's number
    for seed in (1, 3, 2):
        coupled_run(tmp_path / "runs", "prior-lengths", seed=seed)
    collection = Collection(tmp_path)
    tables = tables_of(RECIPES["prior-ladder"], collection) | tables_of(RECIPES["prior-lengths"], collection)
    assert [line[1] for line in tables["prior-ladder"].rows] == ["without clipping", "recipe", "content attention"]
    lengths = tables["prior-lengths"]
    assert lengths.columns == ("problems", "20", "any")
    assert [line for line in lengths.rows if line[0] == "random"] == [("random", "20", "20")]


def test_the_page_has_its_section(results, tmp_path):
    page = results_page(results, tmp_path / "results.md")
    section = page.partition("\n## Far beyond training\n")[2].partition("\n## ")[0]
    for recipe in RECIPES.values():
        for figure in recipe.figures if recipe.section == "Far beyond training" else ():
            assert (f"**{figure.title}**\n" in section) == (figure.name != "coupled-200"), figure.name
    assert "coupled-1000-s3 | D1+D2 | random | 100" in section
    assert "outside the trained square of `abacus-100`: 76.67 % of sums are right." in section


def test_a_seed_that_failed_is_named(tmp_path):
    coupled_run(tmp_path / "runs", "coupled-1000", seed=1)
    assert "Not finished" not in results_page(tmp_path, tmp_path / "results.md")
    coupled_run(tmp_path / "runs", "coupled-1000", seed=2).source.set_status("failed")
    coupled_run(tmp_path / "runs", "coupled-1000", seed=0).source.set_status("failed")
    page = results_page(tmp_path, tmp_path / "results.md")
    assert "Not finished, and not in any table or figure: coupled-1000-s2 (failed)." in page


def line(axes, colour, marker="o"):
    return [
        list(line.get_ydata())
        for line in axes.lines
        if to_hex(line.get_color()).upper() == colour.upper() and line.get_marker() == marker
    ]


def legend(figure):
    """Its names, each in one line."""
    (found,) = figure.legends
    return [text.get_text().replace("\n", " ") for text in found.get_texts()]


def drawn(results, name):
    return draw(FIGURES[name], Collection(results).views)


def test_accuracy_is_the_mean_over_seeds_with_a_band(results):
    axes, lopsided, carry = drawn(results, "coupled-1000").axes
    assert [ax.get_title() for ax in (axes, lopsided, carry)] == ["random operands", "lopsided", "carry"]
    assert line(axes, COLOURS[0])[0] == pytest.approx([100, 80, 30])
    assert line(lopsided, COLOURS[0])[0] == pytest.approx([100, 100, 100])
    assert line(carry, COLOURS[0])[0] == pytest.approx([50, 40, 15])
    assert axes.get_xscale() == "log"
    edges = axes.collections[0].get_paths()[0].vertices
    assert {20.0, 40.0} <= {round(y, 6) for x, y in edges if x == 20}, "from the worst seed to the best"


def test_encodings_that_fail_alike_have_panels_of_their_own_and_their_lines_all_show(tmp_path):
    names = ["abacus", "rotary", "t5"]
    views = [coupled_run(tmp_path, f"long-encodings-{name}", {**COUPLED, "encoding": name}) for name in names]
    figure = draw(FIGURES["long-encodings"], views)
    assert [ax.get_title() for ax in figure.axes] == names
    assert legend(figure) == ["random operands", "lopsided", "carry"]
    for ax in figure.axes:
        shares = [line(ax, colour)[0] for colour in COLOURS[:3]]
        assert shares == [pytest.approx(y) for y in ([100, 90, 40], [100, 100, 100], [50, 45, 20])]
        for size in ("get_linewidth", "get_markersize"):
            wide = [getattr(drawn, size)() for drawn in ax.lines]
            assert all(before > after + 0.5 for before, after in pairwise(wide)), "each shows around the next"
        keys = figure.legends[0].get_lines()
        assert [look(one) for one in keys] == [look(drawn) for drawn in ax.lines]


def look(drawn):
    return drawn.get_color(), drawn.get_linewidth(), drawn.get_linestyle()


def test_products_have_a_figure_of_their_own(results):
    figure = drawn(results, "multiplication-upward")
    (axes,) = figure.axes
    assert line(axes, COLOURS[0])[0] == pytest.approx([(97 + 94) / 2, (92 + 84) / 2])
    assert legend(figure) == ["coupled by place and by tokens"]


def test_the_map_has_the_mean_over_seeds(results):
    axes = drawn(results, "abacus-100").axes[0]
    (mesh,) = [artist for artist in axes.collections if isinstance(artist, QuadMesh)]
    assert mesh.get_array()[2].tolist() == pytest.approx([90, 90, 50])
    (square,) = axes.patches
    assert (square.get_width(), square.get_height()) == (2, 2)


@pytest.mark.parametrize("tasks", [("add",), ("add", "mul")])
def test_maps_are_square_and_fill_their_figure(tmp_path, tasks):
    figure = draw(FIGURES["abacus-100"], [abacus_run(tmp_path, task=task) for task in tasks])
    figure.draw_without_rendering()
    *maps, _ = figure.axes
    named = {"add": "sums, trained on up to 2 digits", "mul": "products, trained on up to 2 digits"}
    assert [ax.get_title() for ax in maps] == [named[task] for task in tasks]
    sides = [side for ax in maps for side in ax.get_window_extent().size]
    assert sides == pytest.approx([2.55 * figure.dpi] * len(sides), rel=0.03), "as large with one as with two"
    drawn, page = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.width > 0.9 * page[0] and drawn.height > 0.9 * page[1]
    assert drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= page[0] and drawn.y1 <= page[1]


def test_first_wrong_and_margin(results):
    wrong = drawn(results, "first-wrong-coupled-1000").axes[0]
    assert len(wrong.lines) == 2, "where all are right there is nothing to draw"
    assert list(wrong.lines[0].get_ydata()) == pytest.approx([0] * 9 + [80, 20])
    margin = drawn(results, "margin-coupled-1000").axes[0]
    assert line(margin, COLOURS[0]) == [[9, 3, -1]]
    assert line(margin, COLOURS[1]) == [[7, 1, -3]]


def test_attention_has_every_run_and_layer_for_itself_and_heads_by_rank(results):
    panels = drawn(results, "attention-coupled-1000").axes
    places = [(seed, layer) for seed in (1, 2, 3) for layer in (1, 2)]
    assert [ax.get_title() for ax in panels] == [f"coupled\nseed {s}, layer {layer}" for s, layer in places]
    for ax, (seed, layer) in zip(panels, places, strict=True):
        for rank in (1, 2):
            share = 100 * needed(layer, rank, seed)
            assert line(ax, COLOURS[rank - 1], "o") == [[pytest.approx(share)] * 3], "whatever the head's number"
            assert line(ax, COLOURS[rank - 1], "x") == [[pytest.approx(share / 2)] * 3], "of the same head"


@pytest.mark.parametrize("count", [1, 4, 9])
def test_attention_of_one_run_and_layer_needs_no_number_and_shows_few_heads(tmp_path, count):
    view = attending_run(tmp_path, "coupled-1000-s1", [0.1 * head for head in range(1, count + 1)])
    figure = draw(FIGURES["attention-coupled-1000"], [view])
    (axes,) = figure.axes
    assert axes.get_title() == "coupled"
    shown = min(count, 4)
    drawn = [line for line in axes.lines if len(line.get_xdata())]
    looks = {(line.get_color(), line.get_linestyle()) for line in drawn}
    assert len(looks) == len(drawn) == 2 * shown, "no two alike"
    for rank in range(shown):
        assert line(axes, COLOURS[rank]) == [[pytest.approx(10 * (count - rank))] * 3], "those with most"
    ranks = ["head with most on them", "2nd", "3rd", "4th"]
    assert legend(figure) == ["on digits needed", "largest weight", *ranks[:shown]]
    figure.draw_without_rendering()
    extent = figure.legends[0].get_window_extent()
    assert extent.x0 >= 0 and extent.x1 <= figure.bbox.x1, "not cut off"


def test_attention_shows_the_layers_that_look_there(tmp_path):
    fair = attending_run(tmp_path, "long-encodings-rotary-s1", [0.1, 0.19], [0.0, 0.2], [0.3, 0.9])
    figure = draw(FIGURES["attention-long-encodings"], [fair])
    assert [ax.get_title() for ax in figure.axes] == ["coupled\nlayer 2", "coupled\nlayer 3"]
    for most in (0.19, 0.0):
        none = attending_run(tmp_path / str(most), "long-encodings-none-s1", [0.0, 0.0], [0.0, most], [0.0, 0.0])
        (axes,) = draw(FIGURES["attention-long-encodings"], [none]).axes
        assert axes.get_title() == ("coupled\nlayer 2" if most else "coupled\nlayer 1"), "one, if none does"


def test_runs_that_were_not_looked_into_give_no_such_figure(tmp_path):
    view = plain_run(tmp_path, "coupled-1000-s1", COUPLED)
    for name in ("first-wrong-coupled-1000", "margin-coupled-1000", "attention-coupled-1000"):
        assert draw(FIGURES[name], [view]) is None
    assert draw(FIGURES["abacus-100"], [plain_run(tmp_path, "abacus-100-add-s1", ABACUS)]) is None
