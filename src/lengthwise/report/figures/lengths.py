"""Figures after training, mostly by length: with predictions, with relative positions, and far beyond training."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from lengthwise.recipes import mark
from lengthwise.records.schema import TRUTH
from lengthwise.records.verdicts import HOLDS
from lengthwise.records.view import RunView
from lengthwise.report.figures import (
    BLACK,
    BLUES,
    COLOURS,
    GREY,
    LINE,
    add_scale,
    draw_bars,
    draw_line,
    entry,
    far_axis,
    heat_map,
    length_axis,
    ordered_colours,
    small_multiples,
    theory_line,
)
from lengthwise.report.queries import (
    Point,
    Seeds,
    best_first,
    by_chain,
    by_lengths,
    by_training_set,
    encoding_name,
    grouped,
    having,
    row_label,
    single_lengths,
    spread,
)
from lengthwise.report.recipe_tables import (
    AT_OFFSETS,
    FOLLOWED,
    candidates,
    ingredient,
    leaderboard,
    mark_tally,
    modulus_words,
    next_digits,
    tasks,
)
from lengthwise.report.tables import short_percent
from lengthwise.theory.accuracy import accuracy
from lengthwise.theory.columns import digit_share
from lengthwise.theory.encodings import layout_facts
from lengthwise.theory.hypotheses import Hypothesis

TESTED, ACCURACY = "length tested (grey: trained)", "accuracy (%)"
FAR = "digits of the longer operand (grey: trained)"

SPECIAL = ("", "lopsided", "carry", "alternating", "repeated", "zeros", "sparse")
"""The names of special sets; that of random operands is empty."""
NAME_WIDTH = 18
"""Characters per line: the longer name of an encoding is broken, to leave room for the panels."""

SHOWN_CANDIDATES = 3
"""Number of best candidates shown for each encoding."""
CONTRADICTED = {
    True: ("contradicted: theory says it generalizes", "-"),
    False: ("contradicted: wrong in another way than predicted", "--"),
}
"""By theory's mark, the label and line style of a frame."""

MAP_SIDE = 2.55
"""Side of a map of both lengths, in inches."""

END = 11
"""The position after ten tenths of an answer, for a first wrong token that is not a digit."""

HEADS = ("head with most on them", "2nd", "3rd", "4th")
"""The heads of a layer that are drawn, those with most attention on the digits needed: more lines would
overlap."""
FAIR = 0.2
"""A layer is drawn where one of its heads has this share on the digits needed, at the shortest length."""


def accuracy_by_length(views: Sequence[RunView], label: Callable[[RunView], str] = row_label) -> Figure | None:
    """One panel per row of a table: the measurement with 95 % intervals, and the prediction."""
    groups = grouped(views, label)
    measured = "measured, 95 % interval" + (", one dot per run" if len(views) > len(groups) else "")

    def paint(axes: Axes, seeds: Seeds) -> None:
        for k, run in enumerate(seeds.each()):
            shift = min(0.2, 0.5 / len(seeds.views)) * (k - (len(seeds.views) - 1) / 2)
            draw_bars(axes, run.intervals(), COLOURS[0], shift=shift, label=measured)
        rows = seeds.first.spec.predictions(single_lengths(seeds.first))
        exact = {row.domain.length: float(100 * row.accuracy) for row in rows if row.accuracy is not None}
        look = {"linestyle": "--", "linewidth": 0.7, "marker": "_", "markersize": 10, "zorder": 4}
        axes.plot(list(exact), list(exact.values()), color=COLOURS[1], **look)
        entry(axes, "exact prediction", color=COLOURS[1], linestyle="--")
        length_axis(axes, seeds.first)

    return small_multiples(groups, paint, x=TESTED, y=ACCURACY, legend="top")


def accuracy_by_base(views: Sequence[RunView]) -> Figure | None:
    """accuracy_by_length with a panel for each task and base."""
    return accuracy_by_length(views, lambda view: f"{view.task}, base {view.task.base}")


