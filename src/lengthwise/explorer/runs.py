"""Runs: the list of run folders, their records while they train, their verdicts, and the report."""

import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from lengthwise.arithmetic.domain import MAX_LENGTH
from lengthwise.config import Config
from lengthwise.errors import InputError
from lengthwise.explorer import (
    BATCH_SECONDS,
    MAX_FILE_BYTES,
    MAX_LISTED,
    MAX_PACKED_BYTES,
    MAX_TEXT,
    RECORD_BYTES,
    RefusedError,
)
from lengthwise.records.files import printable, read_json
from lengthwise.records.folder import CONFIG, STATUS, RunFolder, RunSource, is_packed, open_run, packed_runs
from lengthwise.records.schema import TRUTH, Record
from lengthwise.shipped import shipped_models

if TYPE_CHECKING:
    from lengthwise.records.view import RunView

MAX_DEPTH = 3

DEFAULT_ROOTS = (Path("runs"), Path("results"))
"""Where runs are looked for by default. These folders may be missing."""

LOSS, EXACT = "train_loss", "exact"


class Entry(BaseModel):
    """A run folder in a list, as its config describes it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str
    error: str | None = None
    """Why the folder cannot be read; all other fields are then empty."""
    task: str = ""
    base: int = 10
    train: str = ""
    encoding: str = ""
    layout: str = ""
    seed: int = 0


class RunEntry(Entry):
    status: str | None = None
    steps: int = 0
    tests: tuple[str, ...] = ()
    group: str = ""
    """Equal for runs that differ only in their seed."""
    setting: str = ""
    """How its training differs from other runs with its task, training domain, encoding and layout."""
    recipes: tuple[str, ...] = ()
    """Names of the recipes that list it."""
    records_size: int = 0
    has_model: bool = False
    config: dict[str, Any] = Field(default={}, exclude=True)


class ModelEntry(Entry):
    """A model that can be asked."""

    shipped: bool
    operation: str = ""
    symbol: str = ""
    sign: str = ""
    """The symbol as people write it: × for *."""
    trained_lengths: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    """The fewest and the most digits of a in training, and those of b."""
    operand_digits: int = 0
    """The longest operand it accepts."""
    headline: str = ""


class RunList(BaseModel):
    runs: list[RunEntry]
    left_out: int


class Catalogue:
    """Run folders below some folders, named `runs/NAME`, and shipped models, named `NAME`.

    A request names one of these, never a path.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        # Path.is_dir would raise where a name is too long for any file system.
        missing = [root for root in roots if not os.path.isdir(root)]  # noqa: PTH112
        if missing and tuple(roots) != DEFAULT_ROOTS:
            raise InputError(f"no folder {missing[0]} (--runs takes folders that hold run folders)")
        names = [root.name for root in roots]
        self._roots = {
            name if names.count(name) == 1 else str(root): root for name, root in zip(names, roots, strict=True)
        }

    def listed(self) -> tuple[dict[str, Path], int]:
        """At most MAX_LISTED runs, and how many are left out.

        Folders keep the order given, so that runs of the last ones are left out; within a folder runs are sorted.
        """
        found: dict[str, Path] = {}
        for label, root in self._roots.items():
            below = {
                printable(f"{label}/{path.relative_to(root).as_posix()}"): path for path in _run_folders(root)
            }
            found.update(sorted(below.items()))
        kept = dict(islice(found.items(), MAX_LISTED))
        return kept, len(found) - len(kept)

    def models(self) -> dict[str, Path]:
        """Models that can be asked: shipped ones first, then runs with a checkpoint."""
        runs, _ = self.listed()
        return {**shipped_models(), **{name: path for name, path in runs.items() if RunFolder(path).has_model}}

    def run(self, name: str) -> Path:
        return _listed(self.listed()[0], name, "run")

    def model(self, name: str) -> Path:
        return _listed(self.models(), name, "model")

    def summaries(self) -> RunList:
        runs, left_out = self.listed()
        entries = {path: summary(name, path) for name, path in runs.items()}
        settings = _settings({entry.group: entry for entry in entries.values() if not entry.error}.values())
        recipes = self._recipes({path.parent.parent for path in entries})
        for path, entry in entries.items():
            entry.setting = settings.get(entry.group, "")
            entry.recipes = recipes.get((path.parent.parent, path.name), ())
        return RunList(runs=list(entries.values()), left_out=left_out)

    def records(self) -> dict[str, "Version"]:
        """The version of each run that can be read, by name."""
        runs, _ = self.listed()
        entries = (summary(name, path) for name, path in runs.items())
        return {run.name: (runs[run.name], run.records_size) for run in entries if not run.error}

    def _recipes(self, folders: set[Path]) -> dict[tuple[Path, str], tuple[str, ...]]:
        """The recipes that list a run, by its results folder and name. Only folders below the roots count."""
        found: dict[tuple[Path, str], tuple[str, ...]] = {}
        for folder in folders:
            if any(folder.is_relative_to(root) for root in self._roots.values()):
                for file in sorted(folder.glob("*.json")):
                    recipe, names = _note(file, _changed(file)) if file.is_file() else ("", ())
                    found |= {(folder, name): (*found.get((folder, name), ()), recipe) for name in names}
        return found


