"""Figures that compare ways to train: model size and number of samples, and how problems are packed."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from lengthwise.records.view import RunView
from lengthwise.report.figures.by_length import draw_measured, shade_trained
from lengthwise.report.figures.curves import by_training_set, grouped
from lengthwise.report.figures.style import (
    COLOURS,
    GREY,
    LineStyle,
    key,
    outer_labels,
    paired_panels,
    percent_axis,
    side_by_side,
    side_legend,
    top_legend,
)
from lengthwise.report.figures.through_training import draw_band

# The paper's models by layers and width.
NAMES = {(3, 48): "nano", (4, 128): "micro", (6, 384): "mini"}

SAMPLE_STYLES: tuple[LineStyle, ...] = ("-", "--", ":")

PACKINGS = {"lines": "one problem a line, padded", "concatenated": "concatenated, no padding"}


def scales(views: Sequence[RunView]) -> Figure | None:
    """For each training set: above, the training loss; below, accuracy on the training domain."""
    groups = by_training_set(views)
    if not groups:
        return None
    sizes = list(dict.fromkeys(map(size_name, sorted(views, key=lambda view: view.config["model"]["width"]))))
    amounts = sorted({samples(view) for view in views})
    figure, pairs = paired_panels(len(groups), columns=4, height=1.35)
    for (losses, accuracies), (label, runs) in zip(pairs, groups.items(), strict=True):
        for seeds in grouped([c.view for c in runs], lambda view: f"{size_name(view)} {samples(view)}").values():
            colour = COLOURS[sizes.index(size_name(seeds[0].view))]
            style = SAMPLE_STYLES[amounts.index(samples(seeds[0].view))]
            draw_band(losses, [curves.values("train_loss") for curves in seeds], colour, style)
            draw_band(accuracies, [curves.percent("exact", curves.own_domain) for curves in seeds], colour, style)
        losses.set_yscale("log")
        losses.set_title(f"trained on {label}")
        percent_axis(accuracies)
        losses.minorticks_off()
    outer_labels(figure, "step", "")
    for losses, accuracies in pairs[::4]:
        losses.set_ylabel("training loss")
        accuracies.set_ylabel("right (%)")
    handles = [key(size, COLOURS[k]) for k, size in enumerate(sizes)]
    handles += [key(f"{amount:,}\nsamples", GREY, SAMPLE_STYLES[k]) for k, amount in enumerate(amounts)]
    side_legend(figure, handles)
    return figure


def packing(views: Sequence[RunView]) -> Figure | None:
    """Left, the training domain through training; right, every length at the end."""
    ordered = sorted(views, key=lambda view: list(PACKINGS).index(_packing(view)))
    groups = grouped(ordered, lambda view: PACKINGS[_packing(view)])
    if not groups:
        return None
    figure, (training, lengths) = side_by_side(height=1.8)
    for k, seeds in enumerate(groups.values()):
        draw_band(training, [curves.percent("exact", curves.own_domain) for curves in seeds], COLOURS[k])
        for curves in seeds:
            draw_measured(lengths, curves, COLOURS[k], shift=0.2 * (k - 0.5))
    shown = next(iter(groups.values()))[0].view
    shade_trained(lengths, shown)
    percent_axis(training)
    training.set_title(f"{shown.train}, through training")
    training.set_xlabel("step")
    training.set_ylabel("right answers (%)")
    lengths.set_title("every length, after training")
    lengths.set_xlabel("length tested (grey: trained)")
    top_legend(figure, [key(label, COLOURS[k], "-", "o") for k, label in enumerate(groups)])
    return figure


def _packing(view: RunView) -> str:
    return view.config["data"]["packing"]


def size_name(view: RunView) -> str:
    model = view.config["model"]
    shape = model["layers"], model["width"]
    return NAMES.get(shape, f"{shape[0]} layers,\nwidth {shape[1]}")


def samples(view: RunView) -> int:
    """How many distinct problems training has: a fixed number, or a fresh one each time."""
    training = view.config["training"]
    return view.config["data"]["samples"] or training["steps"] * training["batch"]
