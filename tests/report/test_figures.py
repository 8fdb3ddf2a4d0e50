"""Figures show what the records say: the data of their artists, not pixels."""

import subprocess
import sys
from fractions import Fraction
from statistics import correlation

import numpy as np
import pytest
from far_runs import COUPLED, coupled_run, far_runs, measured
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Text
from relative_runs import relative_runs
from synthetic_runs import TOTAL, record_maker, rising, synthetic_run

from lengthwise.arithmetic import Domain, Task
from lengthwise.model.config import SIZES
from lengthwise.recipes import THEORY
from lengthwise.records.verdicts import clopper_pearson
from lengthwise.records.view import RunView
from lengthwise.report.figures import BLACK, COLOURS, FIGURES, GREY, draw, save
from lengthwise.report.figures.training import NAMES, correlations
from lengthwise.report.queries import Seeds
from lengthwise.theory.accuracy import dependence_matrix
from lengthwise.theory.columns import r2_ceiling
from lengthwise.theory.hypotheses import Hypothesis
from lengthwise.theory.plateaus import plateaus

D4 = {"task": "add", "train": "D4", "test": "D1..6,D1+D2+D3+D4+D5+D6"}
WATCHED = {**D4, "evaluation": {"digits": True, "dynamics": True}}


def through_training(view, metric, domain, kind="value"):
    """What the records say, line by line: a percentage, or a value, for each step."""
    found = [r for r in view.records if (r.metric, r.domain, r.reference) == (metric, domain, "truth")]
    return {r.step: r.value if kind == "value" else 100 * r.correct / r.total for r in found}


def percents(view, domain):
    return through_training(view, "exact", domain, "percent")


def lines(axes, colour, *, through_training=True):
    """The y data of the lines of a colour; theory's lines span the axes and have two points, entries of the legend
    none."""
    coloured = [line for line in axes.lines if to_hex(line.get_color()).upper() == colour.upper()]
    found = [line for line in coloured if len(line.get_xdata())]
    return [list(line.get_ydata()) for line in found if (len(line.get_xdata()) > 2) == through_training]


def heights(axes):
    return sorted(line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2)


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def panel(figure, title):
    return next(axes for axes in figure.axes if axes.get_title() == title)


def everything(folder):
    """A few runs for each figure, by the names that they look for."""
    watched = [
        synthetic_run(folder, {**WATCHED, "train": train, "seed": seed}, name=f"dynamics-{train}-s{seed}")
        for train in ("D4", "D4+D5")
        for seed in (1, 2)
    ]
    tables = [
        synthetic_run(
            folder,
            {"task": task, "train": "D2", "test": "D1..3", "evaluation": {"digits": True, "dependence": True}},
            name=f"{name}-s1",
        )
        for name, task in [
            ("addition-D4", "add"),
            ("modular-addition-p100", "add%100"),
            ("multiplication-D2", "mul"),
            ("modular-multiplication-p101", "mul%101"),
        ]
    ]
    others = [
        synthetic_run(folder, {**D4, "train": "D4[lead>=6]"}, name="counterexample-D4-lead6-s1"),
        synthetic_run(folder, {**D4, "data": {"samples": 100_000}}, name="scales-mini-100k-D4-s1"),
        synthetic_run(folder, {**D4, "layout": "plain"}, name="packing-lines-s1"),
        synthetic_run(folder, D4, name="regularization-add-dropout0-decay0.05-s1"),
    ]
    return [
        *watched,
        *tables,
        *others,
        standing_run(folder),
        *relative_runs(folder),
        *far_runs(folder),
        *prior_runs(folder),
    ]


def prior_runs(folder):
    """A rung of the ladder, position coupling as published and with our shape, a model that reads carries off its
    answers, one modulus in two bases, and one way to regularize."""
    residues = {"task": "add%81", "train": "D3", "test": "D1..5"}
    return [
        coupled_run(folder, "prior-without-clipping"),
        coupled_run(folder, "coupling-published"),
        offset_run(folder, 1, 2, "coupling-published"),
        *(offset_run(folder, layers, seed) for layers in (1, 4) for seed in (1, 2)),
        measured(folder, {**COUPLED, "train": "D2"}, "carry-coupled-lowest-first-s101", reading_carries),
        *(synthetic_run(folder, {**residues, "base": b}, name=f"bases-add-81-base{b}-s101") for b in (9, 10)),
        synthetic_run(
            folder, {**D4, "model": {"position_std": 3.0}}, name="unseen-positions3-decay0.1-dropout0.1-s101"
        ),
    ]


