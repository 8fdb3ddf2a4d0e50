"""Where runs are trained: in this process or on an engine; and the note that is written for a recipe.

Reading the options needs no torch.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

from lengthwise.errors import InputError, unknown
from lengthwise.records.files import file_lock, read_json, write_json
from lengthwise.records.folder import RunFolder
from lengthwise.runs.config import RunConfig

if TYPE_CHECKING:
    from lengthwise.runs.sweep import Engine, Failures

ENGINES = {
    "local": "lengthwise.runs.local:LocalEngine",
    "ray": "lengthwise.interop.clusters:RayEngine",
    "slurm": "lengthwise.interop.clusters:SlurmEngine",
}
DEVICES = ("auto", "cpu", "cuda")
MOST_WORKERS = 10_000
DEFAULT_WORKERS = "(default: one per GPU, or per core without one; on a cluster, as many as fit)"
DEFAULT_GPUS = "(default: 1 if there are any)"


@dataclass(frozen=True, kw_only=True)
class ScaleOut:
    """Options that say where several runs are trained."""

    on: Annotated[str | None, tyro.conf.arg(metavar="ENGINE")] = None
    """Where to train: local (processes on this machine), ray or slurm (install the extra of that name)."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_WORKERS)] = None
    """Number of stacks trained at the same time."""
    gpus: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_GPUS)] = None
    """GPUs per worker; 0.5 lets two workers share one, but not on slurm."""
    stack: int = 8
    """Largest number of runs of equal shape that train together as one program."""
    retries: int = 3
    """Number of times that work is restarted after its process or machine died."""
    address: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None
    """Address of a running Ray cluster (default: start one on this machine)."""
    slurm: tuple[str, ...] = ()
    """Parameters of SLURM jobs: partition=gpu time=240 (minutes) mem=16GB."""

    def train(
        self, runs: Mapping[str, RunConfig], out: Path, logs: Path, *, device: str, console: Console
    ) -> "tuple[list[RunFolder], Failures]":
        """Train runs to the end, in folders of their names; failures and their reasons are printed and
        returned."""
        from lengthwise.runs.launch import Job, train_jobs
        from lengthwise.runs.sweep import sweep_jobs

        jobs = [Job(config, RunFolder(out / name)) for name, config in runs.items()]
        if self.on is None:
            return train_jobs(jobs, device=device, console=console), {}
        engine = self.engine(device, logs)
        failures = sweep_jobs(jobs, engine, device=device, stack=self.stack, console=console)
        if failures:
            console.print(f"{len(failures)} of {len(jobs)} runs failed:", soft_wrap=True)
        for path, reason in failures.items():
            console.print(f"  {Path(path).name}: {reason}", markup=False, soft_wrap=True)
        return [job.folder for job in jobs], failures

    def engine(self, device: str, logs: Path) -> "Engine":
        from lengthwise.runs.machine import choose_device

        if device not in DEVICES:
            raise unknown("device", device, DEVICES)
        if self.on is None or self.on not in ENGINES:
            raise unknown("engine", self.on, ENGINES)
        if device == "cpu" and self.gpus:
            raise InputError("--gpus requires a device other than cpu")
        for name, engine in {"address": "ray", "slurm": "slurm"}.items():
            if getattr(self, name) and self.on != engine:
                raise InputError(f"--{name} requires --on {engine}")
        for name, lowest in {"workers": 1, "gpus": 0, "retries": 0, "stack": 1}.items():
            value = getattr(self, name)
            if value is not None and value < lowest:
                raise InputError(f"{name} is {value} (must be {lowest} or more)")
        if self.workers is not None and self.workers > MOST_WORKERS:
            raise InputError(f"workers is {self.workers} (must be {MOST_WORKERS:,} or less)")
        if self.on == "local":
            choose_device(device)
        own = {
            "local": {"logs": logs},
            "ray": {"address": self.address},
            "slurm": {"logs": logs, "parameters": self.slurm},
        }
        gpus = 0 if device == "cpu" else self.gpus
        make = resolve_name(ENGINES[self.on])
        return make(workers=self.workers, gpus=gpus, retries=self.retries, **own[self.on])


IN_THIS_PROCESS, ON_THIS_MACHINE = ScaleOut(), ScaleOut(on="local")


# --- what a recipe's runs took ------------------------------------------------------------------------------


def train_recipe(
    name: str,
    runs: Mapping[str, RunConfig],
    out: Path,
    *,
    asked: Mapping[str, Any],
    device: str = "auto",
    scale_out: ScaleOut = IN_THIS_PROCESS,
    console: Console,
) -> list[RunFolder]:
    """Train those of a recipe's runs that are not finished. OUT/NAME.json records the runs, the seconds of
    training, and what was `asked`: scale, preset and number of seeds."""
    _read_note(out / f"{name}.json")  # a note that cannot be read is refused before training, not after
    folders = [RunFolder(out / "runs" / run) for run in runs]
    unfinished, start = any(folder.status() != "done" for folder in folders), time.time()
    try:
        return scale_out.train(runs, out / "runs", out / "logs", device=device, console=console)[0]
    finally:
        span = [[round(start, 1), round(time.time(), 1)]] if unfinished else []
        _note(name, folders, out, asked, span)


def _note(
    name: str, folders: Sequence[RunFolder], out: Path, asked: Mapping[str, Any], span: list[list[float]]
) -> None:
    """Write the recipe's note; a call that resumes an earlier one, or trains other rows, adds to its note."""
    there = [folder for folder in folders if (folder.path / "environment.json").exists()]
    if not there:
        return
    environment = there[0].environment()
    path = out / f"{name}.json"
    with file_lock(path):
        before = _read_note(path)
        spans = [*before.get("spans", []), *span]
        write_json(
            path,
            {
                **before,
                "recipe": name,
                **asked,
                "seeds": max(asked["seeds"], before.get("seeds", 0)),
                "runs": list(dict.fromkeys([*before.get("runs", []), *(folder.name for folder in there)])),
                "spans": spans,
                "wall_seconds": round(before.get("earlier_seconds", 0.0) + covered(spans), 1),
                "commit": environment["commit"],
                "device": environment["device"],
            },
        )


def _read_note(path: Path) -> dict[str, Any]:
    """The note with its spans, of which an earlier version kept only the total; empty where there is none."""
    if not path.exists():
        return {}
    note = read_json(path)
    kinds = {"seeds": int, "runs": list, "spans": list, "wall_seconds": (int, float)}
    if not isinstance(note, dict) or not all(isinstance(note[k], kinds[k]) for k in kinds.keys() & note.keys()):
        raise InputError(f"{path} is not a recipe's note of its runs")
    return note if "spans" in note else {**note, "earlier_seconds": note.get("wall_seconds", 0.0), "spans": []}


def covered(spans: Sequence[list[float]]) -> float:
    """The total time covered by any of the spans; concurrent calls count once.

    >>> covered([[0, 10], [5, 12], [20, 21]])
    13.0
    """
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return round(total, 1)
