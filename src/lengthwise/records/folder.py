"""The files of a run: config.json, status.json, environment.json, records.jsonl and checkpoint/.

Each run has its folder. A finished run is not trained again, an interrupted one resumes, and a folder with another
config is refused with the difference shown.

Finished runs may be packed. An unpacked results folder contains notes, RECIPE.json, and the run folders that they
list, runs/ROW-sSEED. In the packed form a note has the key `folders` with the small files of each run, and
RECIPE.parquet has the records of all its runs. A run that several notes list is stored with the first of them, by
name, and the others refer to it. scripts/pack_results.py packs and unpacks.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError

from lengthwise.errors import InputError
from lengthwise.records.files import (
    fault_point,
    folder_in_use,
    printable,
    read_file,
    read_json,
    write_json,
)
from lengthwise.records.schema import Record, record_lines

Status = Literal["running", "stopped", "done", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)

CONFIG, ENVIRONMENT, STATUS, RECORDS = "config.json", "environment.json", "status.json", "records.jsonl"
SMALL_FILES = (CONFIG, ENVIRONMENT, STATUS)
RUNS = "runs"


class RunSource(ABC):
    """The files of a run, wherever they are stored."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        """The path that opens this run: its folder, or FILE.json/NAME."""

    @abstractmethod
    def content(self, file: str) -> Any:
        """The content of config.json, environment.json or status.json; None if the run has no such file."""

    @abstractmethod
    def records(self) -> list[Record]: ...

    @abstractmethod
    def records_size(self) -> int:
        """The size of records.jsonl in bytes."""

    @abstractmethod
    def record_lines(self, start: int = 0, most: int | None = None) -> bytes:
        """At most `most` bytes of records.jsonl from `start`."""

    @property
    def name(self) -> str:
        return printable(self.path.name)

    @property
    def has_model(self) -> bool:
        # Path.is_file would raise where a folder may not be searched.
        return os.path.isfile(self.path / "checkpoint" / "state.json")  # noqa: PTH113

    def config(self) -> dict[str, Any]:
        content = self.content(CONFIG)
        if content is None:
            raise InputError(f"{self.path} is not a run folder: it has no {CONFIG}")
        return content

    def environment(self) -> Any:
        """Versions, commit and device; None if they were not recorded."""
        return self.content(ENVIRONMENT)

    def status(self) -> Status | None:
        content = self.content(STATUS)
        if content is None:
            return None
        status = cast(dict[str, Any], content).get("status") if isinstance(content, dict) else None
        if status in STATUSES:
            return status
        raise InputError(f"{self.path / STATUS} has no valid status (one of {', '.join(STATUSES)})")

    def state(self) -> str | None:
        """The status, or `interrupted` if it is `running` but its process is gone."""
        return self.status()

    def costs(self) -> dict[str, Any]:
        """The other fields of status.json: steps, tokens, seconds. Runs of earlier versions have fewer."""
        return self.content(STATUS) or {}


class RunFolder(RunSource):
    @property
    def records_path(self) -> Path:
        return self.path / RECORDS

    @property
    def checkpoint_path(self) -> Path:
        return self.path / "checkpoint"

    @classmethod
    def claim(
        cls,
        path: Path | str,
        config: dict[str, Any],
        environment: dict[str, Any],
        complete: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    ) -> "RunFolder":
        """Create the folder for this config, or open an existing one with the same config.

        `complete` fills in what a config of an earlier version lacks.
        """
        folder = cls(path)
        try:
            folder.checkpoint_path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make run folder {folder.path}: {error.strerror}") from None
        if folder.is_taken():
            folder.refuse_other(config, complete)
        else:
            write_json(folder.path / ENVIRONMENT, environment)
            write_json(folder.path / CONFIG, config)
        if folder.status() != "done":
            folder.set_status("running")
        return folder

    @classmethod
    def existing(cls, path: Path | str) -> "RunFolder":
        folder = cls(path)
        folder.config()
        return folder

    def is_taken(self) -> bool:
        """Whether the folder contains a run. One that failed without a checkpoint may be replaced."""
        failed_at_once = self.status() == "failed" and not any(self.checkpoint_path.glob("*"))
        return (self.path / CONFIG).exists() and not failed_at_once

    def content(self, file: str) -> Any:
        path = self.path / file
        return read_json(path) if path.exists() else None

    def state(self) -> str | None:
        status = self.status()
        gone = status == "running" and folder_in_use(self.path) is False
        return "interrupted" if gone else status

    def set_status(self, status: Status, **details: Any) -> None:
        write_json(self.path / STATUS, {"status": status, **details})

    def refuse_other(
        self, config: dict[str, Any], complete: Callable[[dict[str, Any]], dict[str, Any]] = dict
    ) -> None:
        other = list(differences(complete(self.config()), config))
        if other:
            raise InputError(f"{self.path} contains a run with another config: {'; '.join(other)}")

    def append(self, records: Iterable[Record]) -> None:
        """Append records, which are on disk when this returns."""
        text = record_lines(records)
        try:
            self._drop_torn_line()
            with self.records_path.open("ab") as handle:
                half = len(text) // 2
                handle.write(text[:half])
                handle.flush()
                fault_point("mid-record")
                handle.write(text[half:])
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise InputError(f"cannot write {self.records_path}: {error.strerror}") from None

    def records_size(self) -> int:
        return self.records_path.stat().st_size if self.records_path.exists() else 0

    def record_lines(self, start: int = 0, most: int | None = None) -> bytes:
        if self.records_size() <= start:
            return b""
        return read_file(self.records_path, start, most)

    def cut_records(self, size: int) -> None:
        """Remove what was written after a checkpoint: lines of later steps, and a line cut off by a crash."""
        if self.records_size() > size:
            os.truncate(self.records_path, size)

    def records(self) -> list[Record]:
        """The records of all complete lines. A last line without a line break was cut off and does not count."""
        lines = self.record_lines().split(b"\n")[:-1]
        return [self._record(line, number) for number, line in enumerate(lines, start=1)]

    def _record(self, line: bytes, number: int) -> Record:
        try:
            return Record.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            message = " ".join([*map(str, first["loc"]), first["msg"]])
            raise InputError(f"line {number} of {self.records_path} is not a record: {message}") from None

    def _drop_torn_line(self) -> None:
        """Remove what a crash left of a line, which would spoil the next one."""
        if self.records_size() == 0:
            return
        with self.records_path.open("rb") as handle:
            handle.seek(-1, os.SEEK_END)
            torn = handle.read() != b"\n"
        if torn:
            self.cut_records(self.records_path.read_bytes().rfind(b"\n") + 1)


def differences(ours: Any, theirs: Any, place: str = "") -> Iterable[str]:
    """The differences of two configs in words: `training.batch is 64 there and 512 here`."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        left, right = cast(dict[str, Any], ours), cast(dict[str, Any], theirs)
        for key in sorted({*left, *right}):
            yield from differences(left.get(key), right.get(key), f"{place}.{key}" if place else key)
    elif ours != theirs:
        yield f"{place} is {ours!r} there and {theirs!r} here"


