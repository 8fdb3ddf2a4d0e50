"""lengthwise demo: the paper's Table 1 in miniature, predicted, trained and judged on this machine."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from lengthwise.commands.sweep import ScaleOut
from lengthwise.errors import InputError
from lengthwise.progress import Verbosity
from lengthwise.records.verdicts import GATE, TOLERANCE, Verdict
from lengthwise.report.run_tables import row_verdict, styled, verdict_json
from lengthwise.report.tables import EXACT, MARKS, new_table, percent

if TYPE_CHECKING:
    from lengthwise.runs.config import RunConfig

FAMILIES = {"learned": "absolute", "coupled": "relative"}


@dataclass(frozen=True, kw_only=True)
class Demo(Verbosity):
    """Train eight small models on this machine and see which predictions hold, in a minute and a half."""

    out: Path = Path("runs/demo")
    """Folder that holds the run folders. Finished runs in it are not trained again."""
    json: bool = False
    """Print the rows as JSON."""

    def run(self) -> None:
        from lengthwise.recipes import catalogue
        from lengthwise.recipes.relative import demo_configs
        from lengthwise.records.view import RunView
        from lengthwise.report.page import Report

        console = self.results(as_json=self.json)
        configs, words, start = demo_configs(), catalogue()["demo"], time.perf_counter()
        console.print(words["introduction"], soft_wrap=True)
        # A core for each stack takes less time than all cores for one stack after the other.
        processes, runs = ScaleOut(on="local"), {config.name: config for config in configs}
        folders, failed = processes.train(runs, self.out, self.out / "logs", device="cpu", console=self.news())
        if failed:
            first, reason = next(iter(failed.items()))
            raise InputError(f"{len(failed)} of {len(runs)} runs failed; {Path(first).name}: {reason}")
        seconds = time.perf_counter() - start
        rows = [(config, RunView(folder).verdicts()) for config, folder in zip(configs, folders, strict=True)]
        if self.json:
            return print(json.dumps([row_json(config, verdicts) for config, verdicts in rows], indent=2))
        console.print(demo_table(rows))
        bounds = {"gate": 100 * GATE, "tolerated": 100 * (1 - TOLERANCE)}
        console.print(words["conclusion"].format(example=folders[0].path, **bounds), soft_wrap=True)
        page = self.out / "report.html"
        Report.of([folder.path for folder in folders]).write(page)
        console.print(f"{seconds:.0f} s; run folders in {self.out}", soft_wrap=True)
        return console.print(f"To look at all of it, open {page} in a browser", soft_wrap=True)


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


def row_json(config: "RunConfig", verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {
        "task": config.task,
        "base": config.base,
        "train": config.train,
        "encoding": config.encoding,
        "seed": config.seed,
        "verdict": row_verdict(verdicts),
        "rows": [verdict_json(verdict) for verdict in verdicts],
    }
