"""lengthwise evaluate and ask: measure a trained run on many problems, and ask it a single one."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console, RenderableType
from rich.table import Column, Table

from lengthwise import api
from lengthwise.arithmetic import Task
from lengthwise.evaluation import TEXT_PROBLEMS, Asked
from lengthwise.progress import Verbosity, progress_shown
from lengthwise.report.tables import new_table, percent
from lengthwise.report.words import unlike_training

if TYPE_CHECKING:
    from lengthwise.runs.evaluate import Evaluation
    from lengthwise.runs.load import Answer

DEFAULT_PROBLEMS = f"(default: as many as after training; {TEXT_PROBLEMS:,} for text models)"
DEFAULT_SEED = "(default: the run's; 0 for text models)"


@dataclass(frozen=True, kw_only=True)
class Evaluate(Verbosity):
    """Measure a trained run, or a Hugging Face model, on test domains or on your own problems.

    Example: lengthwise evaluate runs/add-D4-learned-s1 --test B5..9 --decode
    """

    run_folder: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = None
    """A run folder, or a model that comes with the package."""
    asked: Annotated[Asked, tyro.conf.arg(name="")] = field(default_factory=Asked)
    test: Annotated[str | None, tyro.conf.arg(metavar="DOMAINS", help_behavior_hint="(default: the run's)")] = None
    """Test domains, one row each: D1..9, B5,B6."""
    pairs: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Measure on the problems in this file instead, two numbers per line."""
    problems: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_PROBLEMS)] = None
    """Number of problems per test domain; a smaller domain is tested whole."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=DEFAULT_SEED)] = None
    """Random seed for the problems and for the examples of --shots."""
    decode: bool = False
    """Also decode every answer token by token, and classify the failures."""
    dependence: bool = False
    """Also replace each digit of the first operand and see which answer digits change."""
    functions: bool = False
    """Also find the function that the answers follow: truth, truncated, windowed, leading or folded. Text models
    always get this."""
    details: bool = False
    """Also show the probability of answers, how close wrong ones are, and the accuracy of each digit."""
    show_errors: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Show the first N wrong answers."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Write the records into this run folder, for report and explore."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print the records as JSON."""

    def run(self) -> None:
        options = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("run_folder", "asked", "details", "json", "quiet", "verbose"):
            del options[name]
        with progress_shown("evaluating", self.news()) as watch:
            found = api.evaluate(self.run_folder, **options, **vars(self.asked), watch=watch)
        if self.json:
            return print(json.dumps(as_json(found), indent=2))
        title = str(self.run_folder or self.asked.hf)
        return show(found, Console(highlight=False), title=title, task=found.spec.task, details=self.details)


def as_json(found: "Evaluation") -> dict[str, Any]:
    from lengthwise.report.run_tables import verdict_json

    content: dict[str, Any] = {
        "records": [record.model_dump() for record in found.records],
        "verdicts": [verdict_json(row) for row in found.verdicts],
        "errors": [answer.as_json() for answer in found.errors],
    }
    if found.dependence is not None:
        content["dependence"] = found.dependence.as_json()
    if found.functions:
        content["functions"] = [
            {**row._asdict(), "function": row.function and str(row.function)} for row in found.functions
        ]
    return content


def show(
    found: "Evaluation", console: Console, *, title: str = "", task: Task | None = None, details: bool = False
) -> None:
    """Print the verdicts, or counts where there are none, and the tables of other options. The command gives the
    task and so prints explanations too; a Python prompt does not."""
    from lengthwise.report.run_tables import (
        dependence_table,
        detail_table,
        failure_table,
        record_table,
        show_verdicts,
        verdict_table,
    )
    from lengthwise.report.words import legend

    if found.verdicts and task is not None:
        show_verdicts(console, found.verdicts, task, title)
    else:
        console.print(verdict_table(found.verdicts) if found.verdicts else record_table(found.records))

    def tell(table: Table, explanation: str) -> None:
        console.print(table)
        if task is not None:
            console.print(explanation)

    if details:
        tell(detail_table(found.records), legend("details"))
    if any(record.metric == "malformed" for record in found.records):
        console.print(failure_table(found.records))
    if found.dependence is not None:
        tell(dependence_table(found.dependence), legend("dependence"))
    if task is not None and found.errors:
        console.print(answers_shown(found.errors))
    for answer in found.errors if task is None else ():
        console.print(str(answer), markup=False, soft_wrap=True)
    if found.functions:
        table = new_table("problems", "number", "malformed", "accuracy %", "closest function", "agreement %")
        for row in found.functions:
            shares = percent(row.right / row.total), str(row.function or "–"), percent(row.agrees / row.total)
            table.add_row(row.where, str(row.total), str(row.malformed), *shares)
        tell(table, legend("functions"))


# --- one problem --------------------------------------------------------------------------------------------


LONG = 20
"""Digits from which on an answer does not fit into a column of a table."""

HEADER = ("problem", "model answers", "truth", "theory predicts", "by")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Ask a trained model a problem, and compare its answer with the truth and with the prediction.

    Example: lengthwise ask runs/add-D4-learned-s1 1234 + 5678
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, or a model that comes with the package: addition, coupled-addition,
    coupled-multiplication, mod-100, mod-101."""
    problem: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PROBLEM")]
    """Two numbers in the model's base with +, * or x between them: 12+5, 12 + 5, 12 x 5. Quote *, which a shell
    would expand to file names."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from lengthwise.runs.load import load

        run = load(self.run_folder, device=self.device)
        with progress_shown("asking the model", at_once=True):
            answer = run.ask(" ".join(self.problem))
        if self.json:
            return print(json.dumps(answer.as_json(), indent=2))
        console = Console(highlight=False)
        console.print(answers_shown([answer]))
        if note := unlike_training(run.config.spec.train, answer.a, answer.b):
            console.print(f"[dim]{note}[/dim]")
        return None


def answers_shown(answers: "list[Answer]") -> RenderableType:
    """A table with a row per answer, or, where numbers are long, a line per number. Digits that differ from the
    truth are marked."""
    rows: list[list[str]] = []
    for answer in answers:
        found = answer.as_json()
        rows.append(
            [
                f"{found['a']} {answer.task.symbol} {found['b']}",
                marked(found["answered"] or "malformed", found["truth"]),
                found["truth"],
                "–" if found["predicted"] is None else marked(found["predicted"], found["truth"]),
                found["hypothesis"] or "no prediction",
            ]
        )
    if all(answer.truth < answer.task.base**LONG for answer in answers):
        return new_table(*HEADER, rows=rows)
    lines = Table.grid("", Column(overflow="fold"), padding=(0, 2, 1, 0))
    for name, text in (cell for row in rows for cell in zip(HEADER, row, strict=True)):
        lines.add_row(f"[dim]{name}[/dim]", text)
    return lines


def marked(text: str, truth: str) -> str:
    """A number with the digits in red that differ from the truth's at the same position."""
    width = max(len(text), len(truth))
    pairs = zip(text.rjust(width), truth.rjust(width), strict=True)
    return "".join(x if x == y else f"[red]{x}[/red]" for x, y in pairs).lstrip()