def counterexample(views: Sequence[RunView]) -> Figure | None:
    """Accuracy by length, and that of the digit of which training showed too few values."""
    groups = by_training_set(views)
    top = 1 + min((seeds.first.train.length for seeds in groups.values()), default=0)

    def paint(axes: Axes, digit: int | None) -> None:
        what = {"kind": "exact"} if digit is None else {"kind": "digit", "i": digit}
        for (name, seeds), colour in zip(groups.items(), COLOURS, strict=False):
            for run in seeds.each():
                draw_bars(axes, run.intervals(**what), colour, "-", label=name)
            length_axis(axes, seeds.first, shaded=False)
        if digit is not None:
            domains = single_lengths(next(iter(groups.values())).first)
            always_one = [float(100 * digit_share(1, domain, digit)) for domain in domains]
            look = {"color": BLACK, "linestyle": ":", "zorder": 5, "label": f"if digit {digit} were\nalways 1"}
            axes.plot([domain.length for domain in domains], always_one, **look)

    panels = {"whole answer": None, f"only digit {top} of the answer": top} if groups else {}
    return small_multiples(panels, paint, height=1.9, x="length tested", y="accuracy (%)", legend="side")


# Relative positions --------------------------------------------------------------------------------------------


def sums_by_length(views: Sequence[RunView]) -> Figure | None:
    """One panel per encoding: accuracy of sums by length, one line per seed, one colour per trained length
    (shaded), and the prediction for longer sums."""
    colours = _looks(views, COLOURS)

    def paint(axes: Axes, runs: Seeds) -> None:
        for seeds in grouped(runs.views, lambda view: str(view.train)).values():
            view, n, colour = seeds.first, seeds.first.train.length, colours[str(seeds.first.train)]
            label = f"trained on {view.train}, each seed"
            for run in seeds.each():
                draw_line(axes, run.by_length(), colour, width=0.9, marker="o", label=label)
            longer = {domain.length: domain for domain in single_lengths(view) if domain.length > n}
            window = Hypothesis("windowed", n + 1)
            exact = [float(100 * accuracy(view.task, window, domain)) for domain in longer.values()]
            axes.plot(list(longer), exact, color=BLACK, linestyle="--", linewidth=1, zorder=3, label="theory")
            axes.axvspan(n - 0.5, n + 0.5, color=colour, alpha=0.15, linewidth=0, zorder=0)
            length_axis(axes, view, shaded=False)

    groups, x = grouped(views, encoding_name), "length tested (shaded: trained)"
    return small_multiples(groups, paint, x=x, y=ACCURACY, height=1.5, legend="top")


def sums_by_chain(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding and training length: accuracy on longer sums, by longest carry chain."""

    def paint(axes: Axes, seeds: Seeds) -> None:
        points, n = by_chain(seeds), seeds.first.train.length
        draw_line(axes, points, marker="o", label="measured")
        for name, window, colour, style in (
            ("windowed:n+1", n + 1, GREY, "--"),
            ("windowed:n", n, COLOURS[1], ":"),
        ):
            cliff = [100 * (chain < window) for chain in points]
            axes.step(list(points), cliff, where="mid", color=colour, linestyle=style, linewidth=1, label=name)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))

    groups = having(grouped(views, _encoding_and_domain), "chain")
    x = "longest carry chain of a sum longer than trained"
    return small_multiples(groups, paint, x=x, y=ACCURACY, legend="top")


def carry_reading(views: Sequence[RunView]) -> Figure | None:
    """Bars for each encoding: how often the digit after a replaced one follows it, and how often the operands, in
    sums of the trained length and in longer ones."""
    groups = having(grouped(views, encoding_name), "after_change", reference="local")
    found = {name: next_digits(seeds) for name, seeds in groups.items()}

    def paint(axes: Axes, place: str) -> None:
        names, left = list(found), [0.0] * len(found)
        for what, colour in zip(FOLLOWED.values(), COLOURS, strict=False):
            points = [places[place][what] for places in found.values()]
            widths = [0.0 if own is None else own.mean for own in points]
            axes.barh(names, widths, left=left, color=colour, label=f"follows {what}")
            left = [x + width for x, width in zip(left, widths, strict=True)]
        axes.set(xlim=(0, 100), ylim=(len(found) - 0.5, -0.5))

    titles = {"trained length": "sums of the trained length", "longer": "longer sums"}
    panels = {title: place for place, title in titles.items()} if groups else {}
    x, height = "digits after a replaced one (%)", 0.6 + 0.22 * len(groups)
    return small_multiples(panels, paint, x=x, columns=2, height=height, limits=None, legend="top")


def carry_map(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: how often the next digit has a carry, by the sum of a column's digits (upward)
    and the digit that the model read there; frames mark what true sums show."""

    def paint(axes: Axes, seeds: Seeds) -> None:
        base = seeds.first.task.base
        found = spread(seeds.at_end("carry_after"), "i", "j")
        sums, digits = range(2 * base - 1), range(base)
        heat_map(axes, {cell: own.mean for cell, own in found.items()}, sums, digits, upward=True)
        for column in sums:
            for carry in (0, 1):
                corner = (column + carry) % base - 0.5, column - 0.5
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, linewidth=0.8, edgecolor=COLOURS[1]))
        axes.set_yticks(range(0, 2 * base - 1, 3))

    groups = having(grouped(views, encoding_name), "carry_after")
    x, y = "answer digit read", "sum of the column's digits"
    return small_multiples(groups, paint, x=x, y=y, height=1.9, limits=None, scale="a carry follows (%)")


