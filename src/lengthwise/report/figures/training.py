"""Figures over training: accuracy by length and by digit, R2 and learning order of digits; and training
settings."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import StatisticsError, correlation

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.recipes import THEORY
from lengthwise.records.analysis import LEARNED, LearningOrder, learning_order, standstills
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import GATE
from lengthwise.records.view import RunView
from lengthwise.report import group_by
from lengthwise.report.figures import (
    BLACK,
    COLOURS,
    GREY,
    PALE,
    PERCENT,
    draw_bars,
    draw_training,
    entry,
    heat_map,
    length_axis,
    ordered_colours,
    set_limits,
    small_multiples,
    theory_line,
)
from lengthwise.report.queries import (
    Cells,
    Point,
    Points,
    Seeds,
    by_training_set,
    dependence_cells,
    grouped,
    having,
    row_label,
    single_lengths,
    unmoved,
)
from lengthwise.report.recipe_tables import decay_and_dropout, shorter
from lengthwise.theory.columns import digit_accuracy as exact_digit_accuracy
from lengthwise.theory.columns import r2_ceiling
from lengthwise.theory.plateaus import Plateau, plateaus

DIGITS = range(1, 10)
"""The nine panels of the paper, as far as answers are that long."""

HEIGHTS = (1, 110)
"""Percent, of plateaus: the axis is logarithmic, since many heights are low."""

# The paper's models by layers and width.
NAMES = {(3, 48): "nano", (4, 128): "micro", (6, 384): "mini"}
STYLES = ("-", "--", ":")
"""Of lines, by number of samples."""

PACKINGS = {"lines": "one problem per row, padded", "concatenated": "concatenated, no padding"}


def accuracy_by_domain(views: Sequence[RunView]) -> Figure | None:
    """For each training domain: accuracy on each length (top), and agreement with the predicted function
    (bottom)."""
    groups = by_training_set(views)
    tested = dict.fromkeys(str(d) for seeds in groups.values() for d in single_lengths(seeds.first))
    colours = ordered_colours(tested)

    def paint(above: Axes, below: Axes, seeds: Seeds) -> None:
        rows = {str(row.domain): row for row in seeds.first.spec.predictions(single_lengths(seeds.first))}
        right = seeds.domains_through_training(dict.fromkeys(rows, TRUTH))
        agreeing = seeds.domains_through_training({name: str(row.hypothesis) for name, row in rows.items()})
        for name, row in rows.items():
            style = "-" if row.domain.length <= seeds.first.train.length else "--"
            draw_training(above, right.get(name, {}), colours[name], style, label=f"on {name}")
            draw_training(below, agreeing.get(name, {}), colours[name], style)
        for row in rows.values():
            if row.accuracy is not None:
                theory_line(above, float(100 * row.accuracy), label="predicted end")
                theory_line(below, 100)

    names = ("accuracy (%)", "agreement (%)")
    return small_multiples(groups, paint, x="step", y=names, columns=3, height=1.7, stack=2, legend="side")


def digit_accuracy(views: Sequence[RunView]) -> Figure | None:
    """One panel per digit of a sum, on a sample of all lengths; dotted lines are where theory says it ends."""
    groups = by_training_set(view for view in views if mixtures(view))
    found = {name: seeds.digits_through_training(mixtures(seeds.first)[0]) for name, seeds in groups.items()}

    def paint(axes: Axes, digit: int) -> None:
        for (name, seeds), colour in zip(groups.items(), COLOURS, strict=False):
            draw_training(axes, found[name].get(digit, {}), colour, label=name)
            sample = mixtures(seeds.first)[0]
            hypothesis = seeds.first.spec.predicted_hypothesis(sample)
            if seeds.first.task.plain_sum and hypothesis is not None and hypothesis.kind != "windowed":
                end = float(100 * exact_digit_accuracy(hypothesis, sample, digit))
                theory_line(axes, end, colour, "predicted end")

    panels = {f"digit {digit}": digit for digit in DIGITS if any(digit in own for own in found.values())}
    return small_multiples(panels, paint, x="step", y="accuracy (%)", columns=3, height=1.25, legend="top")


def mixtures(view: RunView) -> list[Domain]:
    """The test domains that mix lengths: the paper's D<=9."""
    return [domain for domain in view.tests if len(domain.parts) > 1]