def reading_carries(make):
    shares = {("D2", "local"): 0.9, ("D2", "truth"): 0.05, ("D5", "local"): 0.8, ("D5", "truth"): 0.1}
    return [
        *(make(n, "after_change", reference=name, share=share) for (n, name), share in shares.items()),
        *(make("D5", f"chain:{k}", share=0.5) for k in range(4)),
        *(make("D5", f"carry_after:{k}:0", share=k / 18) for k in range(19)),
    ]


def standing_run(folder, percents=(55.6, 55.1, 56.0), seed=1):
    """A product modulo 150 whose accuracy has these values, then 100 %."""
    steps = [100 * k for k in range(len(percents) + 2)]
    learned = dict(zip(steps, [0, *(value / 100 for value in percents), 1], strict=True))
    return synthetic_run(
        folder,
        {"task": "mul%150", "train": "D3", "test": "D3", "seed": seed},
        name=f"plateaus-p150-s{seed}",
        steps=steps,
        learned=lambda step, digit: learned[step],
    )


@pytest.mark.slow
def test_every_figure_is_drawn_saved_and_explained(tmp_path):
    views = everything(tmp_path / "runs")
    for name, spec in FIGURES.items():
        assert spec.name == name and spec.title and spec.alt.endswith(".")
        assert 2 <= len([s for s in spec.caption.split(". ") if s]) <= 5, f"what is drawn, what to see: {name}"
        figure = draw(spec, views)
        assert figure is not None, name
        for path in save(figure, tmp_path / "figures", name):
            assert path.stat().st_size > 1_000


def test_saved_files_are_equal_each_time(tmp_path):
    views = [synthetic_run(tmp_path, WATCHED, name="dynamics-D4-s1")]
    for name in ("digit-dynamics", "learning-order"):
        first, second = (save(draw(FIGURES[name], views), tmp_path / folder, name) for folder in "ab")
        for one, other in zip(first, second, strict=True):
            assert one.read_bytes() == other.read_bytes()
        assert b"<dc:date>" not in first[0].read_bytes()


def test_without_the_runs_there_is_no_figure(tmp_path):
    other = synthetic_run(tmp_path, D4, name="something-else-s1")
    assert all(draw(spec, []) is None and draw(spec, [other]) is None for spec in FIGURES.values())


def test_runs_without_what_is_shown_give_no_figure(tmp_path):
    """A run that was not asked for R2 has none to draw."""
    plain = synthetic_run(tmp_path, D4, name="dynamics-D4-s1")
    assert draw(FIGURES["digit-dynamics"], [plain]) is None
    assert draw(FIGURES["digit-correlation"], [plain]) is None
    assert draw(FIGURES["learning-order"], [plain]) is None


def test_a_run_that_has_only_begun_is_left_out(tmp_path):
    begun = synthetic_run(tmp_path, D4, name="addition-D4-s1", steps=())
    assert draw(FIGURES["accuracy-by-length-addition"], [begun]) is None


def test_accuracy_by_length_has_counts_intervals_and_predictions(tmp_path):
    config = {"task": "add%150", "train": "D4", "test": "B3..6"}
    view = synthetic_run(tmp_path, config, name="modular-addition-p150-s1", follows=lambda domain: 0.9)
    figure = draw(FIGURES["accuracy-by-length-modular-addition"], [view])
    (axes,) = figure.axes
    (bars,) = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    last = {r.domain: r for r in view.at(view.last_step) if (r.metric, r.reference) == ("exact", "truth")}
    counts = [last[domain].correct for domain in ("B3", "B4", "B5", "B6")]
    assert list(bars.lines[0].get_ydata()) == pytest.approx([100 * count / TOTAL for count in counts])
    for segment, count in zip(bars.lines[2][0].get_segments(), counts, strict=True):
        np.testing.assert_allclose(segment[:, 1], [100 * end for end in clopper_pearson(count, TOTAL)])
    exact = [float(100 * row.accuracy) for row in view.spec.predictions()]
    assert lines(axes, COLOURS[1]) == [exact] and exact[0] == 100 and 30 < exact[-1] < 35


def test_panels_go_by_task_modulus_and_training_set(tmp_path):
    views = [
        synthetic_run(tmp_path, {"task": "add%101", "train": "D2"}, name="modular-addition-p101-s1"),
        synthetic_run(tmp_path, {"task": "add%51", "train": "D2"}, name="modular-addition-p51-s1"),
    ]
    figure = draw(FIGURES["accuracy-by-length-modular-addition"], views)
    assert titles(figure) == ["modulo 51, D2", "modulo 101, D2"]