def five_to_twenty(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: right sums by length, a line for each training set."""
    looks = _looks(views, ((COLOURS[0], "-"), (COLOURS[1], "--")))
    return _by_encoding(views, lambda view: (f"trained on {view.train}", *looks[str(view.train)]))


def products_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: right products by length, answered at once and with sums and carries written."""
    styles = _looks(views, ("-", "--", ":"))
    ways = {False: ("answered directly", COLOURS[0]), True: ("with sums and carries", COLOURS[1])}

    def look(view: RunView) -> tuple[str, str, str]:
        way, colour = ways[layout_facts(view.layout).with_steps]
        return f"{view.train}, {way}", colour, styles[str(view.train)]

    return _by_encoding(views, look)


def _looks(views: Sequence[RunView], looks: Sequence[Any]) -> dict[str, Any]:
    """Of each training set."""
    return dict(zip(dict.fromkeys(str(view.train) for view in views), looks, strict=False))


def _by_encoding(views: Sequence[RunView], look: Callable[[RunView], tuple[str, str, str]]) -> Figure | None:
    """A panel for each encoding: accuracy by length, a line for runs of one name and look."""

    def paint(axes: Axes, runs: Seeds) -> None:
        for name, seeds in grouped(runs.views, lambda view: look(view)[0]).items():
            draw_line(axes, seeds.by_length(), *look(seeds.first)[1:], marker="o", label=name)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))

    return small_multiples(grouped(views, encoding_name), paint, x="length tested", y=ACCURACY, legend="top")


def _encoding_and_domain(view: RunView) -> str:
    """The name of an encoding, with the order of writing if it is not the usual one."""
    order = "" if layout_facts(view.layout).lowest_first else "\nhighest first"
    return f"{encoding_name(view)}, {view.train}{order}"


def candidate_grid(views: Sequence[RunView]) -> Figure | None:
    """A panel for each modulus: candidates by encodings, agreement on longer operands."""
    found = {
        name: {encoding: candidates(seeds) for encoding, seeds in grouped(runs.views, encoding_name).items()}
        for name, runs in grouped(views, lambda view: f"modulo {modulus_words(view.task)}").items()
    }

    def paint(axes: Axes, columns: Mapping[str, Mapping[str, Point]]) -> None:
        cells = {
            (name, encoding): own.mean for encoding, points in columns.items() for name, own in points.items()
        }
        texts = {place: f"{value:.0f}" for place, value in cells.items()}
        heat_map(axes, cells, _shown(columns), list(columns), texts=texts)
        axes.set_xticks(range(len(columns)), list(columns), rotation=45, ha="right")

    height = 0.7 + 0.17 * max((len(_shown(columns)) for columns in found.values()), default=0)
    return small_multiples(found, paint, height=height, share=(False, False), scale="agreement (%)")


