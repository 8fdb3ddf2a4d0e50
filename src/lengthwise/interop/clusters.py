"""Work on clusters: a task of Ray, or a job of SLURM by submitit, for each stack.

Ray is a cluster that is there, or one started for the work on this machine. A job of SLURM that is preempted or
runs out of time is queued again by submitit and goes on from its runs' checkpoints; one that died otherwise is
submitted anew.
"""

import logging
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from lengthwise.errors import InputError, one_line
from lengthwise.runs.sweep import Events, Failures, Finish, Work

if TYPE_CHECKING:
    import ray
    import submitit

TICK, STOP_SECONDS = 1.0, 120.0


@dataclass(frozen=True, kw_only=True)
class RayEngine:
    address: str | None
    """The address of a cluster; None for that in RAY_ADDRESS, or for a temporary one on this machine."""
    workers: int | None
    """Concurrent tasks; None for as many as fit on the cluster."""
    gpus: float | None
    """GPUs per task, or a fraction of one; None for one if the cluster has any."""
    retries: int

    def run(self, finish: Finish, works: Sequence[Work]) -> Events:
        with _cluster(self.address):
            task, waiting = self._task(), dict["ray.ObjectRef[Any]", int]()
            try:
                for number, work in enumerate(works):
                    while self.workers and len(waiting) >= self.workers:
                        yield from _ended(waiting, works)
                    waiting[task.remote(finish, work)] = number
                while waiting:
                    yield from _ended(waiting, works)
            finally:
                _cancel([*waiting])

    def _task(self) -> Any:
        import ray  # noqa: PLC0415 (an extra)

        there = ray.cluster_resources().get("GPU", 0.0)
        share = min(there, 1.0) if self.gpus is None else self.gpus
        if share > there:
            raise InputError(f"gpus is {share:g}, but the cluster has {there:g} in all (try --gpus 0)")
        options = {"num_cpus": 1, "num_gpus": share, "max_retries": self.retries, "name": "lengthwise"}
        return ray.remote(dies_when_stopped).options(**options)


def dies_when_stopped(finish: Finish, work: Work) -> Failures:
    """Let a worker that is asked to stop, as its node shuts down, die after a checkpoint: Ray then restarts its
    task elsewhere, which it does not do after an interrupt."""
    try:
        return finish(work)
    except KeyboardInterrupt:
        os._exit(1)


def _ended(waiting: "dict[ray.ObjectRef[Any], int]", works: Sequence[Work]) -> Events:
    import ray  # noqa: PLC0415
    from ray.exceptions import RayError  # noqa: PLC0415

    for one in ray.wait([*waiting], timeout=TICK)[0]:
        number = waiting.pop(one)
        try:
            yield number, ray.get(one)
        except RayError as error:
            yield number, dict.fromkeys(works[number].runs, one_line(f"{type(error).__name__}: {error}"))
    yield None


def _cancel(tasks: "Sequence[ray.ObjectRef[Any]]") -> None:
    """Stop all tasks; running ones save a checkpoint first."""
    import ray  # noqa: PLC0415

    for task in tasks:
        ray.cancel(task)
    if tasks:
        ray.wait([*tasks], num_returns=len(tasks), timeout=STOP_SECONDS)


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    try:
        import ray  # noqa: PLC0415
    except ImportError:
        raise InputError("ray is not installed: pip install 'lengthwise[ray]'") from None
    if ray.is_initialized():
        yield
        return
    # Ray handles SIGTERM itself, which would bypass our own handler.
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
    try:
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)
        yield
    finally:
        ray.shutdown()


# --- SLURM --------------------------------------------------------------------------------------------------

MINUTES = 60
"""Minutes of a job, unless the parameter `time` is given; after that it is queued again."""
TEXTS = ("partition", "account", "qos", "constraint", "gres", "mem", "nodelist", "exclude", "comment")
PARAMETERS: dict[str, Callable[[str], Any]] = {"time": int, "cpus_per_task": int, **dict.fromkeys(TEXTS, str)}
LONGEST_ARRAY = 1_000
"""SLURM's default limit."""


@dataclass(frozen=True, kw_only=True)
class SlurmEngine:
    parameters: tuple[str, ...]
    """Parameters of the jobs: partition=gpu, time=240 (minutes), mem=16GB."""
    workers: int | None
    """Concurrent jobs; None for submitit's limit."""
    gpus: float | None
    """GPUs per job; None for one."""
    retries: int
    logs: Path
    cluster: str = "slurm"
    """The executor; tests use submitit's `local`."""

    def run(self, finish: Finish, works: Sequence[Work]) -> Events:
        executor, deaths = self._executor(), Counter[int]()
        waiting = dict[int, "submitit.Job[Failures]"]()
        try:
            for start in range(0, len(works), LONGEST_ARRAY):
                part = works[start : start + LONGEST_ARRAY]
                jobs = executor.map_array(Requeued(), [finish] * len(part), part)
                waiting |= dict(enumerate(jobs, start))
            while waiting:
                for number in [number for number, job in waiting.items() if job.done()]:
                    reply = _reply(waiting.pop(number))
                    if isinstance(reply, dict):
                        yield number, reply
                    elif deaths[number] < self.retries:
                        deaths[number] += 1
                        waiting[number] = executor.submit(Requeued(), finish, works[number])
                    else:
                        yield number, dict.fromkeys(works[number].runs, reply)
                yield None
                time.sleep(TICK)
        finally:
            for job in waiting.values():
                job.cancel()

    def _executor(self) -> "submitit.AutoExecutor":
        try:
            import submitit  # noqa: PLC0415 (an extra)
        except ImportError:
            raise InputError("submitit is not installed: pip install 'lengthwise[slurm]'") from None
        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise InputError("no SLURM here: sbatch is not on the path")
        if self.gpus is not None and self.gpus % 1:
            raise InputError(f"gpus is {self.gpus:g} (must be a whole number on SLURM)")
        own = dict(map(_parameter, self.parameters))
        gpus = 1 if self.gpus is None else int(self.gpus)
        at_once = {} if self.workers is None else {"slurm_array_parallelism": self.workers}
        timeouts = {f"{self.cluster}_max_num_timeout": self.retries}
        executor = submitit.AutoExecutor(self.logs, cluster=self.cluster, **timeouts)
        executor.update_parameters(name="lengthwise", timeout_min=MINUTES, gpus_per_node=gpus, **at_once, **own)
        return executor


def _parameter(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if name not in PARAMETERS or not value:
        raise InputError(f"bad slurm parameter {text!r} (choose from {', '.join(f'{p}=...' for p in PARAMETERS)})")
    try:
        return f"slurm_{name}", PARAMETERS[name](value)
    except ValueError:
        raise InputError(f"slurm parameter {name} is {value!r} (must be a number)") from None


class Requeued:
    """The function that a job runs; submitit calls its `checkpoint` before it queues the job again."""

    def __call__(self, finish: Finish, work: Work) -> Failures:
        return finish(work)

    def checkpoint(self, finish: Finish, work: Work) -> "submitit.helpers.DelayedSubmission":
        """Submit the same work again: all progress is in the run folders."""
        import submitit  # noqa: PLC0415

        return submitit.helpers.DelayedSubmission(self, finish, work)


def _reply(job: "submitit.Job[Failures]") -> Failures | str:
    """The failures of a job's work, or how it died."""
    error = job.exception()
    if error is None:
        return job.result()
    return f"its job {job.job_id} ended without result (state {job.state}); see {job.paths.stderr}"
