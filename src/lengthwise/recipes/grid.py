"""A grid of runs: every combination of the values that options take, each run named after its own.

>>> rows = grid({"task": "add", "size": "nano"}, {"seed": range(2), "training.learning_rate": [0.01, 0.02]})
>>> [*rows][:2]
['add-D4-learned-training.learning-rate=0.01-s0', 'add-D4-learned-training.learning-rate=0.02-s0']
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from lengthwise.errors import InputError
from lengthwise.recipes.configure import configure
from lengthwise.recipes.recipe import Rows
from lengthwise.runs.config import RunConfig, file_name

START = ("config", "preset", "size")
"""What a config starts from, besides the task."""
IN_EVERY_NAME = ("task", "train", "base", "encoding", "layout", "seed")
MOST_RUNS, LONGEST_NAME = 100_000, 255


def values(text: str) -> list[Any]:
    """What an option takes one after the other; a JSON list where values have commas of their own.

    >>> values("0..3"), values("D1..4,D5"), values('["D5,D6", null]')
    ([0, 1, 2, 3], ['D1..4', 'D5'], ['D5,D6', None])
    """
    if span := re.fullmatch(r"(\d{1,18})\.\.(\d{1,18})", text):
        first, last = map(int, span.groups())
        if not 0 <= last - first < MOST_RUNS:
            raise InputError(f"range {text} has {max(last - first + 1, 0):,} values (must be 1 to {MOST_RUNS:,})")
        return [*range(first, last + 1)]
    if not text.startswith("["):
        return text.split(",")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"values {text!r} are not a JSON list: {error}") from None
    if not found:
        raise InputError(f"no values in {text!r}")
    return found


def grid(options: Mapping[str, Any], vary: Mapping[str, Sequence[Any]]) -> Rows:
    """The runs of all combinations, by name. Options are those of `train`, as `seed` and `training.steps`."""
    fixed, varied = _named(options), _named(vary)
    if math.prod(map(len, varied.values())) > MOST_RUNS:
        raise InputError(f"more than {MOST_RUNS:,} runs in one sweep")
    rows: Rows = {}
    for combination in product(*varied.values()):
        chosen = dict(zip(varied, combination, strict=True))
        config = configured({**fixed, **chosen})
        name = _run_name(config, chosen)
        if rows.setdefault(name, config) != config:
            raise InputError(f"two different runs of the sweep would be called {name}")
    if not rows:
        raise InputError("no runs: an option to vary has no values")
    return rows


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their full names; those of an inner config may come as a dict."""
    return {option_name(name): value for name, value in _one_level(options).items()}


def configured(options: Mapping[str, Any]) -> RunConfig:
    """The config that `train` has with these options."""
    keywords: dict[str, Any] = {}
    for name, value in options.items():
        outer, _, inner = name.partition(".")
        if inner:
            keywords.setdefault(outer, {})[inner] = value
        else:
            keywords[name] = value
    return configure(**keywords)


def option_name(name: str) -> str:
    """The full name of an option of configs, `training.steps`, where the last part may do.

    >>> option_name("training.learning-rate"), option_name("steps")
    ('training.learning_rate', 'training.steps')
    """
    last, known = name.replace("-", "_"), [*START, *_flat(RunConfig(task="add"))]
    found = [option for option in known if option == last] or [o for o in known if o.endswith(f".{last}")]
    if len(found) != 1:
        raise InputError(f"unknown option {name!r} (choose one of a run's config, as seed or training.steps)")
    return found[0]


def changed_options(config: RunConfig, start: RunConfig) -> dict[str, Any]:
    """Where a config differs from the one that it started from."""
    before = _flat(start)
    return {name: value for name, value in _flat(config).items() if value != before[name]}


def _flat(config: RunConfig) -> dict[str, Any]:
    return _one_level(config.model_dump())


def _one_level(content: Mapping[str, Any]) -> dict[str, Any]:
    """With a dot where there was an inner dict."""
    found: dict[str, Any] = {}
    for name, value in content.items():
        found |= {f"{name}.{key}": own for key, own in value.items()} if isinstance(value, dict) else {name: value}
    return found


def _run_name(config: RunConfig, chosen: Mapping[str, Any]) -> str:
    own = [f"{name.replace('_', '-')}={value}" for name, value in chosen.items() if name not in IN_EVERY_NAME]
    stem, _, seed = config.name.rpartition("-s")
    name = f"{file_name('-'.join([stem, *own]))}-s{seed}"
    if len(name) > LONGEST_NAME:
        raise InputError(f"run name {name} has {len(name)} characters (must be {LONGEST_NAME} or fewer)")
    return name