# --- runs packed into files of many ----------------------------------------------------------------------------


class PackedRun(RunSource):
    """A run of a packed file, at the path FILE.json/NAME."""

    def content(self, file: str) -> Any:
        return _folders(self.path.parent)[self.name].get(Path(file).stem)

    def records(self) -> list[Record]:
        # Training and evaluation work without polars.
        from lengthwise.records.frame import stored_records  # noqa: PLC0415

        return stored_records(self.path.parent.with_suffix(".parquet"), self.name)

    def records_size(self) -> int:
        return _folders(self.path.parent)[self.name]["records_size"]

    def record_lines(self, start: int = 0, most: int | None = None) -> bytes:
        lines = record_lines(self.records())
        return lines[start:] if most is None else lines[start : start + most]


def is_packed(path: Path) -> bool:
    # Path.is_file would raise where a folder may not be searched.
    return path.suffix == ".json" and os.path.isfile(path) and os.path.isfile(path.with_suffix(".parquet"))  # noqa: PTH113


def open_run(path: Path | str) -> RunSource:
    """Open a run folder, or a packed run such as results/addition.json/addition-D4-s1."""
    path = Path(path)
    if not is_packed(path.parent):
        return RunFolder(path)
    if path.name not in _folders(path.parent):
        raise InputError(f"no run {path.name!r} in {path.parent}")
    return PackedRun(path)


def packed_runs(file: Path) -> list[PackedRun]:
    """All runs that a packed file lists, including those that another file stores."""
    return [
        PackedRun(file.with_name(entry.get("stored_in", file.name)) / name)
        for name, entry in _folders(file).items()
    ]


def runs_below(path: Path) -> list[RunSource]:
    """The run at this path, the runs of a packed file, or all runs in a folder, each once."""
    if is_packed(path):
        return [*packed_runs(path)]
    if path.is_file() or is_packed(path.parent) or (path / CONFIG).is_file():
        return [open_run(path)]
    live = [RunFolder(config.parent) for config in sorted(path.rglob(CONFIG))]
    files = (parquet.with_suffix(".json") for parquet in sorted(path.rglob("*.parquet")))
    packed = {run.path: run for file in files if is_packed(file) for run in packed_runs(file)}
    return [*live, *packed.values()]


def notes(folder: Path) -> dict[str, dict[str, Any]]:
    """The notes of a results folder by recipe (runs, seeds, seconds), without the runs packed in them."""
    found = (read_json(path) for path in sorted(folder.glob("*.json")))
    own = ({key: value for key, value in note.items() if key != "folders"} for note in found)
    return {note["recipe"]: note for note in own if "recipe" in note}


def _folders(file: Path) -> dict[str, dict[str, Any]]:
    return _folders_at(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _folders_at(file: Path, changed: int) -> dict[str, dict[str, Any]]:
    """The runs of a packed file, read once, and again when the file has changed."""
    content = read_json(file)
    folders = cast(dict[str, Any], content).get("folders") if isinstance(content, dict) else None
    if not isinstance(folders, dict):
        raise InputError(f"{file} has no packed runs: it has no key 'folders'")
    found = cast(dict[str, Any], folders)
    bad = [name for name, entry in found.items() if not (_is_name(name) and _is_entry(entry))]
    if bad:
        raise InputError(f"{file} is not a valid packed file: 'folders' has no files of {bad[0]!r}")
    return found


def _is_entry(entry: Any) -> bool:
    """Whether this is an entry: the files of a run and the size of its records, or where they are stored."""
    if not isinstance(entry, dict):
        return False
    known = cast(dict[str, Any], entry)
    return _is_name(known["stored_in"]) if "stored_in" in known else type(known.get("records_size")) is int


def _is_name(name: Any) -> bool:
    """Of a file or folder, and not of one inside another."""
    return isinstance(name, str) and Path(name).name == name != ""
