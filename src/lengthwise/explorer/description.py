"""A model as its config describes it, without loading it."""

from pathlib import Path
from typing import Any

from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.experiments.config import RunConfig, read_config
from lengthwise.records.folder import RunFolder
from lengthwise.report.words import headline
from lengthwise.shipped import shipped_models
from lengthwise.theory.predict import Case, find_rule


def describe_model(name: str, path: Path) -> dict[str, Any]:
    start = {"name": name, "shipped": name in shipped_models()}
    try:
        return start | _described(read_config(RunFolder(path).config(), "config.json"))
    except InputError as error:
        return start | {"error": str(error)}


def _described(config: RunConfig) -> dict[str, Any]:
    task, train = config.task_object, config.train_domain
    beyond = Domain.parse(f"D{train.length + 1}", config.base)
    case = Case(task, train, beyond, config.encoding, config.resolved_layout)
    rule = find_rule(case)
    return {
        "task": str(task),
        "symbol": task.symbol,
        "base": config.base,
        "train": str(train),
        "trained_lengths": train.operand_lengths,
        "encoding": config.encoding,
        "layout": config.resolved_layout,
        "seed": config.seed,
        "operand_digits": config.operand_width,
        "headline": headline(rule.hypothesis(case), rule.generalizes),
    }