def _shown(columns: Mapping[str, Mapping[str, Point]]) -> list[str]:
    """The best candidates of every encoding, and truth, sorted by their highest agreement."""
    best = {TRUTH, *(name for points in columns.values() for name in [*points][:SHOWN_CANDIDATES])}
    highest = {name: max(points[name].mean for points in columns.values() if name in points) for name in best}
    return sorted(best, key=lambda name: (-highest[name], name))


def encodings_by_task(views: Sequence[RunView]) -> Figure | None:
    """Accuracy on the training domain (left) and averaged over longer lengths (right): in brackets without a
    prediction, framed where Table 1's mark holds in no seed, as some seed contradicts it or all are undecided."""
    board = leaderboard(views)
    cells = {(label, task): cell for label, line in board.items() for task, cell in line.items()}
    labels, columns = list(board), tasks(board)

    def paint(axes: Axes, beyond: bool) -> None:
        found = {place: cell.beyond() if beyond else cell.learned for place, cell in cells.items()}
        values = {place: point.mean for place, point in found.items() if point}
        silent = {place for place, cell in cells.items() if beyond and mark(cell.first) is None}
        texts = {place: f"({value:.1f})" if place in silent else f"{value:.1f}" for place, value in values.items()}
        heat_map(axes, values, labels, columns, texts=texts)
        for (label, task), cell in cells.items():
            if beyond and (frame := _frame(cell)):
                corner = columns.index(task) - 0.46, labels.index(label) - 0.42
                axes.add_patch(Rectangle(corner, 0.92, 0.84, fill=False, linewidth=1.3, **frame))
        if silent:
            entry(axes, "(in brackets: no prediction)", linestyle="")

    panels = {"training domain": False, "longer operands": True}
    height = 1.1 + 0.2 * len(labels)
    return small_multiples(panels, paint, height=height, share=(False, True), scale="accuracy (%)", legend="top")


def _frame(cell: Seeds) -> dict[str, Any] | None:
    """The style of the frame of a cell whose mark holds in no seed."""
    marked, verdict = mark(cell.first), mark_tally(cell)
    if marked is None or verdict is None or HOLDS in verdict.words:
        return None
    if not verdict.refuted:
        return {"edgecolor": GREY, "linestyle": ":", "label": "undecided in every seed"}
    label, style = CONTRADICTED[marked]
    return {"edgecolor": COLOURS[1], "linestyle": style, "label": label}


# Far beyond training -------------------------------------------------------------------------------------------


def accuracy_far(views: Sequence[RunView]) -> Figure | None:
    """Lines over all tested lengths, for random operands and each special set: one panel for each of these, or,
    for several encodings, one panel per encoding. Similar lines would hide one another in one panel."""
    groups = {fill(name, NAME_WIDTH): seeds for name, seeds in grouped(views, encoding_name).items()}
    sets = [special for special in SPECIAL if any(s.by_length(special=special) for s in groups.values())]
    kinds = {special or "random operands": special for special in sets}

    def paint(axes: Axes, lines: Sequence[tuple[str, Seeds, str]]) -> None:
        for k, (name, seeds, special) in enumerate(lines):
            # Each line is thinner than the one before, so that both are visible where they coincide.
            width = LINE + 0.9 * (len(lines) - 1 - k)
            draw_line(axes, seeds.by_length(special=special), COLOURS[k], marker="o", width=width, label=name)
            far_axis(axes, seeds.first)

    if len(groups) > 1:
        panels = {name: [(kind, seeds, kinds[kind]) for kind in kinds] for name, seeds in groups.items()}
        return small_multiples(panels, paint, x=FAR, y=ACCURACY, height=1.5, legend="top")
    panels = {kind: [(name, seeds, special) for name, seeds in groups.items()] for kind, special in kinds.items()}
    height = 2.5 if len(kinds) == 1 else 1.7
    return small_multiples(panels, paint, x=FAR, y=ACCURACY, columns=2, height=height, legend="side")


