"""The Python API: the verbs as functions with the same defaults, and a run as an object.

>>> import lengthwise
>>> lengthwise.ask("addition", "91234 + 85678")
91234 + 85678: the model answers 6912, truth is 176912, theory predicts 6912 (truncated:4)
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

from rich.console import Console
from rich.markup import escape

from lengthwise.errors import InputError
from lengthwise.evaluation import TEXT_PROBLEMS, Asked, EvaluationConfig
from lengthwise.progress import Watch, news_console, unwatched
from lengthwise.recipes import Recipe, Setting, configure, find_recipes
from lengthwise.recipes.configure import grid
from lengthwise.records.files import refuse_used_folder
from lengthwise.records.folder import RunFolder
from lengthwise.records.spec import read_spec
from lengthwise.records.verdicts import Verdict
from lengthwise.records.view import RunView
from lengthwise.registry import Shown
from lengthwise.report.run_tables import row_table, show_run
from lengthwise.runs.config import RunConfig, read_config
from lengthwise.runs.engines import IN_THIS_PROCESS, ScaleOut, train_recipe
from lengthwise.shipped import model_path

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from lengthwise.runs.build import Module
    from lengthwise.runs.evaluate import Evaluation
    from lengthwise.runs.load import Answer, LoadedRun

PathLike = str | os.PathLike[str]

OUT = {("full", "fast"): "runs/full", ("full", "paper"): "runs/paper", ("laptop", "fast"): "runs/laptop"}
"""Default output folder of `reproduce`, by scale and preset."""


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """A run: its files, read on each access, and its model, loaded when first used. It can be used as a path."""

    path: Path
    device: str = "auto"
    module: "Module | None" = None
    """The function that built its network, for a custom network (docs/extend.md)."""

    shown_by: ClassVar[str] = "lengthwise.api:show"

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def view(self) -> RunView:
        return RunView.of(self.path)

    @property
    def config(self) -> RunConfig:
        return read_config(self.view.config, f"{self.path}/config.json")

    @property
    def status(self) -> str | None:
        """running, stopped, done or failed."""
        return self.view.source.status()

    @property
    def records(self) -> "pl.DataFrame":
        """All records, each with the run's setting (records/frame.py)."""
        return self.view.frame

    @property
    def verdicts(self) -> list[Verdict]:
        """One verdict per test domain, from the last evaluation."""
        return self.view.verdicts()

    def figure(self, name: str = "lengths") -> "Figure":
        """A figure of the run: lengths, training, digits or dependence (report/figures)."""
        from lengthwise.report.figures import draw_run

        return draw_run(self.view, name)

    @cached_property
    def loaded(self) -> "LoadedRun":
        """The model with its layout and encoding: `run.loaded.stack.model` is a torch module."""
        from lengthwise.runs.load import load

        return load(self.path, device=self.device, module=self.module)

    def ask(self, problem: str | int, b: int | None = None) -> "Answer":
        """The answer to `run.ask("12 + 5")`, written in the run's base, or `run.ask(12, 5)`."""
        return self.loaded.ask(problem, b)


def show(run: Run, console: Console) -> None:
    show_run(run.view, console)


def load(path: PathLike, *, device: str = "auto", module: "Module | None" = None) -> Run:
    """Open a run folder, a model that comes with the package, or a run of a packed file, which has only records. A
    run with a custom network needs the `module` that built it."""
    run = Run(model_path(Path(path)), device, module)
    read_spec(run.view.config)
    return run


@overload
def train(task: str | RunConfig | None = None, **options: Any) -> Run: ...
@overload
def train(task: Sequence[str | RunConfig], **options: Any) -> list[Run]: ...
def train(
    task: str | RunConfig | Sequence[str | RunConfig] | None = None,
    *,
    out: PathLike = "runs",
    name: str | None = None,
    device: str = "auto",
    mirror: str | None = None,
    quiet: bool = False,
    module: "Module | None" = None,
    **settings: Any,
) -> Run | list[Run]:
    """Train a run into its folder under `out` and measure it. A finished run is not trained again, an interrupted
    one resumes.

    Give a task and settings as `configure` takes them: `train("add", train="D4", size="nano", steps=500)`; or a
    config and settings that change it; or a list of tasks or configs, of which those of equal shape train as a
    stack. `module` builds a custom network (docs/extend.md).
    """
    from lengthwise.runs.launch import Job, train_jobs

    tasks = [task] if task is None or isinstance(task, str | RunConfig) else task
    if tasks is task and name is not None:
        raise InputError(f"name {name!r} cannot be used for several runs")
    starts = ({"config": own} if isinstance(own, RunConfig) else {"task": own} for own in tasks)
    configs = dict.fromkeys(configure(**start, **settings) for start in starts)
    jobs = [Job(config, RunFolder(Path(out) / config.folder_name(name))) for config in configs]
    train_jobs(jobs, device=device, mirror=mirror, console=news_console(quiet=quiet), module=module)
    runs = [Run(job.folder.path, device, module) for job in jobs]
    return runs if tasks is task else runs[0]