def test_seeds_become_a_mean_and_a_band(tmp_path):
    views = [
        synthetic_run(tmp_path, {**D4, "seed": seed}, name=f"dynamics-D4-s{seed}", learned=rising(100 * seed))
        for seed in (1, 2)
    ]
    axes = panel(draw(FIGURES["accuracy-by-domain"], views), "trained on D4")
    each = [percents(view, "D3") for view in views]
    mean = [(x + y) / 2 for x, y in zip(*(one.values() for one in each), strict=True)]
    drawn = [list(line.get_ydata()) for line in axes.lines]
    assert any(np.allclose(one, mean) for one in drawn if len(one) == len(mean))
    area = np.vstack([path.vertices for band_ in axes.collections for path in band_.get_paths()])
    for step, low, high in zip(each[0], each[1].values(), each[0].values(), strict=True):
        at = area[area[:, 0] == step][:, 1]
        assert np.isclose(at, low).any() and np.isclose(at, high).any()


def test_bands_are_over_common_steps(tmp_path):
    views = [synthetic_run(tmp_path, D4, name=f"s{seed}", steps=()) for seed in (1, 2, 3)]
    for view, shares in zip(views, [{0: 0.1, 10: 0.3, 20: 0.9}, {0: 0.2, 10: 0.1}, {}], strict=True):
        view.source.append([record_maker(view, step)("D3", share=share) for step, share in shares.items()])
    seeds = Seeds(tuple(RunView(view.source) for view in views))
    found = {step: tuple(point) for step, point in seeds.through_training(domain="D3").items()}
    assert found == {0: pytest.approx((15, 10, 20)), 10: pytest.approx((20, 10, 30))}, "of runs that have any"


def test_of_two_evaluations_at_a_step_the_later_one_counts(tmp_path):
    view = synthetic_run(tmp_path, D4, steps=(0,))
    view.source.append([record_maker(view, 0)("D3", share=0.25)])
    assert Seeds((RunView(view.source),)).through_training(domain="D3") == {0: (25.0, 25.0, 25.0)}


def test_accuracy_by_domain_shows_truth_above_and_agreement_below(tmp_path):
    figure = draw(FIGURES["accuracy-by-domain"], [synthetic_run(tmp_path, D4, name="dynamics-D4-s1")])
    above, below = figure.axes
    ends = {round(line.get_ydata()[-1]) for line in above.lines if len(line.get_xdata()) > 2}
    assert ends == {0, 98}, "lengths up to 4 are learned, longer ones are not"
    assert {round(line.get_ydata()[-1]) for line in below.lines if len(line.get_xdata()) > 2} == {98}
    assert max(heights(above)) == 100 and 0 <= min(heights(above)) < 0.1


def test_digit_accuracy_ends_on_the_exact_line(tmp_path):
    view = synthetic_run(tmp_path, WATCHED, name="dynamics-D4-s1", learned=lambda step, digit: float(step > 0))
    figure = draw(FIGURES["digit-accuracy"], [view])
    assert titles(figure) == [f"digit {k}" for k in range(1, 8)], "answers of operands of six digits"
    for axes in figure.axes:
        ((*_, end),) = lines(axes, COLOURS[0])
        ((line, _),) = lines(axes, COLOURS[0], through_training=False)
        assert end == pytest.approx(line, abs=0.06)
    assert lines(panel(figure, "digit 5"), COLOURS[0], through_training=False)[0][0] < 70


def test_digits_of_a_modular_task_stop_at_the_answer_s_width(tmp_path):
    config = {"task": "add%101", "train": "D2", "test": "D1..3", "evaluation": {"digits": True}}
    config["data"] = {"answer_width": 5}
    view = synthetic_run(tmp_path, config, name="modular-addition-p101-s1")
    figure = draw(FIGURES["digit-accuracy-modular-addition"], [view])
    (axes,) = figure.axes
    assert len(axes.lines) == 3 + 1, "three digits and the whole answer"
    assert list(axes.lines[0].get_ydata()) == pytest.approx(list(percents(view, "D2").values()))


