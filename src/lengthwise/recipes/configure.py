"""From a task, a preset or a file to the complete config of a run: where `train` starts, as a verb and in Python.

>>> config = configure("add", train="D2", size="nano", steps=500, training={"batch": 64})
>>> config.model.layers, config.training.steps, config.training.batch, config.training.schedule
(3, 500, 64, 'wsd')
"""

from pathlib import Path
from typing import Any

from lengthwise.errors import InputError
from lengthwise.model.config import size_fields
from lengthwise.recipes.presets import preset as find_preset
from lengthwise.records.files import read_file, read_json
from lengthwise.records.spec import KEYS, SECTIONS
from lengthwise.runs.config import RunConfig, read_config


def configure(
    task: str | None = None,
    *,
    config: RunConfig | Path | str | None = None,
    preset: str | None = None,
    size: str | None = None,
    steps: int | None = None,
    **settings: Any,
) -> RunConfig:
    """A preset (by default `fast`) for a task, at a size (`mini`), with settings: fields of `RunConfig`, where a
    dict changes some fields of an inner config.

    `config` is another start: a config, or a JSON or YAML file, which is a run's config.json or has some of these
    keywords.
    """
    if config is None:
        return _from_preset(task, preset, size, steps, **settings)
    if not isinstance(config, RunConfig):
        config, preset = _from_file(Path(config), task, preset, size), None
    if preset is not None:
        raise InputError(f"preset {preset!r} does not go with a complete config")
    return _changed(config if task is None else config.changed(task=task), size, steps, settings)


def _from_preset(
    task: str | None = None,
    preset: str | None = None,
    size: str | None = None,
    steps: int | None = None,
    **settings: Any,
) -> RunConfig:
    if task is None:
        raise InputError("missing task (an operation, with a modulus if wanted, as in add%101)")
    return _changed(find_preset(preset or "fast", task, size or "mini"), None, steps, settings)


def _changed(config: RunConfig, size: str | None, steps: int | None, settings: dict[str, Any]) -> RunConfig:
    if size is not None:
        config = config.changed(model=dict(size_fields(size)))
    if settings:
        config = config.changed(**settings)
    return config if steps is None else config.changed(training={"steps": steps})


def _from_file(path: Path, task: str | None, preset: str | None, size: str | None) -> RunConfig:
    """What a run's config.json leaves out is as in the version that wrote it; other files start from a preset."""
    content = _read(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a config: it holds no names with values")
    if odd := [name for name in content if not isinstance(name, str)]:
        raise InputError(f"{path} is not a config: unknown option {odd[0]}")
    if {*KEYS, *SECTIONS} <= content.keys():
        if preset is not None:
            raise InputError(f"preset {preset!r} does not go with {path}, which is a complete config")
        return read_config(content, str(path))
    asked = {"task": task, "preset": preset, "size": size}
    content |= {name: value for name, value in asked.items() if value is not None}
    try:
        for name in (name for name in asked if not isinstance(content.get(name, ""), str)):
            raise InputError(f"{name} is {content[name]!r} (must be a string)")
        return _from_preset(**content)
    except InputError as error:
        raise InputError(f"{path} is not a config: {error}") from None


def _read(path: Path) -> Any:
    """JSON by its name, else YAML."""
    if path.suffix == ".json":
        return read_json(path)
    try:
        import yaml  # noqa: PLC0415 (a machine that trains may have none)
    except ImportError:
        raise InputError(f"{path} is YAML, which requires pyyaml (a .json file does not)") from None
    try:
        return yaml.safe_load(read_file(path))
    except FileNotFoundError:
        raise InputError(f"no file {path}") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())}") from None
