"""The files of a run: config.json, status.json, environment.json, records.jsonl and checkpoint/.

While a run is live they lie in its folder. A finished run is never redone, an interrupted one resumes, and a
folder of another config is refused with the difference shown. packed.py reads the same from files of many runs.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError

from lengthwise.errors import InputError
from lengthwise.records.files import fault_point, folder_in_use, printable, read_file, read_json, write_json
from lengthwise.records.schema import Record, record_lines

Status = Literal["running", "stopped", "done", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)

CONFIG, ENVIRONMENT, STATUS, RECORDS = "config.json", "environment.json", "status.json", "records.jsonl"


class RunSource(ABC):
    """The files of a run, wherever they are stored."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        """What opens this run again: its folder, or FILE.json/NAME."""

    @abstractmethod
    def content(self, file: str) -> Any:
        """What config.json, environment.json or status.json holds; None where the run has no such file."""

    @abstractmethod
    def records(self) -> list[Record]: ...

    @abstractmethod
    def records_size(self) -> int:
        """The bytes of records.jsonl."""

    @abstractmethod
    def record_lines(self, start: int = 0, most: int | None = None) -> bytes:
        """The bytes of records.jsonl from `start` on, at most `most` of them."""

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
            raise InputError(f"{self.path} is no run folder: it has no {CONFIG}")
        return content

    def environment(self) -> Any:
        """Versions, commit and device; None where they were not noted."""
        return self.content(ENVIRONMENT)

    def status(self) -> Status | None:
        content = self.content(STATUS)
        if content is None:
            return None
        status = cast(dict[str, Any], content).get("status") if isinstance(content, dict) else None
        if status in STATUSES:
            return status
        raise InputError(f"{self.path / STATUS} tells no status (choose from {', '.join(STATUSES)})")

    def state(self) -> str | None:
        """The status; `interrupted` where this says running, but the process that ran it is gone."""
        return self.status()

    def costs(self) -> dict[str, Any]:
        """What else status.json notes: steps, tokens, seconds. Runs of earlier versions note less."""
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
        """Make the folder for this config, or take up the one that is there for the same config.

        `complete` fills what a config written by an earlier version does not say yet.
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
        """Whether it holds a run. Where nothing came of one that failed, another config may take its place."""
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
            raise InputError(f"{self.path} holds a run with another config: {'; '.join(other)}")

    def append(self, records: Iterable[Record]) -> None:
        """Append lines in one write, on disk before this returns."""
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
        """Drop what lies past a checkpoint: lines of later steps, and a line torn by a crash."""
        if self.records_size() > size:
            os.truncate(self.records_path, size)

    def records(self) -> list[Record]:
        """All whole lines. A last line without its line break was torn and does not count."""
        lines = self.record_lines().split(b"\n")[:-1]
        return [self._record(line, number) for number, line in enumerate(lines, start=1)]

    def _record(self, line: bytes, number: int) -> Record:
        try:
            return Record.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            complaint = " ".join([*map(str, first["loc"]), first["msg"]])
            raise InputError(f"line {number} of {self.records_path} is no record: {complaint}") from None

    def _drop_torn_line(self) -> None:
        """What a crash left of a line would spoil the line appended to it."""
        if self.records_size() == 0:
            return
        with self.records_path.open("rb") as handle:
            handle.seek(-1, os.SEEK_END)
            torn = handle.read() != b"\n"
        if torn:
            self.cut_records(self.records_path.read_bytes().rfind(b"\n") + 1)


def differences(ours: Any, theirs: Any, place: str = "") -> Iterable[str]:
    """Where two configs differ, in words: `training.batch is 64 there and 512 here`."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        left, right = cast(dict[str, Any], ours), cast(dict[str, Any], theirs)
        for key in sorted({*left, *right}):
            yield from differences(left.get(key), right.get(key), f"{place}.{key}" if place else key)
    elif ours != theirs:
        yield f"{place} is {ours!r} there and {theirs!r} here"
