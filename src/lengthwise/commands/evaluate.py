"""lengthwise evaluate: measure a trained run."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from lengthwise.commands.ask import answer_json, answers_shown


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a trained run on test domains, or on your own problems.

    Example: lengthwise evaluate runs/add-D4-learned-s1 --test B5..9 --decode
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder."""
    test: Annotated[str | None, tyro.conf.arg(metavar="DOMAINS", help_behavior_hint="(default: the run's)")] = None
    """Test domains, a row each: D1..9, B5,B6."""
    pairs: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Measure on this file's pairs instead, two numbers a line."""
    decode: bool = False
    """Also decode every answer token by token, and split the failures."""
    dependence: bool = False
    """Also change each digit of the first operand and see which answer digits change."""
    show_errors: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Show the first N wrong answers."""
    device: str = "auto"
    """Where to run: auto, cpu, cuda."""
    json: bool = False
    """Print the records as JSON."""

    def run(self) -> None:
        from lengthwise.report.run_tables import (
            dependence_table,
            detail_table,
            failure_table,
            record_table,
            verdict_json,
            verdict_table,
        )
        from lengthwise.report.words import legend
        from lengthwise.runs.evaluate import evaluate
        from lengthwise.runs.load import load

        run = load(self.run_folder, device=self.device)
        found = evaluate(
            run,
            self.test,
            pairs=self.pairs,
            decoded=self.decode,
            dependence=self.dependence,
            show_errors=self.show_errors,
        )
        task = run.config.spec.task
        if self.json:
            content: dict[str, Any] = {
                "records": [record.model_dump() for record in found.records],
                "verdicts": [verdict_json(row) for row in found.verdicts],
                "errors": [answer_json(answer, task.base) for answer in found.errors],
            }
            if found.dependence is not None:
                content["dependence"] = found.dependence.as_json()
            return print(json.dumps(content, indent=2))
        console = Console(highlight=False)
        if found.verdicts:
            console.print(verdict_table(found.verdicts, str(self.run_folder)))
            console.print(legend("verdicts"))
        else:
            console.print(record_table(found.records))
        console.print(detail_table(found.records))
        console.print(legend("details"))
        if self.decode:
            console.print(failure_table(found.records))
        if found.dependence is not None:
            console.print(dependence_table(found.dependence))
            console.print(legend("dependence"))
        if found.errors:
            console.print(answers_shown(found.errors, task.base, task.symbol))
        return None
