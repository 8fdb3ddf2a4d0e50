"""Presets; the complete config of a run from a task, a preset or a file, for `train`; and grids of runs for
`sweep`: every combination of some options' values, each run named after its own.

>>> config = configure("add", train="D2", size="nano", steps=500, training={"batch": 64})
>>> config.model.layers, config.training.steps, config.training.batch, config.training.schedule
(3, 500, 64, 'wsd')
>>> rows = grid({"task": "add", "size": "nano"}, {"seed": range(2), "training.learning_rate": [0.01, 0.02]})
>>> [*rows][:2]
['add-D4-learned-training.learning-rate=0.01-s0', 'add-D4-learned-training.learning-rate=0.02-s0']
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError, unknown
from lengthwise.model.config import ModelConfig, size_fields
from lengthwise.records.files import read_file, read_json
from lengthwise.records.spec import KEYS, SECTIONS
from lengthwise.runs.config import RunConfig, file_name, read_config

Rows = dict[str, RunConfig]
"""Configs by the name of a row of a table or a curve of a figure, without the seed."""


def paper(task: str, size: str = "mini") -> RunConfig:
    """The paper's hyperparameters: its table, and its code where the table says nothing.

    The table has one learning rate and one dropout for all tasks. For multiplication the paper's code has dropout
    0.1 and a constant rate; this follows the code.
    """
    multiplies = task.startswith("mul")
    return RunConfig.stored(
        task=task,
        model={**size_fields(size), "dropout": 0.1 if multiplies else 0.2, "bias": False, "context": 256},
        data={"sampling": "paper", "samples": 100_000, "operand_width": 20},
        training={
            "optimizer": "adamw",
            "learning_rate": 1e-3,
            "betas": (0.9, 0.99),
            "weight_decay": 0.1,
            "clip": 1.0,
            "schedule": "constant" if multiplies else "cosine",
            "batch": 64,
            "steps": 100_000,
            "evaluate_every": 5_000,
            "checkpoint_every": 5_000,
        },
    )


def muon(task: str, size: str = "mini") -> RunConfig:
    """A start that takes a fraction of the paper's steps: Muon, larger embeddings, an untied head, new
    problems."""
    model = {**size_fields(size), "dropout": 0.1, "tied": False, "embedding_std": 0.3}
    return RunConfig.stored(task=task, model=model)


def fast(task: str, size: str = "mini") -> RunConfig:
    """The default hyperparameters, the same for every task.

    Models converge, and MiniGPT mostly ignores unseen digits. Position embeddings larger than token embeddings
    make attention depend on positions, so that longer operands change nothing; dropout helps (docs/prior.md).
    Sparse digits take the model off the plateaus where it knows only part of an answer. The learning rate
    starts to fall once accuracy is 50 % on every training length, and training ends 6,000 steps later: longer
    lengths converge last, and at a constant rate the hardest tasks do not improve further.
    """
    return RunConfig(task=task, model=ModelConfig.named(size))


PRESETS: dict[str, Callable[[str, str], RunConfig]] = {"fast": fast, "paper": paper}


def find_preset(name: str, task: str, size: str = "mini") -> RunConfig:
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name](task, size)


def configure(
    task: str | None = None,
    *,
    config: RunConfig | Path | str | None = None,
    preset: str | None = None,
    size: str | None = None,
    steps: int | None = None,
    **settings: Any,
) -> RunConfig:
    """The config of a preset (by default `fast`) for a task, at a size (`mini`), with settings: fields of
    `RunConfig`, where a dict changes some fields of an inner config.

    `config` starts from a config instead, or from a JSON or YAML file, which is a run's config.json or has some of
    these keywords.
    """
    if config is None:
        if task is None:
            raise InputError("missing task (such as add, mul or add%101)")
        config, size = find_preset(preset or "fast", task, size or "mini"), None
    else:
        if not isinstance(config, RunConfig):
            config, preset = _from_file(Path(config), task, preset, size), None
        if preset is not None:
            raise InputError(f"preset {preset!r} cannot be combined with a complete config")
        if task is not None:
            config = config.changed(task=task)
    if size is not None:
        config = config.changed(model=dict(size_fields(size)))
    if settings:
        config = config.changed(**settings)
    return config if steps is None else config.changed(training={"steps": steps})


def _from_file(path: Path, task: str | None, preset: str | None, size: str | None) -> RunConfig:
    """The config in a file. A run's config.json has the defaults of the version that wrote it; other files start
    from a preset."""
    content = _read(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a config: it has no keys with values")
    if odd := [name for name in content if not isinstance(name, str)]:
        raise InputError(f"{path} is not a config: unknown option {odd[0]}")
    if {*KEYS, *SECTIONS} <= content.keys():
        if preset is not None:
            raise InputError(f"preset {preset!r} cannot be combined with {path}, which is a complete config")
        return read_config(content, str(path))
    asked = {"task": task, "preset": preset, "size": size}
    content |= {name: value for name, value in asked.items() if value is not None}
    try:
        for name in (name for name in asked if not isinstance(content.get(name, ""), str)):
            raise InputError(f"{name} is {content[name]!r} (must be a string)")
        if "config" in content:
            raise InputError("unknown option config")
        return configure(**content)
    except InputError as error:
        raise InputError(f"{path} is not a config: {error}") from None


def _read(path: Path) -> Any:
    """The content of a file: JSON if its name ends in .json, else YAML."""
    if path.suffix == ".json":
        return read_json(path)
    try:
        import yaml  # noqa: PLC0415 (may be missing on a training machine)
    except ImportError:
        raise InputError(f"{path} is YAML, which requires pyyaml (a .json file does not)") from None
    try:
        text = read_file(path)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            # A few lines of them stand for billions of values.
            raise InputError("aliases are not read (write each value out)")
        return yaml.safe_load(text)
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())}") from None


# --- a grid of runs -----------------------------------------------------------------------------------------

START = ("config", "preset", "size")
"""Options that say what a config starts from, besides the task."""
IN_EVERY_NAME = ("task", "train", "base", "encoding", "layout", "seed")
MOST_RUNS, LONGEST_NAME = 100_000, 255


def values(text: str) -> list[Any]:
    """The values of an option to vary: a range, a comma list, or a JSON list if values contain commas.

    >>> values("0..3"), values("D1..4,D5"), values('["D5,D6", null]')
    ([0, 1, 2, 3], ['D1..4', 'D5'], ['D5,D6', None])
    """
    if span := re.fullmatch(r"([0-9]{1,18})\.\.([0-9]{1,18})", text):
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
    """The configs of all combinations by name. Options are those of `train`, such as `seed` and
    `training.steps`."""
    fixed, varied = _named(options), _named(vary)
    if math.prod(map(len, varied.values())) > MOST_RUNS:
        raise InputError(f"more than {MOST_RUNS:,} runs in one sweep")
    rows: Rows = {}
    for combination in product(*varied.values()):
        chosen = dict(zip(varied, combination, strict=True))
        config = configured({**fixed, **chosen})
        name = _run_name(config, chosen)
        if rows.setdefault(name, config) != config:
            raise InputError(f"two different runs of the sweep would have the name {name}")
    if not rows:
        raise InputError("no runs: an option to vary has no values")
    return rows


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their full names; those of an inner config may be given as a dict."""
    return {option_name(name): value for name, value in one_level(options).items()}


