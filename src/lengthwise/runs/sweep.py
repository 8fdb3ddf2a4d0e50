"""Many runs at once: checked before anything starts, packed into stacks, handed to an engine, and shown by state.

Engines (runs/local.py, interop/clusters.py) decide where and when a stack is brought to its end, and know nothing
of runs. What they call, `finish`, may be called again after any accident, on any machine that sees the run
folders: what is done is left alone, the rest goes on from its checkpoints.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from lengthwise.errors import InputError, one_line
from lengthwise.model.positions import check_encoding
from lengthwise.records.files import InUseError
from lengthwise.records.folder import STATUS, RunFolder
from lengthwise.runs.build import stack_key
from lengthwise.runs.config import completed, read_config
from lengthwise.runs.launch import Job, record_failure, train_jobs

STATES = {"waiting": "dim", "running": "cyan", "failed": "red", "done": "green"}
NAMES_SHOWN = 3
REFRESH_SECONDS = 1.0
TAIL = 1 << 13
"""Bytes at the end of records.jsonl that surely hold a whole record."""

PATIENCE = 120.0
"""Seconds to wait for a folder in use: whoever was stopped or lost its node may not have ended yet."""


@dataclass(frozen=True)
class Work:
    """Runs for one worker, their configs by run folder."""

    runs: dict[str, dict[str, Any]]
    device: str


Failures = dict[str, str]
"""Run folders, and why their run is not done."""
Finish = Callable[[Work], Failures]
Events = Generator[tuple[int, Failures] | None]
"""The number of each piece of work that has ended and what failed of it, and None from time to time."""


class Engine(Protocol):
    """Where work is done."""

    def run(self, finish: Finish, works: Sequence[Work]) -> Events:
        """Have all work finished. Work whose process or node died is started again, a limited number of times.
        Closed early, it stops all that is under way."""
        ...


def pieces(jobs: Sequence[Job], device: str, most: int) -> list[Work]:
    """Stacks of runs of equal shape, of `most` members at most, and as even as can be.

    They depend on the list of runs alone, not on what is done of it: called again, a stack resumes as a stack.
    """
    shapes: dict[str, list[Job]] = {}
    for job in jobs:
        shapes.setdefault(stack_key(job.config), []).append(job)
    return [_work(part, device) for alike in shapes.values() for part in _even_parts(alike, most)]


def _even_parts(jobs: Sequence[Job], most: int) -> list[Sequence[Job]]:
    count = -(-len(jobs) // most)
    ends = [len(jobs) * k // count for k in range(count + 1)]
    return [jobs[start:end] for start, end in pairwise(ends)]


def _work(jobs: Sequence[Job], device: str) -> Work:
    # Workers may have another current folder.
    return Work({str(job.folder.path.absolute()): job.config.model_dump(mode="json") for job in jobs}, device)


def finish(work: Work) -> Failures:
    """Bring runs from wherever they stand to their end. What fails is told, and recorded in its folder; the others
    of its stack go on without it."""
    jobs = [Job(read_config(config, path), RunFolder(path)) for path, config in work.runs.items()]
    return _finish(jobs, work.device, deadline=time.monotonic() + PATIENCE)


def _finish(jobs: Sequence[Job], device: str, deadline: float) -> Failures:
    try:
        _train_when_free(jobs, device, deadline)
    except InputError as error:
        if len(jobs) == 1:
            return _recorded(error, jobs)
    except Exception as error:
        return _recorded(error, jobs)
    else:
        failed = [job.folder for job in jobs if job.folder.status() == "failed"]
        return {str(folder.path): folder.costs()["reason"] for folder in failed}
    # Not before the error is gone, which holds on to the memory of what failed.
    middle = len(jobs) // 2
    return _finish(jobs[:middle], device, deadline) | _finish(jobs[middle:], device, deadline)


def _train_when_free(jobs: Sequence[Job], device: str, deadline: float) -> None:
    while True:
        try:
            train_jobs(jobs, device=device, console=Console(file=sys.stderr))
            return
        except InUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def _recorded(error: Exception, jobs: Sequence[Job]) -> Failures:
    """What went wrong, in one line, for each run; its folder says so too, unless it is another process's."""
    reason = str(error) if isinstance(error, InputError) else one_line(f"{type(error).__name__}: {error}")
    if not isinstance(error, InputError):
        traceback.print_exception(error)
    if not isinstance(error, InUseError):
        record_failure(jobs, reason)
    return {str(job.folder.path): reason for job in jobs}