def test_dynamics_have_each_digit_and_its_ceiling(tmp_path):
    view = synthetic_run(tmp_path, WATCHED, name="dynamics-D4-s1", learned=rising(150, apart=10))
    (axes,) = draw(FIGURES["digit-dynamics"], [view]).axes
    drawn = [list(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) > 2]
    assert drawn == [list(through_training(view, f"r2:{digit}", "D4").values()) for digit in range(1, 6)]
    assert heights(axes) == sorted(float(r2_ceiling(view.train, digit)) for digit in range(1, 6))


def test_correlations_of_values_and_of_changes(tmp_path):
    view = synthetic_run(tmp_path, {**WATCHED, "evaluation": {}}, steps=(0,))
    series = {4: [0.1, 0.5, 0.4, 0.9], 2: [0.2, 0.1, 0.6, 0.7], 3: [0.5, 0.5, 0.5, 0.5]}
    for step in range(4):
        make = record_maker(view, 10 * step)
        view.source.append([make("D4", f"r2:{d}", mode="decoded", value=v[step]) for d, v in series.items()])
    run = Seeds((RunView(view.source),))
    assert correlations(run, 4, [2, 3, 4]) == {2: pytest.approx(correlation(series[4], series[2]))}
    changes = [np.diff(series[d]) for d in (4, 2)]
    expected = np.corrcoef(*changes)[0, 1]
    assert correlations(run, 4, [2, 3, 4], changes=True) == {2: pytest.approx(expected)}


def test_learning_order_shows_steps_and_what_was_never_learned(tmp_path):
    def learned(step, digit):
        return float(step >= 100 * digit)

    view = synthetic_run(tmp_path, WATCHED, name="dynamics-D4-s1", steps=(0, 100, 200, 300, 400), learned=learned)
    (axes,) = draw(FIGURES["learning-order"], [view]).axes
    (steps,) = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert list(zip(*steps.get_data(), strict=True)) == [(1, 100), (2, 200), (3, 300), (4, 400)]
    assert [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "^"] == [[5]]


def test_scales_tell_sizes_and_samples_apart(tmp_path):
    views = [
        synthetic_run(
            tmp_path,
            {**D4, "model": SIZES[size], "data": {"samples": samples}},
            name=f"scales-{size}-{samples // 1000}k-D4-s1",
            learned=rising(middle),
        )
        for size, samples, middle in [("nano", 100_000, 100), ("nano", 200_000, 150), ("mini", 100_000, 200)]
    ]
    figure = draw(FIGURES["scales"], views)
    losses, accuracies = figure.axes
    assert {(line.get_color(), line.get_linestyle()) for line in losses.lines} == {
        (COLOURS[0], "-"),
        (COLOURS[0], "--"),
        (COLOURS[1], "-"),
    }
    drawn = sorted(list(line.get_ydata()) for line in accuracies.lines)
    assert drawn == [pytest.approx(one) for one in sorted(list(percents(view, "D4").values()) for view in views)]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["nano,\n100,000 samples", "nano,\n200,000 samples", "mini,\n100,000 samples"]


def test_sizes_are_the_model_s():
    assert {(size["layers"], size["width"]): name for name, size in SIZES.items()} == NAMES


def test_counterexample_shows_the_digit_above_and_what_always_one_gives(tmp_path):
    views = [
        synthetic_run(tmp_path, {**D4, "train": train}, name=f"counterexample-{name}-s1")
        for name, train in {"D4-lead6": "D4[lead>=6]", "D1..9": "D1..6"}.items()
    ]
    figure = draw(FIGURES["counterexample"], views)
    single = panel(figure, "only digit 5 of the answer")
    ((*shorter, fourth, fifth, sixth),) = lines(single, BLACK)
    assert shorter == [0, 0, 0] and sixth == 10
    assert fourth == pytest.approx(100 * Fraction(45 * 2000 + 10 * 999, 99 * 2000)), "a carry out of D4"
    assert fifth < 10 < fourth
    assert len(single.containers) == 2


def test_packing_draws_both_ways(tmp_path):
    plain = {"task": "add", "train": "D1..2", "test": "D1..4", "layout": "plain"}
    views = [
        synthetic_run(tmp_path, {**plain, "data": {"packing": name}}, name=f"packing-{name}-s1")
        for name in ("concatenated", "lines")
    ]
    figure = draw(FIGURES["packing"], views)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["one problem per row, padded", "concatenated, no padding"]
    assert len(figure.axes[1].containers) == 2