def own_digit_accuracy(views: Sequence[RunView]) -> Figure | None:
    """A panel for each row of a table: every digit, and the whole answer, on the training domain."""
    groups = having(grouped(views, row_label), "digit")
    colours = ordered_colours(range(1, 1 + max(map(_answer_digits, groups.values()), default=0)))

    def paint(axes: Axes, seeds: Seeds) -> None:
        draw_training(axes, seeds.own_accuracy(), BLACK, "--", label="whole answer", zorder=3)
        for digit, points in seeds.digits_through_training(seeds.first.train).items():
            if digit <= _answer_digits(seeds):
                draw_training(axes, points, colours[digit], label=f"digit {digit}")

    return small_multiples(groups, paint, x="step", y="accuracy (%)", height=1.4, legend="side")


def _answer_digits(seeds: Seeds) -> int:
    """The number of digits of answers in the training domain; higher ones are padding."""
    return seeds.first.task.answer_digits(seeds.first.train.length)


# Single digits: how well two features explain them, together and in which order --------------------------------


def digit_dynamics(views: Sequence[RunView]) -> Figure | None:
    """A panel for each training set: R2 of each digit, and the ceiling that a perfect adder reaches."""
    groups, digits = _with_dynamics(views)
    colours = ordered_colours(digits)

    def paint(axes: Axes, seeds: Seeds) -> None:
        for digit, colour in colours.items():
            draw_training(axes, r2_curve(seeds, digit), colour, label=f"digit {digit}")
        for digit, colour in colours.items():
            theory_line(axes, float(r2_ceiling(seeds.first.train, digit)), colour, label="ceiling")

    y, limits = "share explained ($R^2$)", (-0.12, 1.04)
    return small_multiples(groups, paint, x="step", y=y, columns=3, height=2.0, limits=limits, legend="side")


def digit_correlation(views: Sequence[RunView]) -> Figure | None:
    """A panel for each training set and reference digit: correlation of its R2 with every other digit's."""
    groups, digits = _with_dynamics(views)

    def paint(axes: Axes, case: tuple[Seeds, int]) -> None:
        seeds, reference = case
        for run in seeds.each():
            for name, changes, colour, shift in (
                ("of $R^2$", False, COLOURS[0], -0.12),
                ("of its change from one evaluation to the next", True, COLOURS[1], 0.12),
            ):
                found = correlations(run, reference, digits, changes=changes)
                stems = {digit: Point(value, min(0, value), max(0, value)) for digit, value in found.items()}
                draw_bars(axes, stems, colour, shift=shift, label=name)
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    cases = {
        f"{name}: with digit {part.length}": (seeds, part.length)
        for name, seeds in groups.items()
        for part in seeds.first.train.parts
    }
    x, y, limits = "other digit", "correlation over evaluations", (-1.1, 1.1)
    return small_multiples(cases, paint, x=x, y=y, columns=2, height=1.5, limits=limits, legend="top")


