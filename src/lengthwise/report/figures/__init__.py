"""Figures from records alone: `FIGURES` names them, `draw` makes one from runs, `save` writes SVG and PNG."""

from collections.abc import Iterable
from pkgutil import resolve_name

from matplotlib.figure import Figure as Picture

from lengthwise.recipes import RECIPES, Figure, of_rows
from lengthwise.records.view import RunView
from lengthwise.report.figures.style import look, save

FIGURES: dict[str, Figure] = {figure.name: figure for recipe in RECIPES.values() for figure in recipe.figures}


def draw(figure: Figure, views: Iterable[RunView]) -> Picture | None:
    """From the runs of its rows among these; None where they do not hold what it shows."""
    wanted = sorted(of_rows(RECIPES[figure.of].rows, views), key=_place)
    with look():
        return resolve_name(f"{__name__}.{figure.drawn_by}")(wanted) if wanted else None


def _place(view: RunView) -> tuple[str, int, bool, int, int]:
    """Panels and legends go by task, modulus and training set: D4 before D5 before D4+D5."""
    task, train = view.task, view.train
    return task.operation, task.modulus or 0, len(train.parts) > 1, train.length, view.seed


__all__ = ["FIGURES", "draw", "save"]