def test_dependence_has_measured_above_exact_and_a_line_at_n(tmp_path):
    config = {"task": "add", "train": "D2", "test": "D1..4", "evaluation": {"dependence": True}}
    view = synthetic_run(tmp_path, config, name="addition-D4-s1")
    above, below = [axes for axes in draw(FIGURES["dependence"], [view]).axes if axes.images]
    exact = dependence_matrix(view.task, Hypothesis("truncated", 2), 4)
    wanted = 100 * np.array([[float(cell) for cell in row] for row in exact])
    np.testing.assert_allclose(
        below.images[0].get_array(), wanted[:3], err_msg="the third digit is the last to change"
    )
    np.testing.assert_allclose(above.images[0].get_array(), wanted[:3], atol=0.06)
    assert not wanted[:, 2:].any() and above.get_xlim() == (3.5, -0.5)
    assert [line.get_xdata()[0] for line in above.lines] == [1.5], "between digits 2 and 3"


def test_dependence_that_is_not_derived_is_blank(tmp_path):
    config = {"task": "mul", "train": "D4", "test": "D1..5", "evaluation": {"dependence": True}}
    view = synthetic_run(tmp_path, config, name="multiplication-D2-s1")
    _, below = [axes for axes in draw(FIGURES["dependence"], [view]).axes if axes.images]
    assert np.isnan(np.ma.filled(below.images[0].get_array().astype(float), np.nan)).any()


def test_plateaus_show_every_height_and_name_the_one_where_a_curve_stands(tmp_path):
    runs = [standing_run(tmp_path, seed=1), standing_run(tmp_path, (49, 50, 51), seed=2)]
    one, other, both = (draw(FIGURES["plateaus"], some) for some in ([runs[0]], [runs[1]], runs))
    height = 100 * 153 / 275
    for figure, colour in [(one, COLOURS[1]), (other, GREY), (both, COLOURS[1])]:
        axes = panel(figure, "modulo 150, D3")
        assert lines(axes, colour, through_training=False) == [[pytest.approx(height)] * 2]
        assert len(heights(axes)) == len(plateaus(Task.parse("mul%150"), Domain.parse("D3"))) + 1
        (named,) = [text for text in axes.texts if text.get_text()]
        assert named.get_text() == "answer mod 50: 55.6"
    assert [line[0] for line in lines(panel(both, "modulo 150, D3"), COLOURS[0])] == pytest.approx([55.6, 49])


def test_what_never_stood_still_has_no_panel(tmp_path):
    assert draw(FIGURES["plateaus"], [standing_run(tmp_path, (10, 40, 80))]) is None


def test_regularization_grid_has_agreement_beyond_training(tmp_path):
    views = [
        synthetic_run(
            tmp_path,
            {**D4, "model": {"dropout": dropout}, "training": {"weight_decay": decay}},
            name=f"regularization-add-dropout{dropout:g}-decay{decay:g}-s1",
            steps=(0, 1_000),
            follows=lambda domain, share=share: share if domain.length > 4 else 1.0,
        )
        for dropout, decay, share in [(0.0, 0.0, 0.2), (0.1, 0.0, 0.6), (0.0, 0.3, 0.4)]
    ]
    assert [Seeds((view,)).beyond(THEORY).mean for view in views] == [20, 60, 40]
    axes = panel(draw(FIGURES["regularization"], views), "add on D4")
    grid = np.ma.filled(axes.images[0].get_array().astype(float), np.nan)
    np.testing.assert_allclose(grid, [[20, 60], [40, np.nan]])
    assert {text.get_text() for text in axes.findobj(Text)} >= {"20.0", "60.0", "40.0"}


def test_the_ladder_shows_the_worst_seed_on_random_sums_and_on_the_hardest_set(tmp_path):
    rungs = ("prior-recipe", "prior-without-clipping")
    figure = draw(FIGURES["prior-ladder"], [coupled_run(tmp_path, name, seed=s) for name in rungs for s in (1, 2)])
    for kind, lows in {"random sums": [100, 80, 30], "the hardest special set": [50, 40, 15]}.items():
        axes = panel(figure, f"trained on D1+D2: {kind}")
        np.testing.assert_allclose(axes.images[0].get_array(), [lows, lows])
        assert [text.get_text() for text in axes.get_yticklabels()] == ["recipe", "without clipping"]


