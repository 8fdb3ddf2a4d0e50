"""The grid of dropout and weight decay: how far a model computes what theory says beyond its training lengths."""

from collections.abc import Sequence
from statistics import fmean

from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable
from lengthwise.report.run_tables import learned
from lengthwise.report.tables import short_percent

PREFIX = "regularization-"
WORDS = {"add": "addition", "mul": "multiplication"}


def grids(collection: Collection) -> dict[str, TextTable]:
    """A grid for the recipe of each table that has one."""
    tasks: dict[str, list[RunView]] = {}
    for view in collection.views:
        if view.name.startswith(PREFIX):
            tasks.setdefault(recipe_of(view), []).append(view)
    return {recipe: grid(views) for recipe, views in tasks.items()}


def recipe_of(view: RunView) -> str:
    """The recipe whose tables the run's task belongs to."""
    word = WORDS[view.task.operation]
    return word if view.task.modulus is None else f"modular-{word}"


def grid(views: Sequence[RunView]) -> TextTable:
    cells: dict[tuple[float, float], list[RunView]] = {}
    for view in views:
        key = (view.config["model"]["dropout"], view.config["training"]["weight_decay"])
        cells.setdefault(key, []).append(view)
    dropouts, decays = (sorted({key[axis] for key in cells}) for axis in (0, 1))
    first = views[0]
    return TextTable(
        f"{first.task} trained on {first.train} for {first.config['training']['steps']} steps",
        ("dropout", *(f"decay {decay:g}" for decay in decays)),
        tuple((f"{x:g}", *(_cell(cells.get((x, y), [])) for y in decays)) for x in dropouts),
    )


def _cell(views: Sequence[RunView]) -> str:
    if not views:
        return "–"
    beyond, own = fmean(map(agreement_beyond, views)), fmean(map(learned, views))
    return f"{short_percent(round(beyond, 2))} ({short_percent(round(own, 2))})"


def agreement_beyond(view: RunView) -> float:
    """The mean agreement with theory, in percent, over test lengths that training did not reach."""
    return fmean(
        100 * verdict.agreement.share
        for verdict in view.verdicts()
        if verdict.agreement is not None and verdict.prediction.domain.length > view.train.length
    )