def configured(options: Mapping[str, Any]) -> RunConfig:
    """The config of `train` with these options."""
    keywords: dict[str, Any] = {}
    for name, value in options.items():
        outer, _, inner = name.partition(".")
        if inner:
            keywords.setdefault(outer, {})[inner] = value
        else:
            keywords[name] = value
    return configure(**keywords)


def option_name(name: str) -> str:
    """The full name of a config option, such as `training.steps`, from it or its last part.

    >>> option_name("training.learning-rate"), option_name("steps")
    ('training.learning_rate', 'training.steps')
    """
    last, known = name.replace("-", "_"), [*START, *_flat(RunConfig(task="add"))]
    found = [option for option in known if option == last] or [o for o in known if o.endswith(f".{last}")]
    if len(found) != 1:
        raise InputError(f"unknown option {name!r} (choose an option of train, such as seed or training.steps)")
    return found[0]


def changed_options(config: RunConfig, start: RunConfig) -> dict[str, Any]:
    """The options in which a config differs from its start."""
    before = _flat(start)
    return {name: value for name, value in _flat(config).items() if value != before[name]}


def _flat(config: RunConfig) -> dict[str, Any]:
    return one_level(config.model_dump())


def one_level(content: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping without inner dicts: their keys are joined with a dot."""
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
