"""lengthwise ask: put a problem to a trained model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console, Group, RenderableType
from rich.table import Column, Table

from lengthwise.arithmetic import in_base
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
        task, base = run.config.spec.task, run.config.base
        pair = read_problem(" ".join(self.problem), task)
        with progress_shown("asking the model") as watch:
            watch(0, 1)
            answer = run.ask(*pair)
        if self.json:
            return print(json.dumps(answer_json(answer, base), indent=2))
        console = Console(highlight=False)
        console.print(answers_shown([answer], base, task.symbol))
        if note := unlike_training(run.config.spec.train, answer.a, answer.b):
            console.print(f"[dim]{note}[/dim]")
        return None


def answers_shown(answers: "list[Answer]", base: int, symbol: str) -> RenderableType:
    """A row of a table for each, or, where numbers are long, a line for each number in full."""
    if any(answer.truth >= base**LONG for answer in answers):
        return Group(*(_line_by_line(answer, base, symbol) for answer in answers))
    table = new_table(*HEADER)
    for answer in answers:
        table.add_row(*_cells(answer, base, symbol))
    return table


def _line_by_line(answer: "Answer", base: int, symbol: str) -> Table:
    lines = Table.grid("", Column(overflow="fold"), padding=(0, 2, 1, 0))
    for name, text in zip(HEADER, _cells(answer, base, symbol), strict=True):
        lines.add_row(f"[dim]{name}[/dim]", text)
    return lines


def _cells(answer: "Answer", base: int, symbol: str) -> list[str]:
    """Digits that differ from the truth are marked."""
    truth = in_base(answer.truth, base)
    return [
        f"{in_base(answer.a, base)} {symbol} {in_base(answer.b, base)}",
        marked(shown(answer, base), truth),
        truth,
        "–" if answer.predicted is None else marked(in_base(answer.predicted, base), truth),
        str(answer.hypothesis or "no prediction"),
    ]


def shown(answer: "Answer", base: int) -> str:
    return in_base(answer.answered, base) if isinstance(answer.answered, int) else "malformed"


def marked(text: str, truth: str) -> str:
    """Red where a digit differs from the one of equal place in the truth."""
    width = max(len(text), len(truth))
    pairs = zip(text.rjust(width), truth.rjust(width), strict=True)
    return "".join(x if x == y else f"[red]{x}[/red]" for x, y in pairs).lstrip()


def answer_json(answer: "Answer", base: int) -> dict[str, object]:
    """Numbers are text in the model's base; `answered` is null where the model wrote no number."""
    number = isinstance(answer.answered, int)
    return {
        "a": in_base(answer.a, base),
        "b": in_base(answer.b, base),
        "answered": shown(answer, base) if number else None,
        "truth": in_base(answer.truth, base),
        "hypothesis": None if answer.hypothesis is None else str(answer.hypothesis),
        "predicted": None if answer.predicted is None else in_base(answer.predicted, base),
        "right": answer.answered == answer.truth,
    }