def accuracy_by_offset(views: Sequence[RunView]) -> Figure | None:
    """For each shape and layout, dots for each seed, length and offset, and their mean; below, with near digits
    alone."""

    def paint(above: Axes, below: Axes, seeds: Seeds) -> None:
        for axes, kind in zip((above, below), AT_OFFSETS, strict=True):
            draw_line(axes, {n: Point.of([own.mean]) for n, own in seeds.by_length(kind).items()}, GREY)
            for colour, run in zip(cycle(COLOURS), seeds.each(), strict=False):
                found = run.at_end(kind).select("length", "share").sort("length")
                look = {"marker": "o", "markersize": 3, "alpha": 0.6, "markeredgewidth": 0, "linestyle": ""}
                axes.plot(found["length"], 100 * found["share"], color=colour, zorder=3, **look)
            far_axis(axes, seeds.first)

    groups = having(grouped(views, shape_label), "near_at")
    y = ("all digits visible", "near digits alone")
    return small_multiples(groups, paint, x=FAR, y=y, height=1.3, stack=2)


def shape_label(view: RunView) -> str:
    layers, heads = (view.config["model"][name] for name in ("layers", "heads"))
    widths = "equal widths" if layout_facts(view.layout).levels_answers else "natural widths"
    return f"{layers} layer{'s' * (layers > 1)}, {heads} heads,\n{widths}"


def pair_map(views: Sequence[RunView]) -> Figure | None:
    """For each task a map over both operand lengths, the trained square outlined."""
    named = grouped(views, lambda v: f"{v.task.op.answers}, trained on up to {v.train.length} digits")
    groups = {name: seeds for name, seeds in named.items() if by_lengths(seeds)}
    if not groups:
        return None
    # As wide as the squares and their scale need.
    size = len(groups) * (MAP_SIDE + 0.5) + 0.75, MAP_SIDE + 0.6
    figure = Figure(figsize=size, layout="compressed")
    every = figure.subplots(1, len(groups), squeeze=False, subplot_kw={"box_aspect": 1})[0]
    for axes, (name, seeds) in zip(every, groups.items(), strict=True):
        cells, trained = by_lengths(seeds), seeds.first.train.length
        lengths = sorted({length for length, _ in cells})
        # A cell extends from the length below to its own.
        grid = np.array([[cells[n, m] for m in lengths] for n in lengths])
        axes.pcolormesh([0, *lengths], [0, *lengths], grid, cmap=BLUES, vmin=0, vmax=100)
        square = Rectangle((0, 0), trained, trained, fill=False, edgecolor=COLOURS[1], linewidth=1.5)
        # Not clipped: its lower and left edges are on the axes.
        square.set(clip_on=False, zorder=3)
        axes.add_patch(square)
        axes.set(title=name, xlabel="digits of b", ylabel="digits of a")
    add_scale(figure, "accuracy (%)")
    return figure


def ladder(views: Sequence[RunView]) -> Figure | None:
    """Changes to a recipe by lengths, in the worst seed: accuracy on random sums and on the hardest set."""
    random = pl.col("special") == ""
    panels = {
        f"{name}: {kind}": (best_first(grouped(seeds.views, ingredient)), wanted)
        for name, seeds in by_training_set(views).items()
        for kind, wanted in {"random sums": random, "the hardest special set": ~random}.items()
        if not seeds.at_end().filter(wanted).is_empty()
    }

    def paint(axes: Axes, shown: tuple[Mapping[str, Seeds], pl.Expr]) -> None:
        rows, wanted = shown
        points = {name: spread(seeds.at_end().filter(wanted), "length") for name, seeds in rows.items()}
        lows = {(name, n): own.low for name, by_length in points.items() for n, own in by_length.items()}
        texts = {place: short_percent(round(value, 1)) for place, value in lows.items()}
        heat_map(axes, lows, list(rows), sorted({n for _, n in lows}), texts=texts)

    height, scale = 2.9, "accuracy (%), worst seed"
    return small_multiples(panels, paint, x="digits", columns=1, height=height, share=(False, False), scale=scale)


