"""What a run's files are read from: its folder while it is live, or a results file that holds many runs."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Literal, cast, get_args

from lengthwise.errors import InputError
from lengthwise.records.schema import Record

Status = Literal["running", "done", "failed"]
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
        """At most so many bytes of records.jsonl from `start` on."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def has_model(self) -> bool:
        return (self.path / "checkpoint" / "state.json").is_file()

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
        for known in STATUSES:
            if isinstance(content, dict) and cast(dict[str, Any], content).get("status") == known:
                return known
        raise InputError(f"{self.path / STATUS} tells no status (choose from {', '.join(STATUSES)})")

    def costs(self) -> dict[str, Any]:
        """What else status.json notes: steps, tokens, seconds. Runs of earlier versions note less."""
        return self.content(STATUS) or {}
