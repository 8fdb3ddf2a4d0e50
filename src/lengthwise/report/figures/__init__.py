"""Figures from records alone: `FIGURES` names them, `draw` makes one from runs, `save` writes SVG and PNG."""

from collections.abc import Iterable
from pkgutil import resolve_name

from matplotlib.figure import Figure as Picture

from lengthwise.errors import InputError
from lengthwise.recipes import RECIPES, Figure, of_rows
from lengthwise.records.view import RunView
from lengthwise.report.figures.style import look, save

FIGURES: dict[str, Figure] = {figure.name: figure for recipe in RECIPES.values() for figure in recipe.figures}


OF_A_RUN = {
    "lengths": "lengths.accuracy_by_length",
    "training": "training.accuracy_by_domain",
    "digits": "training.own_digit_accuracy",
    "dependence": "grids.dependence",
}


def draw_run(view: RunView, name: str) -> Picture:
    """A picture of one run, by its name."""
    if name not in OF_A_RUN:
        raise InputError(f"unknown figure {name!r} (choose from {', '.join(OF_A_RUN)})")
    with look():
        picture = resolve_name(f"{__name__}.{OF_A_RUN[name]}")([view])
    if picture is None:
        raise InputError(f"{view.source.path} has no records for the figure {name!r}")
    return picture


def draw(figure: Figure, views: Iterable[RunView]) -> Picture | None:
    """From the runs of its rows among these; None where they do not hold what it shows."""
    wanted = sorted(of_rows(RECIPES[figure.of].rows, views), key=_place)
    with look():
        return resolve_name(f"{__name__}.{figure.drawn_by}")(wanted) if wanted else None


def _place(view: RunView) -> tuple[str, int, bool, int, int]:
    """Panels and legends go by task, modulus and training set: D4 before D5 before D4+D5."""
    task, train = view.task, view.train
    return task.operation, task.modulus or 0, len(train.parts) > 1, train.length, view.seed


__all__ = ["FIGURES", "draw", "draw_run", "save"]