def evaluate(
    run: PathLike | None = None,
    test: str | None = None,
    *,
    pairs: PathLike | None = None,
    problems: int | None = None,
    seed: int | None = None,
    decode: bool = False,
    dependence: bool = False,
    functions: bool = False,
    show_errors: int = 0,
    out: PathLike | None = None,
    device: str = "auto",
    watch: Watch = unwatched,
    **text: Any,
) -> "Evaluation":
    """Measure a run on test domains (by default its own), or on a file of `pairs`; or, with `hf`, the model in a
    Hugging Face folder, with the other options of the command for it (`task`, `template`, `shots` ...).

    `problems` is the number of problems per domain, drawn by `seed`. `decode` also decodes answers token by token
    and classifies failures, `dependence` finds which operand digits each answer digit depends on, `functions`
    which function the answers follow, and `show_errors` lists that many wrong answers. `out` is a new run folder
    for the records.
    """
    from lengthwise.runs.evaluate import evaluate as measured

    asked = Asked(**text)
    if (run is None) == (asked.hf is None):
        raise InputError("evaluate requires either a run folder or --hf DIR")
    if run is not None and asked != Asked():
        raise InputError("options such as --task and --template require --hf DIR")
    if out is not None:
        refuse_used_folder(Path(out))
    loaded = _measured(run, asked, device)
    if loaded is not None:
        config, options = loaded.config, {"functions": functions, "show_errors": show_errors, "seed": seed}
        options |= {"pairs": pairs, "problems": problems, "decoded": decode, "dependence": dependence}
        found = measured(loaded, test, watch=watch, **options)
    else:
        for name, value in {"pairs": pairs, "decode": decode, "dependence": dependence}.items():
            if value:
                raise InputError(f"--{name} cannot be used with a text model")
        from lengthwise.interop.huggingface import evaluate_causal_lm

        config = _text_config(asked, test, problems, seed)
        found = evaluate_causal_lm(asked, config, device, watch)
    if out is not None:
        told: dict[str, Any] = {"model": os.fspath(run or asked.hf or "")}
        told |= {} if run else {name: getattr(asked, name) for name in ("template", "reverse", "shots")}
        changed = {"test": test or config.test, "evaluation": {"problems": problems or config.evaluation.problems}}
        _write(found, Path(out), config.changed(**changed), device, {**told, "seed": seed})
    return found


def _measured(run: PathLike | None, asked: Asked, device: str) -> "LoadedRun | None":
    """The run to measure; an exported folder is one. None for a model that is asked in text."""
    from lengthwise.runs.load import load

    if run is not None:
        return run.loaded if isinstance(run, Run) else load(run, device=device)
    from lengthwise.interop.huggingface import exported_run

    assert asked.hf is not None
    exported = None if asked.in_text else exported_run(Path(asked.hf), device)
    if exported is not None and replace(asked, hf=None) != Asked():
        raise InputError(f"{asked.hf} has its own task and training domain; to override them, add --task")
    return exported


def _text_config(asked: Asked, test: str | None, problems: int | None, seed: int | None) -> RunConfig:
    """The question to a text model as a run's config. Its training options are unused defaults."""
    if asked.task is None:
        raise InputError("--hf requires --task, unless lengthwise export wrote the folder")
    own: dict[str, Any] = {name: getattr(asked, name) for name in ("task", "train", "encoding", "layout", "base")}
    evaluation = EvaluationConfig(problems=TEXT_PROBLEMS if problems is None else problems)
    return RunConfig(test=test, seed=seed or 0, evaluation=evaluation, **own)


