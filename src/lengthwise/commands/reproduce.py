"""lengthwise reproduce: a table or figure of the paper, by its name, and a note of what its runs took."""

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.markup import escape

from lengthwise.commands.sweep import ScaleOut
from lengthwise.errors import InputError
from lengthwise.progress import Verbosity
from lengthwise.recipes import RECIPES, Recipe, Setting, find_recipes
from lengthwise.recipes.configure import Rows
from lengthwise.records.files import file_lock, read_json, write_json
from lengthwise.records.folder import RunFolder

OUT = {("full", "fast"): "runs/full", ("full", "paper"): "runs/paper", ("laptop", "fast"): "runs/laptop"}
DEFAULT_OUT = "(default: runs/full, runs/laptop, or runs/paper with that preset)"
IN_THIS_PROCESS = ScaleOut()
DEFAULT_SEEDS = "(default: the recipe's own number, 1 or 3; 1 at scale laptop)"


@dataclass(frozen=True, kw_only=True)
class Reproduce(Verbosity):
    """Train a recipe's models, measure them, and show tables, figures and verdicts. Finished runs are not redone.

    Example: lengthwise reproduce addition --scale laptop
    """

    recipe: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = None
    """A recipe's name, or all."""
    list: bool = False
    """Name the recipes and what each makes."""
    scale: str = "full"
    """full for the paper's models (a GPU is needed), or laptop for small ones on a CPU, in minutes."""
    preset: str = "fast"
    """Hyperparameters: fast, or paper for the paper's own."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_SEEDS)] = None
    """Train every row with N seeds, from the recipe's first that nothing was tuned on; 0 is the one seed to tune
    on, which no table shows."""
    only: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """Train this row alone; may be given more than once."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint=DEFAULT_OUT)] = None
    """Folder for runs, tables and figures."""
    device: str = "auto"
    """Where to train: auto, cpu, cuda."""
    scale_out: Annotated[ScaleOut, tyro.conf.arg(name="")] = IN_THIS_PROCESS
    json: bool = False
    """Print the verdicts as JSON."""

    def run(self) -> None:
        if self.list:
            return print(listed(self.json))
        shown = self.reproduced(self.results(as_json=self.json))
        if self.json:
            print(json.dumps(shown, indent=2))
        if self.scale_out.on and any(row["status"] != "done" for recipe in shown for row in recipe["rows"]):
            sys.exit(1)
        return None

    def reproduced(self, console: Console) -> "list[dict[str, Any]]":
        """Train and show each recipe; its runs, as --json prints them."""
        if self.recipe is None:
            raise InputError("missing recipe (lengthwise reproduce --list names them)")
        if self.seeds is not None and self.seeds < 0:
            raise InputError(f"seeds is {self.seeds} (must be 0 or more)")
        if self.scale_out.on is None and self.scale_out != IN_THIS_PROCESS:
            raise InputError("--workers, --stack and the like require --on (choose from local, ray, slurm)")
        recipes = find_recipes(self.recipe)
        setting = Setting(scale=self.scale, preset=self.preset)
        out = self.out or Path(OUT[self.scale, self.preset])
        shown = [self._reproduce(recipe, setting, out, console) for recipe in recipes]
        render(recipes, out, console)
        return shown

    def _reproduce(self, recipe: Recipe, setting: Setting, out: Path, console: Console) -> dict[str, Any]:
        from lengthwise.records.view import RunView
        from lengthwise.report.run_tables import row_json, row_table

        small = " (in small)" if setting.laptop else ""
        console.print(f"[bold]{recipe.name}[/]: {escape(recipe.purpose)}{small}", soft_wrap=True)
        seeds = recipe.usual_seeds(setting) if self.seeds is None else self.seeds
        asked = {"scale": setting.scale, "preset": setting.preset, "seeds": seeds}
        runs = recipe.runs(setting, seeds, self.only)
        where = {"device": self.device, "scale_out": self.scale_out, "console": self.news()}
        folders = reproduce(recipe.name, runs, out, asked=asked, **where)
        views = [RunView(folder) for folder in folders]
        console.print(row_table(views))
        return {"recipe": recipe.name, "rows": [row_json(view) for view in views]}


def reproduce(
    name: str,
    runs: Rows,
    out: Path,
    *,
    asked: Mapping[str, Any],
    device: str = "auto",
    scale_out: ScaleOut = IN_THIS_PROCESS,
    console: Console,
) -> list[RunFolder]:
    """Train what is not trained yet of a recipe's runs, by their names. OUT/NAME.json notes the runs, the seconds
    that training them took, and what was `asked`: scale, preset and number of seeds."""
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
    """A call that goes on with what an earlier one began, or trains other rows beside it, adds to its note."""
    there = [folder for folder in folders if (folder.path / "environment.json").exists()]
    if not there:
        return
    environment = there[0].environment()
    path = out / f"{name}.json"
    with file_lock(path):
        before = _with_spans(read_json(path)) if path.exists() else {}
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


def _with_spans(note: dict[str, Any]) -> dict[str, Any]:
    """A note of an earlier version tells seconds alone, and not when they were."""
    return note if "spans" in note else {**note, "earlier_seconds": note["wall_seconds"], "spans": []}


def covered(spans: Sequence[list[float]]) -> float:
    """How long any of them lasted: calls side by side count once.

    >>> covered([[0, 10], [5, 12], [20, 21]])
    13.0
    """
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return round(total, 1)


def render(recipes: Sequence[Recipe], out: Path, console: Console) -> None:
    """Show the tables of these recipes, and write all tables and figures; not where a library is missing."""
    try:
        from lengthwise.report.results import tables_of, write_results
    except ImportError as error:
        return console.print(
            f"No {error.name} here to draw with: the same command where it is installed draws what was trained",
            soft_wrap=True,
        )
    from lengthwise.report.collection import Collection
    from lengthwise.report.tables import terminal

    collection = Collection(out)
    for table in (table for recipe in recipes for table in tables_of(recipe, collection).values()):
        for part in terminal(table, console.width):
            console.print(part)
    written = write_results(out)
    return console.print(f"Tables, figures and summary.json in {out}: {len(written)} files", soft_wrap=True)


def listed(as_json: bool) -> str:
    if as_json:
        return json.dumps({name: recipe.purpose for name, recipe in RECIPES.items()}, indent=2)
    width = max(map(len, RECIPES))
    return "\n".join(f"{name:<{width}}  {recipe.purpose}" for name, recipe in RECIPES.items())