def _settings(runs: Iterable[RunEntry]) -> dict[str, str]:
    """For each group of seeds, given by one of its runs: how its training differs from others with its
    question."""
    from lengthwise.report import group_by
    from lengthwise.report.run_tables import told_apart

    questions = group_by(runs, lambda run: (run.task, run.base, run.train, run.encoding, run.layout))
    alike = (told_apart({run.group: run.config for run in group}) for group in questions.values())
    return {group: words for settings in alike for group, words in settings.items()}


Version = tuple[Path, int]
"""A run and the size of its records in bytes."""


Changed = tuple[int, int]


def _changed(file: Path) -> Changed:
    """A value that differs after each change of a file; runs of a packed file share that file's."""
    try:
        status = file.stat()
    except NotADirectoryError:
        return _changed(file.parent)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=MAX_LISTED)
def _note(file: Path, changed: Changed) -> tuple[str, tuple[str, ...]]:
    """The recipe named in a results folder's JSON file and the runs it lists; empty where it is another file."""
    try:
        content = read_json(file)
        return str(content["recipe"]), tuple(map(str, content["runs"]))
    except (InputError, OSError, TypeError, KeyError):
        return "", ()


def _run_folders(root: Path) -> Iterator[Path]:
    """Paths of run folders, of runs in packed files as FILE.json/NAME, and of folders that may not be read."""
    closed: list[OSError] = []
    for place, folders, files in os.walk(root, onerror=closed.append):
        path = Path(place)
        if CONFIG in files and path != root:
            yield path
            folders.clear()
            continue
        for file in (path / name for name in files if is_packed(path / name)):
            yield from _packed_paths(file)
        if len(path.relative_to(root).parts) >= MAX_DEPTH:
            folders.clear()
    yield from (Path(error.filename) for error in closed if isinstance(error, PermissionError))


def _packed_paths(file: Path) -> list[Path]:
    """Paths of the runs stored in a packed file; the file itself where it cannot be read, so that it is listed."""
    try:
        _check_file(file, MAX_PACKED_BYTES)
        return [run.path for run in packed_runs(file) if run.path.parent == file]
    except (InputError, OSError):
        return [file]


def _listed(entries: dict[str, Path], name: str, kind: str) -> Path:
    if name not in entries:
        raise RefusedError(f"unknown {kind} {name!r} (see /api/{kind}s)", field=kind, status=404)
    return entries[name]


ConfigText = Annotated[str, Field(max_length=2_000)]


class ConfigPart(Config):
    """The part of a run's config that is read here, with limits so that nothing takes long."""

    model_config = ConfigDict(extra="ignore")


class DataPart(ConfigPart):
    operand_width: Annotated[PositiveInt, Field(le=MAX_LENGTH)] | None = None
    answer_width: Annotated[PositiveInt, Field(le=2 * MAX_LENGTH)] | None = None


class TrainingPart(ConfigPart):
    steps: int


class ReadConfig(ConfigPart):
    task: ConfigText
    base: int
    train: ConfigText
    test: ConfigText | None
    encoding: ConfigText
    layout: ConfigText | None
    seed: int
    training: TrainingPart
    data: DataPart = DataPart()


def read_config(path: Path) -> dict[str, Any]:
    """The config of a run folder, checked to be safe to use."""
    if str(path) != printable(str(path)):
        raise InputError("its name is not UTF-8")
    if is_packed(path):
        _check_file(path, MAX_PACKED_BYTES)
        packed_runs(path)
    _check_file(path / CONFIG)
    content = open_run(path).config()
    if not isinstance(content, dict):
        raise InputError("its config.json is not an object")
    checked = ReadConfig(**content)
    _check_domains(f"{checked.train},{checked.test}")
    return content


def _check_domains(text: str) -> None:
    """Refuse huge ranges and weights before they are expanded."""
    if re.search(r"\d{12}", text):
        raise InputError("its domains have a number of more than 11 digits")
    if sum(int(last) - int(first) for first, last in re.findall(r"(\d+)\.\.(\d+)", text)) > 2 * MAX_LENGTH:
        raise InputError(f"its domains have more than {2 * MAX_LENGTH:,} lengths")


def _check_file(path: Path, most: int = MAX_FILE_BYTES) -> None:
    """Refuse anything but a small regular file: reading a pipe would wait forever."""
    if path.exists() and not path.is_file():
        raise InputError(f"its {path.name} is not a regular file")
    if path.exists() and path.stat().st_size > most:
        raise InputError(f"its {path.name} is larger than {most:,} bytes")


def _status(run: RunSource) -> str | None:
    _check_file(run.path / STATUS)
    return run.state()