def _write(found: "Evaluation", out: Path, config: RunConfig, device: str, asked: Mapping[str, Any]) -> None:
    """Write the records of an evaluation into a new run folder."""
    from lengthwise.runs.machine import choose_device, environment

    facts = {**environment(choose_device(device)), "asked": asked}
    folder = RunFolder.claim(out, config.model_dump(mode="json"), facts)
    folder.append(record.model_copy(update={"run": folder.name}) for record in found.records)
    folder.set_status("done", step=found.records[0].step)


def ask(run: PathLike, problem: str | int, b: int | None = None, *, device: str = "auto") -> "Answer":
    """Ask a trained model a problem: `ask("addition", "12 + 5")` or `ask(run, 12, 5)`."""
    return (run if isinstance(run, Run) else load(run, device=device)).ask(problem, b)


def reproduce(
    recipe: str,
    *,
    scale: str = "full",
    preset: str = "fast",
    seeds: int | None = None,
    only: Sequence[str] = (),
    out: PathLike | None = None,
    device: str = "auto",
    quiet: bool = False,
) -> list[Run]:
    """Train a recipe's models, measure them, print its tables, and write tables and figures to `out`."""
    asked: dict[str, Any] = {"seeds": seeds, "only": only, "out": out, "device": device}
    console, news = Console(highlight=False, quiet=quiet), news_console(quiet=quiet)
    found = reproduced(recipe, Setting(scale=scale, preset=preset), **asked, console=console, news=news)
    return [Run(view.source.path, device) for views in found.values() for view in views]


def reproduced(
    recipe: str,
    setting: Setting,
    *,
    seeds: int | None,
    only: Sequence[str],
    out: PathLike | None,
    device: str,
    scale_out: ScaleOut = IN_THIS_PROCESS,
    console: Console,
    news: Console,
) -> dict[str, list[RunView]]:
    """The runs of each recipe; tables are printed on the console, progress as news."""
    if seeds is not None and seeds < 0:
        raise InputError(f"seeds is {seeds} (must be 0 or more)")
    recipes, small = find_recipes(recipe), " (in small)" if setting.laptop else ""
    place, found = Path(out or OUT[setting.scale, setting.preset]), dict[str, list[RunView]]()
    where: dict[str, Any] = {"device": device, "scale_out": scale_out, "console": news}
    for own in recipes:
        console.print(f"[bold]{own.name}[/]: {escape(own.purpose)}{small}", soft_wrap=True)
        count = own.usual_seeds(setting) if seeds is None else seeds
        asked = {"scale": setting.scale, "preset": setting.preset, "seeds": count}
        folders = train_recipe(own.name, own.runs(setting, count, only), place, asked=asked, **where)
        found[own.name] = [RunView(folder) for folder in folders]
        console.print(row_table(found[own.name]))
    render(recipes, place, console)
    return found


def render(recipes: Sequence[Recipe], out: Path, console: Console) -> None:
    """Print the tables of these recipes and write all tables and figures, if the libraries are installed."""
    try:
        from lengthwise.report.results import tables_of, write_results
    except ImportError as error:
        return console.print(
            f"{error.name} is not installed, so nothing is drawn; run the same command where it is installed",
            soft_wrap=True,
        )
    from lengthwise.report.queries import Collection
    from lengthwise.report.tables import terminal

    collection = Collection(out)
    for table in (table for recipe in recipes for table in tables_of(recipe, collection).values()):
        for part in terminal(table, console.width):
            console.print(part)
    written = write_results(out)
    return console.print(f"Tables, figures and summary.json in {out}: {len(written)} files", soft_wrap=True)


def sweep(
    task: str | None = None,
    *,
    vary: Mapping[str, Sequence[Any]],
    out: PathLike = "runs",
    device: str = "auto",
    on: str = "local",
    **options: Any,
) -> list[Run]:
    """Train a run for every combination of values, each into its folder under `out`. Finished runs are not trained
    again, interrupted ones resume; each run's status says whether it is done.

    Options are those of the verb: `on`, `workers`, `retries` and so on say where and how to train, all others
    configure the runs: `sweep("add", vary={"seed": range(10)}, train="D4", size="nano", steps=200)`.
    """
    ways = {field.name for field in fields(ScaleOut)}
    scale_out = ScaleOut(on=on, **{name: own for name, own in options.items() if name in ways})
    shared = {name: own for name, own in options.items() if name not in ways}
    runs = grid({"task": task, **shared}, vary)
    where = {"device": device, "console": Console(highlight=False)}
    folders, _ = scale_out.train(runs, Path(out), Path(out) / "logs", **where)
    return [Run(folder.path, device) for folder in folders]
