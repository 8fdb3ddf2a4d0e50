"""lengthwise train and sweep: train one model, or one for every combination of some options, and judge them."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self

import tyro
from rich.console import Console

from lengthwise import api
from lengthwise.arithmetic import OPERATIONS
from lengthwise.errors import InputError
from lengthwise.progress import Verbosity, progress_shown
from lengthwise.recipes.configure import changed_options, configure, configured, grid, option_name, values
from lengthwise.records.files import json_text
from lengthwise.records.folder import RunFolder
from lengthwise.runs.config import RunConfig
from lengthwise.runs.engines import ON_THIS_MACHINE, ScaleOut

DEFAULT_NAME = "(default: made from task, domain, encoding and seed)"


@dataclass(frozen=True, kw_only=True)
class Start:
    file: Annotated[Path | None, tyro.conf.arg(name="config", metavar="FILE")] = None
    """Start from a run's config.json, or from a JSON or YAML file with some of these options (docs/python.md shows
    one). Other options override it."""
    preset: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="(default: fast)")] = None
    """Hyperparameters to start from: fast, or paper for those the paper prints."""
    size: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="(default: mini)")] = None
    """Model size: nano, micro, mini. --model options override it."""

    def options(self) -> dict[str, Any]:
        """These options as `configure` takes them."""
        return {"config": self.file, "preset": self.preset, "size": self.size}


@dataclass(frozen=True, kw_only=True)
class Configured:
    """A verb with a config, whose defaults come from a file, or from a preset, a size and a task."""

    config: Annotated[RunConfig, tyro.conf.arg(name="")]
    start: Annotated[Start, tyro.conf.arg(name="")]

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> Self:
        """Parse the options of Start first: they decide the defaults of the config."""
        start, others = tyro.cli(Start, args=arguments, return_unknown_args=True, add_help=False)
        config = configure(task_among(others, start), **start.options())
        return cls(config=config, start=start)


@dataclass(frozen=True, kw_only=True)
class Train(Configured, Verbosity):
    """Train a model into a run folder. The same command again resumes it, or prints its verdicts if it is done.

    Example: lengthwise train add --train D4 --test D1..9 --size mini --seed 1
    """

    out: Path = Path("runs")
    """Folder that contains the run folders."""
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint=DEFAULT_NAME)] = None
    """Name of the run folder."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    mirror: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Also send the records to tensorboard or wandb (install the extra of that name)."""
    print_config: bool = False
    """Print the complete config as JSON, for --config, instead of training."""
    dry_run: bool = False
    """Print parameters, memory and time per step instead of training."""
    json: bool = False
    """Print the verdicts as JSON."""

    def run(self) -> None:
        if self.print_config:
            return print(json_text(self.config.model_dump(mode="json")), end="")
        news = self.news()
        if self.dry_run:
            from lengthwise.runs.costs import costs, costs_text

            with progress_shown("measuring the time of a step", news, at_once=True):
                found = costs(self.config, self.device)
            return print(json.dumps(found, indent=2) if self.json else costs_text(found))
        names = ("out", "name", "device", "mirror", "quiet")
        return self._show_verdicts(api.train(self.config, **{name: getattr(self, name) for name in names}))

    def _show_verdicts(self, run: api.Run) -> None:
        from lengthwise.report.run_tables import show_verdicts, verdict_json
        from lengthwise.runs.costs import counts_text

        rows, config, console = run.verdicts, self.config, Console(highlight=False)
        if self.json:
            content = {"run": str(run.path), "rows": [verdict_json(row) for row in rows]}
            return print(json.dumps(content, indent=2))
        title = f"{config.task} trained on {config.train}, {config.encoding}"
        show_verdicts(console, rows, config.spec.task, title)
        if samples := run.view.source.costs().get("samples"):
            console.print(f"Trained on a fixed set: {counts_text(samples)}")
        return console.print(f"Run folder: {run.path}", soft_wrap=True)


def task_among(words: Sequence[str], start: Start) -> str | None:
    """The task among the command's words, which may also be the name of a run or folder; None where a file or
    --vary gives it."""
    for option, word in pairwise(["", *words]):
        is_task = word.partition("%")[0] in OPERATIONS and option not in ("--name", "--out")
        if is_task or not (option or word.startswith("-")):
            return word
    asks_for_help = {"-h", "--help"} & {*words}
    return next(iter(OPERATIONS)) if asks_for_help and start.file is None else None


# --- many runs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The options that vary."""

    vary: tyro.conf.UseAppendAction[tuple[tuple[str, str], ...]] = ()
    """An option of train and its values: seed 0..9, encoding learned,rotary, training.learning-rate 0.01,0.02, or
    a JSON list. Can be repeated."""

    def values(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for name, text in self.vary:
            if option_name(name) in found:
                raise InputError(f"--vary {name} is given twice")
            found[option_name(name)] = values(text)
        return found

    def first(self, start: Start, task: str | None) -> RunConfig:
        """The config of the first run, before options that all runs share; `task` is the task if it does not
        vary."""
        own = {name: found[0] for name, found in self.values().items()}
        return configured({"task": task, **start.options(), **own})


@dataclass(frozen=True, kw_only=True)
class Sweep(Configured, Verbosity):
    """Train a run for every combination of the values of some options. The same command again resumes interrupted
    runs and skips finished ones. All other options are those of train.

    Example: lengthwise sweep --vary task add%50,add%51 --vary seed 0..9 --train D4 --size nano
    """

    grid: Annotated[Grid, tyro.conf.arg(name="")] = Grid()
    out: Path = Path("runs")
    """Folder that contains the run folders."""
    device: str = "auto"
    """Where workers train: auto, cpu, cuda."""
    scale_out: Annotated[ScaleOut, tyro.conf.arg(name="")] = ON_THIS_MACHINE
    json: bool = False
    """Print runs and verdicts as JSON."""

    @classmethod
    def defaults(cls, arguments: Sequence[str]) -> Self:
        """Take the defaults from the first run, before options that all runs share."""
        start, others = tyro.cli(Start, args=arguments, return_unknown_args=True, add_help=False)
        own, others = tyro.cli(Grid, args=others, return_unknown_args=True, add_help=False)
        return cls(config=own.first(start, task_among(others, start)), start=start)

    def run(self) -> None:
        news = self.news()
        task, vary = self.config.task, self.grid.values()
        given = changed_options(self.config, self.grid.first(self.start, task))
        for name in given.keys() & vary.keys():
            raise InputError(f"--{name} cannot be combined with --vary {name}")
        runs = grid({**self.start.options(), "task": task, **given}, vary)
        console = news if self.json else Console(highlight=False, quiet=self.quiet)
        where = {"device": self.device, "console": console}
        folders, failures = self.scale_out.train(runs, self.out, self.out / "logs", **where)
        self._show(folders)
        if failures:
            sys.exit(1)

    def _show(self, folders: Sequence[RunFolder]) -> None:
        from lengthwise.records.view import RunView
        from lengthwise.report.run_tables import row_json, row_table

        views = [RunView(folder) for folder in folders if folder.path.exists()]
        if self.json:
            return print(json.dumps([row_json(view) for view in views], indent=2))
        console = Console(highlight=False)
        console.print(row_table(views))
        return console.print(
            f"Run folders: {self.out} (to see them: lengthwise report {self.out})", soft_wrap=True
        )
