"""A process that imports torch once and then runs trainings in forks of itself, to be killed.

A line of JSON in asks for one training, a line of JSON out says how it ended:

    {"configs": [...], "out": "runs", "fault": "mid-record:2", "kill_after": 0.1, "interrupt_at": 7, "signal": 2}
    {"code": -9, "seconds": 0.08}

`fault` kills it at a fault point, `kill_after` at a time, and `interrupt_at` sends it Ctrl-C, or
the signal of that number, in a step.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.progress import TrainingBar
from lengthwise.records.files import FAULT
from lengthwise.records.folder import RunFolder
from lengthwise.runs import launch
from lengthwise.runs.config import RunConfig

REFUSED, STOPPED = 2, 130


def interrupt_in_step(step, number):
    plain = TrainingBar.step

    def noticing(self, training):
        plain(self, training)
        if training.step == step:
            os.kill(os.getpid(), number)

    TrainingBar.step = noticing


def child(job):
    """Runs in the fork and never returns."""
    sink = os.open(Path(job["out"]).with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    if job.get("fault"):
        os.environ[FAULT] = job["fault"]
    if job.get("interrupt_at"):
        interrupt_in_step(job["interrupt_at"], job.get("signal", signal.SIGINT))
    code = 1
    try:
        configs, out = [RunConfig(**config) for config in job["configs"]], Path(job["out"])
        launch.train_jobs([launch.Job(c, RunFolder(out / c.name)) for c in configs], device="cpu")
        code = 0
    except InputError as error:
        print(error)
        code = REFUSED
    except KeyboardInterrupt as error:
        print(error)
        code = STOPPED
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main():
    for line in sys.stdin:
        job = json.loads(line)
        start = time.perf_counter()
        process = os.fork()
        if process == 0:
            child(job)
        if job.get("kill_after") is not None:
            time.sleep(job["kill_after"])
            os.kill(process, signal.SIGKILL)  # not yet waited for, so the id is still this child's
        _, status = os.waitpid(process, 0)
        code = os.waitstatus_to_exitcode(status)
        print(json.dumps({"code": code, "seconds": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    main()
