"""lengthwise ask: put a problem to a trained model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console, RenderableType
from rich.table import Column, Table

from lengthwise.progress import progress_shown
from lengthwise.report.tables import new_table
from lengthwise.report.words import unlike_training

if TYPE_CHECKING:
    from lengthwise.runs.load import Answer

LONG = 20
"""Digits of an answer that no longer fits into a column of a table."""

HEADER = ("problem", "model answers", "truth", "theory predicts", "by")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Ask a trained model, and see its answer beside the truth and what theory says it computes.

    Example: lengthwise ask runs/add-D4-learned-s1 1234 + 5678
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, or a model that comes with the package: addition, coupled-addition,
    coupled-multiplication, mod-100, mod-101."""
    problem: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PROBLEM")]
    """Two numbers in the model's base with +, * or x between them: 12+5, 12 + 5, 12 x 5. A shell takes * for
    names of files, unless it is quoted."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from lengthwise.evaluation.problems import read_problem
        from lengthwise.runs.load import load

        run = load(self.run_folder, device=self.device)
        pair = read_problem(" ".join(self.problem), run.config.spec.task)
        with progress_shown("asking the model") as watch:
            watch(0, 1)
            answer = run.ask(*pair)
        if self.json:
            return print(json.dumps(answer.as_json(), indent=2))
        console = Console(highlight=False)
        console.print(answers_shown([answer]))
        if note := unlike_training(run.config.spec.train, answer.a, answer.b):
            console.print(f"[dim]{note}[/dim]")
        return None


def answers_shown(answers: "list[Answer]") -> RenderableType:
    """A row of a table for each, or, where numbers are long, a line for each number in full."""
    rows = [_cells(answer) for answer in answers]
    if all(answer.truth < answer.task.base**LONG for answer in answers):
        return new_table(*HEADER, rows=rows)
    lines = Table.grid("", Column(overflow="fold"), padding=(0, 2, 1, 0))
    for name, text in (cell for row in rows for cell in zip(HEADER, row, strict=True)):
        lines.add_row(f"[dim]{name}[/dim]", text)
    return lines


def _cells(answer: "Answer") -> list[str]:
    """Digits that differ from the truth are marked."""
    found = answer.as_json()
    return [
        f"{found['a']} {answer.task.symbol} {found['b']}",
        marked(found["answered"] or "malformed", found["truth"]),
        found["truth"],
        "–" if found["predicted"] is None else marked(found["predicted"], found["truth"]),
        found["hypothesis"] or "no prediction",
    ]


def marked(text: str, truth: str) -> str:
    """Red where a digit differs from the one of equal place in the truth."""
    width = max(len(text), len(truth))
    pairs = zip(text.rjust(width), truth.rjust(width), strict=True)
    return "".join(x if x == y else f"[red]{x}[/red]" for x, y in pairs).lstrip()
