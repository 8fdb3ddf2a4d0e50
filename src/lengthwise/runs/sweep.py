"""Many runs at once: checked before anything starts, handed to an engine as stacks, and shown by state."""

import time
from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from lengthwise.model.positions import check_encoding
from lengthwise.records.folder import STATUS, RunFolder
from lengthwise.runs.config import completed
from lengthwise.runs.launch import Job
from lengthwise.runs.work import Engine, Failures, Finish, finish, pieces

STATES = {"waiting": "dim", "running": "cyan", "failed": "red", "done": "green"}
NAMES_SHOWN = 3
REFRESH_SECONDS = 1.0


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
        for path, folder in self.folders.items():
            by_state[self._state(path)].append(escape(folder.name))
        table = Table("runs", "are", "", box=None)
        for state, names in by_state.items():
            more = ", ..." if len(names) > NAMES_SHOWN else ""
            listed = ", ".join(names[:NAMES_SHOWN]) + more if state in ("running", "failed") else ""
            table.add_row(str(len(names)), f"[{STATES[state]}]{state}[/]", listed)
        return table

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
