"""lengthwise train: train a model, measure it, and say whether the prediction held."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Self

import tyro
from rich.console import Console

from lengthwise.arithmetic import OPERATIONS
from lengthwise.errors import InputError
from lengthwise.recipes import preset
from lengthwise.runs.config import RunConfig, completed

DEFAULT_NAME = "(default: made from task, domain, encoding and seed)"


@dataclass(frozen=True, kw_only=True)
class Start:
    preset: str = "fast"
    """Hyperparameters to start from: fast, or paper for the paper's own."""
    size: str = "mini"
    """Model size: nano, micro, mini. --model options change it further."""


@dataclass(frozen=True, kw_only=True)
class Configured:
    """What takes a config: its options start from a preset, a size and a task."""

    config: Annotated[RunConfig, tyro.conf.arg(name="")]
    start: Annotated[Start, tyro.conf.arg(name="")]

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> Self:
        """These decide the defaults of the config, so they are parsed first."""
        start, others = tyro.cli(Start, args=arguments, return_unknown_args=True, add_help=False)
        return cls(config=preset(start.preset, _task(others), start.size), start=start)


@dataclass(frozen=True, kw_only=True)
class Train(Configured):
    """Train a model into a run folder. The same command again resumes it, or shows its verdicts if it is done.

    Example: lengthwise train add --train D4 --test D1..9 --size mini --seed 1
    """

    out: Path = Path("runs")
    """Folder that holds the run folders."""
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint=DEFAULT_NAME)] = None
    """Name of the run folder."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    mirror: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Show the records live elsewhere too: tensorboard, wandb (extras of the same names)."""
    dry_run: bool = False
    """Print parameters, memory and time per step instead of training."""
    json: bool = False
    """Print the verdicts as JSON."""

    def run(self) -> None:
        from lengthwise.records.folder import RunFolder
        from lengthwise.runs.launch import Job, train_jobs

        if self.dry_run:
            return self._show_costs()
        folder = RunFolder(self.out / self._folder_name())
        console = Console(highlight=False, stderr=self.json)
        if folder.status() == "done":
            folder.refuse_other(self.config.model_dump(mode="json"), completed)
            console.print(f"{folder.path} is done already")
        train_jobs([Job(self.config, folder)], device=self.device, mirror=self.mirror, console=console)
        return self._show_verdicts(folder.path, console)

    def _folder_name(self) -> str:
        if self.name is None:
            return self.config.name
        if self.name in ("", "..") or Path(self.name).name != self.name:
            raise InputError(f"name {self.name!r} is not a folder name (no slashes, not empty)")
        return self.name

    def _show_verdicts(self, path: Path, console: Console) -> None:
        from lengthwise.records.view import RunView
        from lengthwise.report.run_tables import show_verdicts, verdict_json

        rows = RunView.of(path).verdicts()
        if self.json:
            return print(json.dumps({"run": str(path), "rows": [verdict_json(row) for row in rows]}, indent=2))
        config = self.config
        title = f"{config.task} trained on {config.train}, {config.encoding}"
        show_verdicts(console, rows, config.spec.task, title)
        if self.config.data.samples is not None:
            self._show_samples(path, console)
        return console.print(f"Run folder: {path}", soft_wrap=True)

    def _show_samples(self, path: Path, console: Console) -> None:
        from lengthwise.records.files import read_json
        from lengthwise.runs.costs import counts_text

        # Runs of earlier versions do not record it.
        if "samples" in (status := read_json(path / "status.json")):
            console.print(f"Trained on a fixed set: {counts_text(status['samples'])}")

    def _show_costs(self) -> None:
        from lengthwise.runs.costs import costs, costs_text

        found = costs(self.config, self.device)
        return print(json.dumps(found, indent=2) if self.json else costs_text(found))


def _task(words: Sequence[str]) -> str:
    """The task, first or among the options, where a run or folder may have the same name."""
    for option, word in pairwise(["", *words]):
        is_task = word.partition("%")[0] in OPERATIONS and option not in ("--name", "--out")
        if is_task or not (option or word.startswith("-")):
            return word
    if {"-h", "--help"} & {*words}:
        return next(iter(OPERATIONS))
    raise InputError("missing task (an operation, with a modulus if wanted, as in add%101)")