def first_wrong(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding, a line for each length: in which tenth of the answer the first wrong digit is."""
    groups = having(grouped(views, encoding_name), "first_wrong_tenth")
    lengths = sorted({domain.length for seeds in groups.values() for domain in single_lengths(seeds.first)})
    colours = ordered_colours(lengths)

    def paint(axes: Axes, seeds: Seeds) -> None:
        tenths = spread(seeds.at_end("first_wrong_tenth"), "length", "i")
        for length, end in seeds.by_length("wrong_end").items():
            shares = [tenths[length, tenth].mean for tenth in range(1, END)]
            look = {"color": colours[length], "marker": "o", "markersize": 2, "label": f"{length} digits"}
            axes.plot(range(1, END + 1), [*shares, end.mean], **look)
        axes.set_xticks([1, 5, END], ["1", "5", "end"])

    x = "tenth of the answer, from the digit written first"
    return small_multiples(groups, paint, x=x, y="wrong answers (%)", height=_height(groups), legend="side")


def margin_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each encoding: the smallest margin along an answer, on average and in the lowest tenth."""
    groups = having(grouped(views, encoding_name), "margin_mean")

    def paint(axes: Axes, seeds: Seeds) -> None:
        theory_line(axes, 0)
        draw_line(axes, seeds.by_length("margin_mean"), marker="o", label="mean")
        draw_line(axes, seeds.by_length("margin_low"), COLOURS[1], marker="o", label="lowest tenth of answers")
        far_axis(axes, seeds.first)

    y = "smallest margin of an answer"
    return small_multiples(groups, paint, x=FAR, y=y, height=_height(groups), limits=None, legend="top")


def attention_by_length(views: Sequence[RunView]) -> Figure | None:
    """A panel for each run and layer that looks there, a colour for each head: how much of its attention lies on
    the digits needed, and the largest weight on any token.

    What one seed's head 1 does, head 3 of another may do: no two runs are averaged, and colours go by rank.
    """
    groups = having(grouped(views, encoding_name), "on_column")
    panels = {title: panel for name, seeds in groups.items() for title, panel in _titled_heads(name, seeds)}

    def paint(axes: Axes, panel: tuple[Seeds, int, Sequence[int]]) -> None:
        run, layer, heads = panel
        for name, kind, style, marker in (
            ("on digits needed", "on_column", "-", "o"),
            ("largest weight", "attention", "--", "x"),
        ):
            entry(axes, name, color=GREY, linestyle=style, marker=marker, markersize=4)
            for rank, head in enumerate(heads):
                # Where lines coincide, the thinner is drawn on the wider one.
                width = 1 + 0.3 * (len(heads) - 1 - rank)
                shares = run.by_length(kind, i=layer, j=head).items()
                percents = {length: Point(*(100 * value for value in share)) for length, share in shares}
                draw_line(axes, percents, COLOURS[rank], style, width=width, marker=marker)
        for rank in range(len(heads)):
            entry(axes, HEADS[rank], color=COLOURS[rank])
        far_axis(axes, run.first)

    y = "share of attention (%)"
    return small_multiples(panels, paint, x=FAR, y=y, height=_height(panels), legend="top")


def _titled_heads(name: str, seeds: Seeds) -> Iterator[tuple[str, tuple[Seeds, int, list[int]]]]:
    """For each run of an encoding and each layer that is drawn, what tells it apart, and its heads by rank."""
    runs = [run for run in seeds.each() if run.numbers("on_column")]
    for run in runs:
        shortest = single_lengths(run.first)[0].length
        needed = spread(run.at_end("on_column", length=shortest), "i", "j")
        ranked = sorted(needed, key=lambda place: -needed[place].mean)
        layers = {layer: [head for own, head in ranked if own == layer] for layer in run.numbers("on_column")}
        # Where no head looks at the digits needed, the layer that comes closest.
        fair = sorted({layer for (layer, _), share in needed.items() if share.mean >= FAIR}) or [ranked[0][0]]
        for layer in fair:
            told = [f"seed {run.first.seed}"] * (len(runs) > 1) + [f"layer {layer}"] * (len(layers) > 1)
            yield "\n".join(filter(None, (name, ", ".join(told)))), (run, layer, layers[layer][: len(HEADS)])


def _height(panels: Sequence[object] | dict[str, Any]) -> float:
    return 2.2 if len(panels) <= 4 else 1.4
