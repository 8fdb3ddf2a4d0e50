"""Work on SLURM, by submitit: job arrays with a job for each stack.

A job that is preempted or runs out of time is queued again by submitit and goes on from its runs' checkpoints; one
that died otherwise is submitted anew.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.errors import InputError
from lengthwise.runs.work import Events, Failures, Finish, Work

if TYPE_CHECKING:
    import submitit

TICK = 1.0
MINUTES = 60
"""Of a job, unless the parameter `time` says otherwise; then it is queued again."""
TEXTS = ("partition", "account", "qos", "constraint", "gres", "mem", "nodelist", "exclude", "comment")
PARAMETERS: dict[str, Callable[[str], Any]] = {"time": int, "cpus_per_task": int, **dict.fromkeys(TEXTS, str)}
LONGEST_ARRAY = 1_000
"""What SLURM accepts unless it is configured otherwise."""


@dataclass(frozen=True, kw_only=True)
class SlurmEngine:
    parameters: tuple[str, ...]
    """Of the jobs: partition=gpu, time=240 (minutes), mem=16GB."""
    workers: int | None
    """Jobs at once; None for submitit's own limit."""
    gpus: float | None
    """GPUs for each job; None for one."""
    retries: int
    logs: Path
    cluster: str = "slurm"
    """Tests have submitit's own executor `local`."""

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
            raise InputError(f"gpus is {self.gpus:g} (on SLURM whole ones)")
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
    """What a job calls; submitit asks for its checkpoint before it queues the job again."""

    def __call__(self, finish: Finish, work: Work) -> Failures:
        return finish(work)

    def checkpoint(self, finish: Finish, work: Work) -> "submitit.helpers.DelayedSubmission":
        """The same once more: all that has been reached is in the run folders."""
        import submitit  # noqa: PLC0415

        return submitit.helpers.DelayedSubmission(self, finish, work)


def _reply(job: "submitit.Job[Failures]") -> Failures | str:
    """What failed of its work, or how it died."""
    error = job.exception()
    if error is None:
        return job.result()
    return f"its job {job.job_id} ended without result (state {job.state}); see {job.paths.stderr}"
