"""What a sweep costs beside training, by runs that are stubs: scripts/simulate_sweep.py --runs 10000 --on local.

A stub writes its run folder as training does (config, environment, status, records) and trains nothing. Printed as
JSON: seconds to list the runs, to launch them all and for each, the driver's memory, and seconds to gather all
records into one polars frame.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import tyro
from rich.console import Console

from lengthwise.recipes.configure import grid
from lengthwise.records.folder import RunFolder
from lengthwise.records.frame import records_frame
from lengthwise.records.schema import Record
from lengthwise.records.view import RunView
from lengthwise.runs.engines import ScaleOut
from lengthwise.runs.launch import Job
from lengthwise.runs.sweep import Failures, Work, sweep_jobs

SCALE_OUT = ScaleOut(on="local")
RECORDS = 40
"""Of each run."""


def stub(work: Work) -> Failures:
    """Make the run folders of a stack, done."""
    for path, config in work.runs.items():
        folder = RunFolder.claim(path, config, {})
        own = {"run": folder.name, "seed": config["seed"], "task": config["task"], "base": config["base"]}
        made = {"domain": "D4", "correct": 1, "total": 2, "selection": "sampled", "seen": 0.0}
        folder.append(Record(step=step, **own, **made) for step in range(RECORDS))
        folder.set_status("done")
    return {}


def simulate(runs: int = 10_000, scale_out: tyro.conf.OmitArgPrefixes[ScaleOut] = SCALE_OUT) -> None:
    """List, launch and gather this many runs."""
    figures: dict[str, float] = {"runs": runs, "records": runs * RECORDS}
    with tempfile.TemporaryDirectory() as folder:
        with _timed(figures, "list_seconds"):
            listed = grid({"task": "add", "size": "nano"}, {"seed": range(runs)})
            jobs = [Job(config, RunFolder(Path(folder) / name)) for name, config in listed.items()]
        with _timed(figures, "launch_seconds"):
            engine, console = scale_out.engine("cpu", Path(folder) / "logs"), Console(quiet=True)
            failures = sweep_jobs(jobs, engine, device="cpu", stack=scale_out.stack, console=console, finish=stub)
        figures["milliseconds_per_run"] = round(1000 * figures["launch_seconds"] / runs, 2)
        figures["driver_megabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        with _timed(figures, "gather_seconds"):
            frame = records_frame(RunView(job.folder) for job in jobs)
    assert not failures and len(frame) == runs * RECORDS
    print(json.dumps({"on": scale_out.on, "stack": scale_out.stack, **figures}, indent=2))


@contextmanager
def _timed(figures: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    figures[name] = round(time.perf_counter() - start, 1)


if __name__ == "__main__":
    # Workers find the stub by the name of this module.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    tyro.cli(import_module("simulate_sweep").simulate)
