"""Work for a machine or a cluster: stacks of runs, and the one function that brings a stack to its end.

It may be called again after any accident, on any machine that sees the run folders: what is done is left alone,
the rest goes on from its checkpoints. Engines (runs/local.py, interop/clusters.py) decide where
and when it is called, and know nothing of runs.
"""

import sys
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from rich.console import Console

from lengthwise.errors import InputError, one_line
from lengthwise.records.files import InUseError
from lengthwise.records.folder import RunFolder
from lengthwise.runs.build import stack_key
from lengthwise.runs.config import read_config
from lengthwise.runs.launch import Job, train_jobs

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
    for job in jobs:
        if job.folder.path.exists() and not isinstance(error, InUseError):
            with suppress(InputError):  # on a full disk this cannot be written either
                job.folder.set_status("failed", reason=reason)
    return {str(job.folder.path): reason for job in jobs}