def offset_run(folder, layers, seed, row=None):
    """Right at all offsets on two digits; on five, the less the larger the offset and the seed."""
    config = {**COUPLED, "layout": "level", "seed": seed, "model": {"layers": layers, "heads": 2, "width": 256}}
    return measured(
        folder,
        config,
        f"{row or f'differences-layers{layers}-heads2-level'}-s{seed}",
        lambda make: [
            *(make("D2", f"{kind}:{offset}", share=1) for offset in (0, 9) for kind in ("exact_at", "near_at")),
            *(make("D5", f"exact_at:{offset}", share=(1 - offset / 10) / seed) for offset in (0, 5, 9)),
            *(make("D5", f"near_at:{offset}", share=1 / seed) for offset in (0, 5, 9)),
        ],
    )


def test_every_seed_and_offset_has_a_dot_and_a_line_is_their_mean(tmp_path):
    views = [offset_run(tmp_path, layers, seed) for layers in (1, 4) for seed in (1, 2)]
    figure = draw(FIGURES["by-offset-coupling-differences"], views)
    axes = panel(figure, "1 layer, 2 heads,\nequal widths")
    mean, first, second = axes.lines
    assert dict(zip(*mean.get_data(), strict=True)) == pytest.approx({2: 100, 5: 40})
    dots = [sorted(line.get_ydata()[line.get_xdata() == 5]) for line in (first, second)]
    assert dots == [pytest.approx([10, 50, 100]), pytest.approx([5, 25, 50])]
    below = figure.axes[2].lines[0]
    assert dict(zip(*below.get_data(), strict=True)) == pytest.approx({2: 100, 5: 75})


def test_after_a_replaced_digit_bars_tell_what_the_next_one_follows(tmp_path):
    run = measured(tmp_path, {**COUPLED, "train": "D2"}, "carry-coupled-lowest-first-s101", reading_carries)
    figure = draw(FIGURES["carry-reading"], [run])
    for title, widths in {"sums of the trained length": [90, 5], "longer sums": [80, 10]}.items():
        bars = panel(figure, title).patches
        assert [round(bar.get_width(), 6) for bar in bars] == widths, title
        assert bars[1].get_x() == bars[0].get_width()


def test_one_modulus_has_a_panel_for_each_base_with_its_own_prediction(tmp_path):
    figure = draw(FIGURES["base-or-modulus"], prior_runs(tmp_path))
    for title, exact in {"add%81, base 9": 100, "add%81, base 10": 0}.items():
        (prediction,) = [line for line in panel(figure, title).lines if line.get_marker() == "_"]
        assert dict(zip(*prediction.get_data(), strict=True))[4] == exact


def test_unseen_digits_show_the_lowest_seed_and_length_and_the_digits_that_matter_most(tmp_path):
    def records(seed):
        def made(make):
            agreements = {"D1": 1, "D2": 1, "D3": 0.9, "D4": 1, "D5": 0.98, "D6": 0.96 / seed}
            yield from (make(d, share=share, reference="truncated:4") for d, share in agreements.items())
            # Of the answer's first digit: how often it changes with each digit of an operand.
            for digit, share in enumerate((0.9, 0.8, 0.7, 0.6, 0.03, 0.02 * seed), 1):
                yield make("digits:6", f"depends:1:{digit}", share, mode="decoded")

        return made

    name = "unseen-positions3-decay0.1-dropout0.1"
    config = {**D4, "test": "D1..6", "model": {"position_std": 3.0}}
    views = [measured(tmp_path, {**config, "seed": s}, f"{name}-s{s}", records(s)) for s in (1, 2)]
    drawn = draw(FIGURES["unseen-digits"], views).axes[:3]
    texts = [[text.get_text() for text in axes.texts] for axes in drawn]
    assert texts == [["48.0\nto 96.0"], ["96.0\nto 97.0"], ["90.0"]]
    assert [axes.images[0].get_array().item() for axes in drawn] == pytest.approx([48, 96, 90])


def test_regularization_marks_what_was_not_learned(tmp_path):
    view = synthetic_run(
        tmp_path, D4, name="regularization-add-dropout0-decay0-s1", learned=lambda step, digit: 0.5
    )
    axes = panel(draw(FIGURES["regularization"], [view]), "add on D4")
    assert [text.get_text() for text in axes.texts] == ["50.0*"]


def test_figures_never_import_torch_and_leave_no_trace_in_matplotlib():
    script = (
        "import sys, matplotlib; before = matplotlib.rcParams['font.size']\n"
        "import lengthwise.report.figures as figures\n"
        "from lengthwise.report.figures import look\n"
        "with look(): assert matplotlib.rcParams['font.size'] != before\n"
        "assert matplotlib.rcParams['font.size'] == before\n"
        "assert 'torch' not in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