@lru_cache(maxsize=2 * MAX_LISTED)
def _asked(path: Path, changed: Changed) -> dict[str, Any]:
    """The fields of an entry that come from the config, which does not change during training."""
    from lengthwise.records.view import RunView

    config, view = read_config(path), RunView.of(path)
    tests, steps = tuple(map(str, view.tests)), config["training"]["steps"]
    return {**setting(view), "steps": steps, "tests": tests, "group": view.spec.question, "config": config}


def summary(name: str, path: Path) -> RunEntry:
    """The list entry of a run folder, or of why it cannot be read."""
    try:
        asked, run = _asked(path, _changed(path / CONFIG)), open_run(path)
        size, has_model = run.records_size(), run.has_model
        return RunEntry(name=name, **asked, status=_status(run), records_size=size, has_model=has_model)
    except Exception as error:  # one broken folder must not break the list
        return RunEntry(name=name, error=f"cannot be read: {one_line(error)}")


def setting(view: "RunView") -> dict[str, Any]:
    """The fields of an entry that say what a run learned."""
    named = {"task": str(view.task), "base": view.task.base, "train": str(view.train)}
    return {**named, "encoding": view.encoding, "layout": view.layout, "seed": view.seed}


def one_line(error: Exception) -> str:
    why = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
    return why if len(why) <= MAX_TEXT else f"{why[:MAX_TEXT]}…"


def describe(name: str, path: Path) -> ModelEntry:
    """A model as its config describes it, without loading it."""
    from lengthwise.records.view import RunView
    from lengthwise.report.words import headline
    from lengthwise.runs import config as configs
    from lengthwise.theory.rules import find_rule

    shipped = name in shipped_models()
    try:
        config, view = configs.read_config(read_config(path), "config.json"), RunView.of(path)
        case = view.spec.beyond()
        rule = find_rule(case)
        return ModelEntry(
            name=name,
            shipped=shipped,
            **setting(view),
            operation=view.task.op.noun,
            symbol=view.task.symbol,
            sign=view.task.op.sign,
            trained_lengths=view.train.operand_lengths,
            operand_digits=config.operand_width,
            headline=headline(rule.hypothesis(case), rule.generalizes),
        )
    except Exception as error:  # one broken folder must not break the list
        return ModelEntry(name=name, shipped=shipped, error=one_line(error))


def points(path: Path, offset: int) -> dict[str, Any]:
    """Loss and accuracy in the records after `offset`, complete lines only.

    A resumed run may have cut its records: then all are read again from the start.
    """
    run = open_run(path)
    try:
        size = run.records_size()
        start = offset if offset <= size else 0
        content = run.record_lines(start, RECORD_BYTES)
    except OSError as error:
        raise RefusedError(f"cannot read the records of {run.name}: {error.strerror}") from None
    whole = content[: content.rfind(b"\n") + 1]
    end = start + len(whole)
    return {
        "points": [point for line in whole.splitlines() for point in _points(line)],
        "restarted": start != offset,
        "offset": end,
        "more": bool(whole) and end < size,
        "status": _status(run),
    }


def _points(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        record = Record.model_validate_json(line)
    except ValueError:
        # The live chart skips broken lines; the report names them.
        return
    if record.reference != TRUTH or record.mode != "forced":
        return
    share = None if record.correct is None else record.correct / record.total
    value = {LOSS: record.value, EXACT: share}.get(record.metric)
    if value is not None and math.isfinite(value):
        yield {"step": record.step, "domain": record.domain, "metric": record.metric, "value": value}


def judge(*, path: str) -> dict[str, Any]:
    """The verdicts on a run at its last complete evaluation, or why there are none yet."""
    from lengthwise.records.view import RunView
    from lengthwise.report.run_tables import verdict_json
    from lengthwise.report.words import glosses

    view = RunView.of(_readable(path))
    try:
        step, rows = view.last_whole()
    except InputError as error:
        return {"step": None, "verdicts": [], "functions": [], "why": str(error)}
    functions = glosses((row.prediction.hypothesis for row in rows), view.task)
    return {"step": step, "verdicts": [verdict_json(row) for row in rows], "functions": functions, "why": None}


def judge_some(*, paths: list[str]) -> dict[str, str | None]:
    """The verdicts on the first run and on as many more as fit into BATCH_SECONDS."""
    end, words = time.monotonic() + BATCH_SECONDS, dict[str, str | None]()
    for path in paths:
        words[path] = _verdict(path)
        if time.monotonic() > end:
            break
    return words


def _verdict(path: str) -> str | None:
    from lengthwise.records.verdicts import combined
    from lengthwise.records.view import RunView

    try:
        return combined(verdict.word for verdict in RunView.of(_readable(path)).last_whole()[1])
    except Exception:  # choosing the run shows the error
        return None


def report(*, paths: list[str]) -> dict[str, Any]:
    """The report on some runs, as HTML."""
    from lengthwise.report.page import report_html

    return {"html": report_html([_readable(path) for path in paths])}


def _readable(path: str) -> Path:
    problem = summary(path, Path(path)).error
    if problem is not None:
        raise InputError(f"run {Path(path).name} {problem}")
    return Path(path)