# --- a sweep ------------------------------------------------------------------------------------------------


def sweep_jobs(
    jobs: Sequence[Job], engine: Engine, *, device: str, stack: int, console: Console, finish: Finish = finish
) -> Failures:
    """Bring all runs to their end on an engine; why some are not done, by run folder. The same call goes on with
    what an earlier one left."""
    check(jobs)
    board = Board([job.folder for job in jobs], console)
    works = [work for work in pieces(jobs, device, stack) if not board.done.issuperset(work.runs)]
    try:
        with board.shown(), closing(engine.run(finish, works)) as events:
            for event in events if works else ():
                if event is not None:
                    board.ended(works[event[0]].runs, event[1])
                board.refresh()
    except KeyboardInterrupt:
        done = f"{len(board.done)} of {len(jobs)} runs done"
        raise KeyboardInterrupt(f"stopped with {done}; the same command resumes the others") from None
    return board.failures


def check(jobs: Sequence[Job]) -> None:
    """Refuse what cannot be trained, or is not what its folder holds."""
    for job in jobs:
        check_encoding(job.config.model, job.config.encoding)
        if job.folder.is_taken():
            job.folder.refuse_other(job.config.model_dump(mode="json"), completed)


class Board:
    """How far a sweep is: a live table of runs by state in a terminal, elsewhere a line for each run that ends.

    What runs do is read from their folders; how they ended comes from the engine.
    """

    def __init__(self, folders: Sequence[RunFolder], console: Console) -> None:
        self.folders = {str(folder.path.absolute()): folder for folder in folders}
        self.done = {path for path, folder in self.folders.items() if folder.status() == "done"}
        self.failures: Failures = {}
        self.console, self.live, self.refreshed = console, Live(console=console, auto_refresh=False), 0.0
        self.stamps = {path: _stamp(folder) for path, folder in self.folders.items()}
        """To tell a run that is at work from one that was killed before: both say that they are running."""

    def shown(self) -> Live | nullcontext[None]:
        return self.live if self.console.is_terminal else nullcontext()

    def ended(self, paths: Iterable[str], failures: Failures) -> None:
        for path in paths:
            if path in failures:
                self.failures[path] = failures[path]
            else:
                self.done.add(path)
            if not self.console.is_terminal:
                over, state = len(self.done) + len(self.failures), self._state(path)
                line = f"{over}/{len(self.folders)} {state}: {self.folders[path].name}"
                self.console.print(line, markup=False, soft_wrap=True)

    def refresh(self) -> None:
        if self.live.is_started and time.monotonic() - self.refreshed > REFRESH_SECONDS:
            self.live.update(self.table(), refresh=True)
            self.refreshed = time.monotonic()

    def table(self) -> Table:
        by_state: dict[str, list[str]] = {state: [] for state in STATES}
        for path in self.folders:
            by_state[self._state(path)].append(path)
        table = Table("runs", "are", "", box=None)
        for state, paths in by_state.items():
            named = paths[:NAMES_SHOWN] if state in ("running", "failed") else []
            listed = [escape(self.folders[path].name) + self._step(path) for path in named]
            more = ["..."] if 0 < len(named) < len(paths) else []
            table.add_row(str(len(paths)), f"[{STATES[state]}]{state}[/]", ", ".join([*listed, *more]))
        return table

    def _step(self, path: str) -> str:
        """The last one that a run has a record of."""
        folder = self.folders[path]
        tail = folder.record_lines(max(0, folder.records_size() - TAIL))
        last = tail[: tail.rfind(b"\n")].rsplit(b"\n", 1)[-1]
        return f" at step {json.loads(last)['step']:,}" if last else ""

    def _state(self, path: str) -> str:
        if path in self.done:
            return "done"
        if path in self.failures:
            return "failed"
        folder = self.folders[path]
        return "running" if _stamp(folder) != self.stamps[path] else "waiting"


def _stamp(folder: RunFolder) -> int | None:
    """When its status was last written."""
    try:
        return (folder.path / STATUS).stat().st_mtime_ns
    except OSError:
        return None
