"""lengthwise sweep: many runs, over every combination of some options, on this machine or on a cluster."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import tyro
from rich.console import Console

from lengthwise.commands.train import Configured, Start, task_among
from lengthwise.errors import InputError
from lengthwise.recipes.configure import Rows, changed_options, configured, grid, option_name, values
from lengthwise.records.folder import RunFolder

if TYPE_CHECKING:
    from lengthwise.runs.config import RunConfig
    from lengthwise.runs.sweep import Engine, Failures

MOST_WORKERS = 10_000
ENGINES, DEVICES = ("local", "ray", "slurm"), ("auto", "cpu", "cuda")
DEFAULT_WORKERS = "(default: one for each GPU, or core where there is none; on a cluster, all it has room for)"
DEFAULT_GPUS = "(default: 1 where there are some)"


@dataclass(frozen=True, kw_only=True)
class ScaleOut:
    """Where many runs are trained."""

    on: Annotated[str | None, tyro.conf.arg(metavar="ENGINE")] = None
    """Where to train: local (processes on this machine), ray or slurm (extras of the same names)."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_WORKERS)] = None
    """How many stacks are trained at once."""
    gpus: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_GPUS)] = None
    """GPUs for each worker; 0.5 lets two share one, but not on slurm."""
    stack: int = 8
    """How many runs of equal shape train side by side as one program, at most."""
    retries: int = 3
    """How often work is started again whose process or machine died."""
    address: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None
    """A Ray cluster that is there (default: one started on this machine)."""
    slurm: tuple[str, ...] = ()
    """Parameters of SLURM jobs: partition=gpu time=240 (minutes) mem=16GB."""

    def train(
        self, runs: Rows, out: Path, logs: Path, *, device: str, console: Console
    ) -> "tuple[list[RunFolder], Failures]":
        """Bring runs to their end, in folders of their names; what failed, and why, is printed and returned."""
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
        self._check(device)
        own: dict[str, Any] = {
            "workers": self.workers,
            "gpus": 0 if device == "cpu" else self.gpus,
            "retries": self.retries,
        }
        if self.on == "local":
            from lengthwise.runs.local import LocalEngine
            from lengthwise.runs.machine import choose_device

            choose_device(device)
            return LocalEngine(**own, logs=logs)
        if self.on == "ray":
            from lengthwise.interop.clusters import RayEngine

            return RayEngine(**own, address=self.address)
        if self.on == "slurm":
            from lengthwise.interop.clusters import SlurmEngine

            return SlurmEngine(**own, parameters=self.slurm, logs=logs)
        raise InputError(f"unknown engine {self.on!r} (choose from {', '.join(ENGINES)})")

    def _check(self, device: str) -> None:
        if device not in DEVICES:
            raise InputError(f"unknown device {device!r} (choose from {', '.join(DEVICES)})")
        if device == "cpu" and self.gpus:
            raise InputError("--gpus requires a device other than cpu")
        if self.address and self.on != "ray":
            raise InputError("--address requires --on ray")
        if self.slurm and self.on != "slurm":
            raise InputError("--slurm requires --on slurm")
        least = {"workers": 1, "gpus": 0, "retries": 0, "stack": 1}
        for name, lowest in least.items():
            value = getattr(self, name)
            if value is not None and value < lowest:
                raise InputError(f"{name} is {value} (must be {lowest} or more)")
        if self.workers is not None and self.workers > MOST_WORKERS:
            raise InputError(f"workers is {self.workers} (must be {MOST_WORKERS:,} or less)")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What varies."""

    vary: tyro.conf.UseAppendAction[tuple[tuple[str, str], ...]] = ()
    """An option of train and its values: seed 0..9, encoding learned,rotary, training.learning-rate 0.01,0.02, or
    a JSON list; may be given more than once."""

    def values(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for name, text in self.vary:
            if option_name(name) in found:
                raise InputError(f"--vary {name} is given twice")
            found[option_name(name)] = values(text)
        return found

    def first(self, start: Start, task: str | None) -> "RunConfig":
        """The config of the first run, before options that all share; `task` is one that is not varied."""
        own = {name: found[0] for name, found in self.values().items()}
        return configured({"task": task, **start.options(), **own})


@dataclass(frozen=True, kw_only=True)
class Sweep(Configured):
    """Train a run for every combination of the values of some options. The same command again takes up what was
    interrupted, and leaves alone what is done. Options that do not vary are those of train.

    Example: lengthwise sweep --vary task add%50,add%51 --vary seed 0..9 --train D4 --size nano
    """

    grid: Annotated[Grid, tyro.conf.arg(name="")] = Grid()
    out: Path = Path("runs")
    """Folder that holds the run folders."""
    device: str = "auto"
    """What workers train on: auto, cpu, cuda."""
    scale_out: Annotated[ScaleOut, tyro.conf.arg(name="")] = ScaleOut(on="local")
    json: bool = False
    """Print runs and verdicts as JSON."""

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> Self:
        """What the first run has, before the options that all share."""
        start, others = tyro.cli(Start, args=arguments, return_unknown_args=True, add_help=False)
        own, others = tyro.cli(Grid, args=others, return_unknown_args=True, add_help=False)
        return cls(config=own.first(start, task_among(others, start)), start=start)

    def run(self) -> None:
        console = Console(highlight=False, stderr=self.json)
        where = {"device": self.device, "console": console}
        folders, failures = self.scale_out.train(self._runs(), self.out, self.out / "logs", **where)
        self._show(folders, console)
        if failures:
            sys.exit(1)

    def _runs(self) -> Rows:
        task, vary = self.config.task, self.grid.values()
        given = changed_options(self.config, self.grid.first(self.start, task))
        for name in given.keys() & vary.keys():
            raise InputError(f"{name} is given and varied")
        return grid({**self.start.options(), "task": task, **given}, vary)

    def _show(self, folders: Sequence[RunFolder], console: Console) -> None:
        from lengthwise.records.view import RunView
        from lengthwise.report.run_tables import row_json, row_table

        views = [RunView(folder) for folder in folders if folder.path.exists()]
        if self.json:
            return print(json.dumps([row_json(view) for view in views], indent=2))
        console.print(row_table(views))
        return console.print(f"Run folders: {self.out}; lengthwise report {self.out} shows them", soft_wrap=True)
