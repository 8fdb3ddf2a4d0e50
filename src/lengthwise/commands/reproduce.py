"""lengthwise reproduce and demo: train and draw a table or figure of the paper, or Table 1 in miniature."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from lengthwise import api
from lengthwise.errors import InputError
from lengthwise.progress import Verbosity
from lengthwise.recipes import RECIPES, Setting
from lengthwise.records.verdicts import GATE, TOLERANCE, Verdict
from lengthwise.report.run_tables import row_json, row_verdict, styled, verdict_json
from lengthwise.report.tables import EXACT, MARKS, new_table, percent
from lengthwise.runs.engines import IN_THIS_PROCESS, ON_THIS_MACHINE, ScaleOut

if TYPE_CHECKING:
    from lengthwise.runs.config import RunConfig

DEFAULT_OUT = "(default: runs/full, runs/laptop, or runs/paper with that preset)"
DEFAULT_SEEDS = "(default: the recipe's own number, 1 to 5; 1 at scale laptop)"


@dataclass(frozen=True, kw_only=True)
class Reproduce(Verbosity):
    """Train a recipe's models, measure them, and write tables, figures and verdicts. Finished runs are skipped.

    Example: lengthwise reproduce addition --scale laptop
    """

    recipe: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = None
    """Name of a recipe, or all."""
    list: bool = False
    """List the recipes and what each makes."""
    scale: str = "full"
    """full for the paper's models (needs a GPU), or laptop for small ones on a CPU, in minutes."""
    preset: str = "fast"
    """Hyperparameters: fast, or paper for those the paper prints."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_SEEDS)] = None
    """Train every row with N seeds, from the recipe's first; 0 trains the seed of tuning, which no table shows."""
    only: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """Train only this row. Can be repeated."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint=DEFAULT_OUT)] = None
    """Folder for runs, tables and figures."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    scale_out: Annotated[ScaleOut, tyro.conf.arg(name="")] = IN_THIS_PROCESS
    json: bool = False
    """Print the verdicts as JSON."""

    def run(self) -> None:
        if self.list:
            purposes = {name: recipe.purpose for name, recipe in RECIPES.items()}
            width = max(map(len, purposes))
            lines = "\n".join(f"{name:<{width}}  {purpose}" for name, purpose in purposes.items())
            return print(json.dumps(purposes, indent=2) if self.json else lines)
        if self.recipe is None:
            raise InputError("missing recipe (see lengthwise reproduce --list)")
        if self.scale_out.on is None and self.scale_out != IN_THIS_PROCESS:
            raise InputError("--workers, --stack and the like require --on (choose from local, ray, slurm)")
        news, setting = self.news(), Setting(scale=self.scale, preset=self.preset)
        console = news if self.json else Console(highlight=False)
        asked = {name: getattr(self, name) for name in ("seeds", "only", "out", "device", "scale_out")}
        found = api.reproduced(self.recipe, setting, **asked, console=console, news=news)
        if self.json:
            shown = [{"recipe": name, "rows": [row_json(view) for view in views]} for name, views in found.items()]
            print(json.dumps(shown, indent=2))
        if self.scale_out.on and any(view.source.status() != "done" for views in found.values() for view in views):
            sys.exit(1)
        return None


# --- in miniature -------------------------------------------------------------------------------------------


FAMILIES = {"learned": "absolute", "coupled": "relative"}


@dataclass(frozen=True, kw_only=True)
class Demo(Verbosity):
    """Train eight small models on this machine and see which predictions hold, in a minute and a half."""

    out: Path = Path("runs/demo")
    """Folder that contains the run folders. Finished runs in it are not trained again."""
    json: bool = False
    """Print the rows as JSON."""

    def run(self) -> None:
        from lengthwise.recipes import catalogue
        from lengthwise.recipes.relative import demo_configs
        from lengthwise.records.view import RunView
        from lengthwise.report.page import Report

        news = self.news()
        console = news if self.json else Console(highlight=False)
        configs, words, start = demo_configs(), catalogue()["demo"], time.perf_counter()
        console.print(words["introduction"], soft_wrap=True)
        # One core per stack is faster than all cores for one stack at a time.
        runs = {config.name: config for config in configs}
        folders, failed = ON_THIS_MACHINE.train(runs, self.out, self.out / "logs", device="cpu", console=news)
        if failed:
            first, reason = next(iter(failed.items()))
            raise InputError(f"{len(failed)} of {len(runs)} runs failed; {Path(first).name}: {reason}")
        seconds = time.perf_counter() - start
        rows = [(config, RunView(folder).verdicts()) for config, folder in zip(configs, folders, strict=True)]
        if self.json:
            return print(json.dumps([demo_json(config, verdicts) for config, verdicts in rows], indent=2))
        console.print(demo_table(rows))
        bounds = {"gate": 100 * GATE, "tolerated": 100 * (1 - TOLERANCE)}
        console.print(words["conclusion"].format(example=folders[0].path, **bounds), soft_wrap=True)
        page = self.out / "report.html"
        Report.of([folder.path for folder in folders]).write(page)
        console.print(f"{seconds:.0f} s; run folders in {self.out}", soft_wrap=True)
        return console.print(f"Open {page} in a browser to see everything", soft_wrap=True)


def demo_table(rows: "Sequence[tuple[RunConfig, list[Verdict]]]") -> Table:
    lengths = [str(verdict.prediction.domain)[1:] for verdict in rows[0][1]]
    digits = [f"{n} digit{'s' if n != '1' else ''}" for n in lengths]
    columns = ("positions", "task", *digits, "verdict", "theory")
    table = new_table(*columns, title="Table 1 of the paper, in miniature")
    for config, verdicts in rows:
        shares = (f"{percent(v.accuracy.share)} ({percent(v.expected, EXACT)})" for v in verdicts)
        verdict, mark = styled(row_verdict(verdicts)), MARKS[verdicts[-1].prediction.generalizes]
        table.add_row(FAMILIES[config.encoding], config.task, *shares, verdict, mark)
    return table


def demo_json(config: "RunConfig", verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {
        **{name: getattr(config, name) for name in ("task", "base", "train", "encoding", "seed")},
        "verdict": row_verdict(verdicts),
        "rows": [verdict_json(verdict) for verdict in verdicts],
    }
