"""lengthwise train: train a model, measure it, and say whether the prediction held."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from lengthwise.arithmetic import OPERATIONS
from lengthwise.errors import InputError
from lengthwise.experiments.config import RunConfig, completed
from lengthwise.model.config import SIZES
from lengthwise.recipes import PRESETS, preset


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a model into a run folder. The same command again resumes it, or tells that it is done.

    Example: lengthwise train add --train D4 --test D1..9 --size mini --seed 1
    """

    config: Annotated[RunConfig, tyro.conf.arg(name="")]
    preset: str = "fast"
    """Where the other options start from: fast, or paper for the paper's hyperparameters."""
    size: str = "mini"
    """Model size: nano, micro, mini. --model options change it further."""
    out: Path = Path("runs")
    """Folder that holds the run folders."""
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Name of the run folder. Default: made from task, domain, encoding and seed."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    mirror: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Show the records live elsewhere too: tensorboard, wandb (extras of the same names)."""
    dry_run: bool = False
    """Tell parameters, memory and time per step instead of training."""
    json: bool = False
    """Print the verdicts as JSON."""

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> "Train":
        config, start, size = starting_config(arguments)
        return cls(config=config, preset=start, size=size)

    def run(self) -> None:
        from lengthwise.experiments.launch import Claim, train_claims
        from lengthwise.records.folder import RunFolder

        if self.dry_run:
            return self._show_costs()
        folder = RunFolder(self.out / self._folder_name())
        console = Console(highlight=False, stderr=self.json)
        if folder.status() == "done":
            folder.refuse_other(self.config.model_dump(mode="json"), completed)
            console.print(f"{folder.path} is done already")
        train_claims([Claim(self.config, folder)], device=self.device, mirror=self.mirror, console=console)
        return self._show_verdicts(folder.path, console)

    def _folder_name(self) -> str:
        if self.name is None:
            return self.config.name
        if self.name in ("", "..") or Path(self.name).name != self.name:
            raise InputError(f"name {self.name!r} is no name of a folder: allowed are those without slashes")
        return self.name

    def _show_verdicts(self, path: Path, console: Console) -> None:
        from lengthwise.records.view import RunView
        from lengthwise.report.run_tables import LEGEND, verdict_json, verdict_table

        rows = RunView.of(path).verdicts()
        if self.json:
            return print(json.dumps({"run": str(path), "rows": [verdict_json(row) for row in rows]}, indent=2))
        config = self.config
        console.print(verdict_table(rows, f"{config.task} trained on {config.train}, {config.encoding}"))
        console.print(LEGEND)
        if self.config.data.samples is not None:
            self._show_samples(path, console)
        return console.print(f"Run folder: {path}", soft_wrap=True)

    def _show_samples(self, path: Path, console: Console) -> None:
        from lengthwise.experiments.samples import counts_text
        from lengthwise.records.files import read_json

        # Runs of earlier versions do not tell.
        if "samples" in (status := read_json(path / "status.json")):
            console.print(f"Trained on a fixed set: {counts_text(status['samples'])}")

    def _show_costs(self) -> None:
        from lengthwise.experiments.costs import costs

        found = costs(self.config, self.device)
        if self.json:
            return print(json.dumps(found.as_json(), indent=2))
        return print(found.as_text())


def starting_config(arguments: Sequence[str]) -> tuple[RunConfig, str, str]:
    """Defaults of a config depend on preset, size and task, so these are looked at first."""
    start, size = _option(arguments, "preset", PRESETS, "fast"), _option(arguments, "size", SIZES, "mini")
    return preset(start, _task(arguments), size), start, size


def _task(arguments: Sequence[str]) -> str:
    """The task, first or among the options, where a run or folder may have the same name."""
    if arguments and not arguments[0].startswith("-"):
        return arguments[0]
    for option, word in pairwise(arguments):
        if option not in ("--name", "--out") and word.partition("%")[0] in OPERATIONS:
            return word
    if {"-h", "--help"} & {*arguments}:
        return next(iter(OPERATIONS))
    raise InputError("no task given: allowed is an operation with a modulus if wanted, as in add%101")


def _option(arguments: Sequence[str], name: str, allowed: Iterable[str], default: str) -> str:
    """The value of --name, given as two words or with an equals sign."""
    value = default
    for word, following in pairwise([*arguments, ""]):
        if word == f"--{name}":
            value = following
        elif word.startswith(f"--{name}="):
            value = word.partition("=")[2]
    if value not in allowed:
        raise InputError(f"unknown {name} {value!r}: allowed are {', '.join(allowed)}")
    return value
