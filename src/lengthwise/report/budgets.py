"""What each recipe took: how its models were trained, on what, and for how long."""

import re
from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import Any

from lengthwise.records.view import RunView
from lengthwise.report.collection import Collection
from lengthwise.report.formats import TextTable

COLUMNS = (
    "recipe",
    "optimizer",
    "runs",
    "steps",
    "batch",
    "dropout",
    "decay",
    "samples",
    "operand width",
    "tokens",
    "seconds",
    "device",
    "commits",
)


def budget_table(collection: Collection) -> TextTable:
    views = {view.name: view for view in collection.views}
    lines = []
    for recipe, note in collection.notes.items():
        runs = [views[name] for name in note["runs"] if name in views]
        if runs:
            lines.append(_line(recipe, note, runs))
    return TextTable("Budgets", COLUMNS, tuple(lines), words=2)


def remarks(collection: Collection) -> str:
    """What someone wrote down by hand about a recipe's runs, as the key `remark` of its note."""
    told = {recipe: note["remark"] for recipe, note in collection.notes.items() if "remark" in note}
    return "\n".join(f"- {recipe}: {remark}" for recipe, remark in told.items())


def _line(recipe: str, note: dict[str, Any], runs: Sequence[RunView]) -> tuple[str, ...]:
    training = [view.config["training"] for view in runs]
    data = [view.config["data"] for view in runs]
    return (
        recipe,
        several(map(_optimizer, training)),
        str(len(runs)),
        several(f"{t['steps']:,}" for t in training),
        several(str(t["batch"]) for t in training),
        several(f"{view.config['model']['dropout']:g}" for view in runs),
        several(f"{t['weight_decay']:g}" for t in training),
        several(map(_samples, data)),
        several(str(d["operand_width"] or "longest") for d in data),
        tokens_text(runs),
        f"{note['wall_seconds']:.0f}",
        str(note["device"]),
        several(map(_commit, runs)),
    )


def tokens_text(runs: Sequence[RunView]) -> str:
    """All that its models read in training, padding included; runs of earlier versions did not note it."""
    found = [view.source.costs().get("tokens", nan) for view in runs]
    return "–" if isnan(sum(found)) else f"{sum(found) / 1e6:,.0f} M"


def _samples(data: dict[str, Any]) -> str:
    """How many, and how they are drawn where it is not all pairs alike."""
    count = "fresh" if data["samples"] is None else f"{data['samples']:,}"
    sampling = [] if data["sampling"] == "uniform" else [data["sampling"]]
    sparse = data["samples"] is None and data.get("sparse")
    return ", ".join([count, *sampling, *(["sparse digits"] if sparse else [])])


def _optimizer(training: dict[str, Any]) -> str:
    rates = f"{training['learning_rate']:g}"
    if training["optimizer"] == "muon":
        rates = f"{training['muon_learning_rate']:g}/{rates}"
    return f"{training['optimizer']} {rates}, {training['schedule']}"


def _commit(view: RunView) -> str:
    """Seven digits of it, and the mark of a tree that differed from it."""
    commit = (view.source.environment() or {}).get("commit")
    return "–" if commit is None else re.sub(r"^([0-9a-f]{7})[0-9a-f]+", r"\1", commit)


def several(values: Iterable[str]) -> str:
    """Each value once, in order."""
    return "; ".join(dict.fromkeys(values))