def correlations(run: Seeds, reference: int, digits: Sequence[int], *, changes: bool = False) -> dict[int, float]:
    """The correlation of each other digit's R2 with the reference digit's; none if one of them is constant."""
    ours, found = r2_curve(run, reference), {}
    for digit in digits:
        theirs = r2_curve(run, digit)
        pairs = [(ours[step].mean, theirs[step].mean) for step in sorted(ours.keys() & theirs.keys())]
        if changes:
            pairs = [(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in pairwise(pairs)]
        if digit != reference and len(pairs) > 2:
            with suppress(StatisticsError):
                found[digit] = correlation(*zip(*pairs, strict=True))
    return found


def r2_curve(seeds: Seeds, digit: int) -> Points:
    return seeds.through_training("r2", mode="decoded", i=digit)


def _with_dynamics(views: Sequence[RunView]) -> tuple[dict[str, Seeds], list[int]]:
    """Training domains with R2 of digits, and the digits of the longest trained sums: above them a trained model
    writes a constant."""
    groups = having(by_training_set(views), "r2", mode="decoded")
    longest = 1 + max((seeds.first.train.length for seeds in groups.values()), default=0)
    measured = {digit for seeds in groups.values() for digit in seeds.numbers("r2", mode="decoded")}
    return groups, sorted(digit for digit in measured if digit <= longest)


def learning_steps(views: Sequence[RunView]) -> Figure | None:
    """One panel per training domain: the step at which each digit is learned, with the top positions shaded."""
    groups: dict[str, list[LearningOrder]] = {}
    for name, seeds in by_training_set(views).items():
        for view in seeds.views:
            with suppress(InputError):
                order = learning_order(view.records, view.train)
                groups.setdefault(name, []).append(order)
    steps = [step for orders in groups.values() for order in orders for step in order.steps.values()]
    highest = 1.15 * max((step for step in steps if step is not None), default=1)

    def paint(axes: Axes, orders: Sequence[LearningOrder]) -> None:
        top = orders[0].top
        digits = [digit for digit in orders[0].steps if digit <= top[-1]]
        times = {digit: [step for order in orders if (step := order.steps[digit]) is not None] for digit in digits}
        learned = {digit: Point.of(steps) for digit, steps in times.items() if steps}
        never = [digit for digit, steps in times.items() if len(steps) < len(orders)]
        draw_bars(axes, learned, COLOURS[0], "-", label="learned")
        for digit in never:
            axes.plot(digit, highest, "^", color=COLOURS[1], clip_on=False, label="never in training")
        axes.axvspan(top[0] - 0.5, top[-1] + 0.5, color=PALE, linewidth=0, zorder=0, label="top positions")
        axes.set_xticks(digits)

    x, y = "digit of the answer (1 = units)", f"step from which\naccuracy is {100 * LEARNED:g} %"
    return small_multiples(groups, paint, x=x, y=y, columns=3, height=1.8, limits=(0, highest), legend="top")


# Plateaus, and training settings -------------------------------------------------------------------------------


def accuracy_plateaus(views: Sequence[RunView]) -> Figure | None:
    """One panel per row with a plateau: every seed's accuracy on the training domain, and the predicted
    accuracies."""
    rows = grouped((view for view in views if view.task.modulus is not None), row_label)
    groups = {name: (seeds, nearest) for name, seeds in rows.items() if (nearest := nearest_heights(seeds))}

    def paint(axes: Axes, group: tuple[Seeds, dict[Plateau, bool]]) -> None:
        seeds, nearest = group
        for run in seeds.each():
            percents = {step: point for step, point in run.own_accuracy().items() if step > 0}
            draw_training(axes, percents, marker="o", label="measured")
        for plateau in plateaus(seeds.first.task, seeds.first.train):
            height = float(100 * plateau.accuracy)
            axes.axhline(height, color=PALE, linewidth=0.7, zorder=0, label="predicted accuracy")
        for plateau, met in nearest.items():
            # The label is below the line if a curve agrees with it, else above.
            colour, side, distance = (COLOURS[1], "top", 0.93) if met else (GREY, "bottom", 1.05)
            height, name = float(100 * plateau.accuracy), "agrees with" if met else "closest to"
            theory_line(axes, height, colour)
            entry(axes, f"{name} a plateau", color=colour, linestyle=":")
            look = {"transform": axes.get_yaxis_transform(), "fontsize": 6, "color": colour}
            axes.text(1, height * distance, f"{plateau.known}: {height:.1f}", ha="right", va=side, **look)
        axes.set_yscale("log", nonpositive="clip")
        axes.set_yticks([1, 10, 100], ["1", "10", "100"])
        axes.minorticks_off()

    y = "accuracy on the training domain (%)"
    return small_multiples(groups, paint, x="step", y=y, columns=3, height=1.9, limits=HEIGHTS, legend="top")


def nearest_heights(seeds: Seeds) -> dict[Plateau, bool]:
    """The predicted accuracy closest to each standstill of a seed's accuracy on the training domain, and whether
    some standstill agrees with it."""
    found: dict[Plateau, bool] = {}
    heights = plateaus(seeds.first.task, seeds.first.train)
    for run in seeds.each():
        problems = run.first.config["evaluation"]["interim_problems"]
        accuracies = {step: point.mean / 100 for step, point in run.own_accuracy().items()}
        for stand in standstills(accuracies, problems):
            nearest = min(heights, key=lambda plateau: abs(float(plateau.accuracy) - stand.accuracy))
            found[nearest] = found.get(nearest, False) or stand.is_at(float(nearest.accuracy), problems)
    return found


def scales(views: Sequence[RunView]) -> Figure | None:
    """For each training domain: the training loss (top), and accuracy on the training domain (bottom)."""
    sizes = list(dict.fromkeys(map(size_name, sorted(views, key=lambda view: view.config["model"]["width"]))))
    amounts = sorted({samples(view) for view in views})

    def paint(losses: Axes, accuracies: Axes, runs: Seeds) -> None:
        named = grouped(runs.views, lambda view: f"{size_name(view)},\n{samples(view):,} samples")
        for name, seeds in sorted(named.items(), key=lambda item: sizes.index(size_name(item[1].first))):
            look = COLOURS[sizes.index(size_name(seeds.first))], STYLES[amounts.index(samples(seeds.first))]
            draw_training(losses, seeds.through_training("train_loss"), *look, label=name)
            draw_training(accuracies, seeds.own_accuracy(), *look)
        losses.set_yscale("log")
        losses.minorticks_off()
        set_limits(accuracies, *PERCENT)

    names = ("training loss", "accuracy (%)")
    return small_multiples(by_training_set(views), paint, x="step", y=names, stack=2, limits=None, legend="side")


def size_name(view: RunView) -> str:
    model = view.config["model"]
    shape = model["layers"], model["width"]
    return NAMES.get(shape, f"{shape[0]} layers,\nwidth {shape[1]}")


def samples(view: RunView) -> int:
    """The number of distinct training problems: fixed, or new ones at every step."""
    training = view.config["training"]
    return view.config["data"]["samples"] or training["steps"] * training["batch"]


def packing(views: Sequence[RunView]) -> Figure | None:
    """Accuracy on the training domain over training (left), and on every length at the end (right)."""
    ways = grouped(views, lambda view: PACKINGS[view.config["data"]["packing"]])
    groups = {name: ways[name] for name in PACKINGS.values() if name in ways}

    def paint(axes: Axes, through_training: bool) -> None:
        for k, (name, seeds) in enumerate(groups.items()):
            if through_training:
                draw_training(axes, seeds.own_accuracy(), COLOURS[k], label=name)
                continue
            for run in seeds.each():
                draw_bars(axes, run.intervals(), COLOURS[k], shift=0.2 * (k - 0.5))
            length_axis(axes, seeds.first)

    trained = next((str(seeds.first.train) for seeds in groups.values()), "")
    panels = {f"{trained}, by training step": True, "every length (grey: trained)": False} if groups else {}
    return small_multiples(panels, paint, y="accuracy (%)", height=1.8, share=(False, True), legend="top")


def dependence(views: Sequence[RunView]) -> Figure | None:
    """For each run: how often replacing a digit of a changes a digit of the answer, measured (top) and exact
    (bottom)."""
    runs = grouped(views, _task_and_domain).items()
    groups = {name: (seeds.first, cells) for name, seeds in runs if (cells := dependence_cells(seeds))}

    def paint(above: Axes, below: Axes, shown: tuple[RunView, tuple[Cells, Cells, object]]) -> None:
        view, (measured, exact, _) = shown
        # Up to the highest answer digit that ever changes.
        rows = range(1, 1 + max(i for cells in (measured, exact) for (i, _), share in cells.items() if share))
        columns = range(1, 1 + max(j for _, j in measured))
        for axes, cells in ((above, measured), (below, exact)):
            heat_map(axes, cells, rows, columns, upward=True)
            for axis in (axes.xaxis, axes.yaxis):
                ticks = axis.get_ticklocs()
                # Every digit, or every other one if there are six or more.
                if len(ticks) >= 6:
                    axis.set_ticks(ticks[::2], [f"{tick + 1:g}" for tick in ticks[::2]])
            # Digits are in written order, units to the right; a line separates the trained ones from the rest.
            axes.invert_xaxis()
            axes.axvline(view.train.length - 0.5, color=COLOURS[1], linestyle="--", linewidth=1.2)

    x, y = "digit of a that is changed (1 = units)", ("measured:\nanswer digit", "exact:\nanswer digit")
    return small_multiples(groups, paint, x=x, y=y, height=1.3, stack=2, share=(True, False), scale="changed (%)")


def regularization(views: Sequence[RunView]) -> Figure | None:
    """A grid for each task: agreement on longer lengths."""

    def paint(axes: Axes, runs: Seeds) -> None:
        _paint_regularized(axes, runs, lambda seeds: seeds.beyond(THEORY))

    groups = grouped(views, _task_and_domain)
    return small_multiples(groups, paint, x="dropout", y="weight decay", height=1.7, scale="agreement (%)")


def unseen_digits(views: Sequence[RunView]) -> Figure | None:
    """Three grids for each size of position embeddings: agreement on longer lengths, how rarely a digit that was
    always zero changes an answer, and agreement on shorter lengths; each where it is lowest."""

    def paint(longer: Axes, replaced: Axes, below: Axes, runs: Seeds) -> None:
        _paint_regularized(longer, runs, lambda seeds: seeds.beyond(THEORY, over=min))
        _paint_regularized(replaced, runs, lambda seeds: seeds.percent(unmoved, over=min))
        _paint_regularized(
            below, runs, lambda seeds: seeds.exact_match(*shorter(seeds.first), reference=THEORY, over=min)
        )

    groups = grouped(views, lambda view: f"positions start at {view.config['model']['position_std']:g}")
    y = [f"{name}\nweight decay" for name in ("longer operands", "digit replaced", "shorter operands")]
    return small_multiples(groups, paint, x="dropout", y=y, height=1.3, stack=3, scale="lowest (%)")


def _paint_regularized(axes: Axes, runs: Seeds, agreement: Callable[[Seeds], Point | None]) -> None:
    """Agreement by decay and dropout, that of the lowest seed, and of the highest if it differs; a star marks
    models of which some seed had not learned the training domain. Where digits are not ignored, colours are
    alike."""
    cells = {place: Seeds(tuple(own)) for place, own in group_by(runs.views, decay_and_dropout).items()}
    found = {place: point for place, seeds in cells.items() if (point := agreement(seeds))}
    missed = {place for place, seeds in cells.items() if not seeds.learned or seeds.learned.low < 100 * GATE}
    texts = {place: f"{_from_to(point)}{'*' * (place in missed)}" for place, point in found.items()}
    decays, dropouts = (sorted({place[k] for place in cells}) for k in (0, 1))
    lows = {place: point.low for place, point in found.items()}
    heat_map(axes, lows, decays, dropouts, texts=texts, upward=True, least=90)


def _from_to(point: Point) -> str:
    low, high = (f"{end:.1f}" for end in (point.low, point.high))
    return low if low == high else f"{low}\nto {high}"


def _task_and_domain(view: RunView) -> str:
    return f"{view.task} on {view.train}"
