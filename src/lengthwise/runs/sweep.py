"""Sweeps: many runs, checked before anything starts, grouped into stacks, given to an engine, and shown by state.

Engines (runs/local.py, interop/clusters.py) decide where and when a stack is trained, and know nothing of runs.
They call `finish`, which may be called again after any crash, on any machine that sees the run folders: finished
runs are skipped, the others resume from their checkpoints.
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
"""Bytes at the end of records.jsonl that contain at least one complete record."""

PATIENCE = 120.0
"""Seconds to wait for a folder in use: a process that was stopped, or lost its node, may not have ended yet."""


@dataclass(frozen=True)
class Work:
    """Runs for one worker: configs by run folder."""

    runs: dict[str, dict[str, Any]]
    device: str


Failures = dict[str, str]
"""By run folder, why its run is not done."""
Finish = Callable[[Work], Failures]
Events = Generator[tuple[int, Failures] | None]
"""The number of each piece of work that has ended and its failures, and None from time to time."""


class Engine(Protocol):
    """A place where work is done."""

    def run(self, finish: Finish, works: Sequence[Work]) -> Events:
        """Finish all work. Work whose process or node died is restarted, a limited number of times. If the
        generator is closed early, it stops all work in progress."""
        ...


def pieces(jobs: Sequence[Job], device: str, most: int) -> list[Work]:
    """Stacks of runs of equal shape, with at most `most` members, as even as possible.

    They depend only on the list of runs, not on which are done: called again, a stack resumes as the same stack.
    """
    shapes: dict[str, list[Job]] = {}
    for job in jobs:
        shapes.setdefault(stack_key(job.config), []).append(job)
    works: list[Work] = []
    for alike in shapes.values():
        count = -(-len(alike) // most)
        ends = [len(alike) * k // count for k in range(count + 1)]
        for start, end in pairwise(ends):
            # Absolute paths, as workers may have another working directory.
            paths = (str(job.folder.path.absolute()) for job in alike[start:end])
            configs = (job.config.model_dump(mode="json") for job in alike[start:end])
            works.append(Work(dict(zip(paths, configs, strict=True)), device))
    return works


def finish(work: Work) -> Failures:
    """Train runs to the end, resuming where needed. Failures are returned and recorded in their folders; the other
    runs of a stack go on without them."""
    deadline, failures = time.monotonic() + PATIENCE, Failures()
    stacks = [[Job(read_config(config, path), RunFolder(path)) for path, config in work.runs.items()]]
    while stacks:
        jobs = stacks.pop()
        middle = len(jobs) // 2
        try:
            _train_when_free(jobs, work.device, deadline)
        except Exception as error:
            if isinstance(error, InputError) and middle:
                stacks += [jobs[middle:], jobs[:middle]]  # trained once the error no longer keeps their memory
            else:
                failures |= _recorded(error, jobs)
        else:
            failed = [job.folder for job in jobs if job.folder.status() == "failed"]
            failures |= {str(folder.path): folder.costs()["reason"] for folder in failed}
    return failures


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
    """The error in one line for each run. It is recorded in the folders too, unless another process uses them."""
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
    """Train all runs to the end on an engine; returns the failures. The same call again resumes what is left.

    Nothing starts if a run cannot be trained, or if its folder has another config.
    """
    for job in jobs:
        check_encoding(job.config.model, job.config.encoding)
        if job.folder.is_taken():
            job.folder.refuse_other(job.config.model_dump(mode="json"), completed)
    board = Board([job.folder for job in jobs], console)
    works = [work for work in pieces(jobs, device, stack) if not board.done.issuperset(work.runs)]
    try:
        with board.live if console.is_terminal else nullcontext(), closing(engine.run(finish, works)) as events:
            for event in events if works else ():
                if event is not None:
                    board.ended(works[event[0]].runs, event[1])
                board.refresh()
    except KeyboardInterrupt:
        done = f"{len(board.done)} of {len(jobs)} runs done"
        raise KeyboardInterrupt(f"stopped with {done}; the same command resumes the others") from None
    return board.failures


class Board:
    """The progress of a sweep: a live table of runs by state in a terminal, elsewhere a line for each run that
    ends.

    The state of running ones is read from their folders; how they ended comes from the engine.
    """

    def __init__(self, folders: Sequence[RunFolder], console: Console) -> None:
        self.folders = {str(folder.path.absolute()): folder for folder in folders}
        self.done = {path for path, folder in self.folders.items() if folder.status() == "done"}
        self.failures: Failures = {}
        self.console, self.live, self.refreshed = console, Live(console=console, auto_refresh=False), 0.0
        self.stamps = {path: _stamp(folder) for path, folder in self.folders.items()}
        """To distinguish a running run from one that was killed before: both have the status `running`."""

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
        table = Table("runs", "state", "names", box=None)
        for state, paths in by_state.items():
            named = paths[:NAMES_SHOWN] if state in ("running", "failed") else []
            listed = [escape(self.folders[path].name) + self._step(path) for path in named]
            more = ["..."] if 0 < len(named) < len(paths) else []
            table.add_row(str(len(paths)), f"[{STATES[state]}]{state}[/]", ", ".join([*listed, *more]))
        return table

    def _step(self, path: str) -> str:
        """The last recorded step of a run."""
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
    """The time at which its status was last written."""
    try:
        return (folder.path / STATUS).stat().st_mtime_ns
    except OSError:
        return None
