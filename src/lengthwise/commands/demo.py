"""lengthwise demo: the paper's Table 1 in miniature, predicted, trained and judged on this machine."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from lengthwise.records.verdicts import GATE, TOLERANCE, Verdict
from lengthwise.report.run_tables import STYLES, row_verdict, verdict_json
from lengthwise.report.tables import EXACT, MARKS, new_table, percent

if TYPE_CHECKING:
    from lengthwise.runs.config import RunConfig

INTRODUCTION = """\
Will a transformer that learned arithmetic on numbers of 1 and 2 digits get 3 digits right? It depends on the task
and on how positions are encoded, and theory says beforehand what it will do. Eight small models learn it now:
addition, and addition modulo 36 and 35, in base 6 (36 divides a power of the base, 35 does not), and
multiplication in base 4, with absolute positions (learned) and with relative ones (coupled). On two idle cores it
takes about two and a half minutes."""

CONCLUSION = f"""\
A cell is what was measured, and in brackets what theory predicted, in % of right answers; – is no prediction.
Upwards (the last length): absolute positions compute on the last two digits alone, so they fail unless the
modulus makes the rest irrelevant. The last column is the paper's mark: ✓ generalizes to longer numbers, ✗ does
not. A row holds if the model computes the predicted function on every length, on {100 * (1 - TOLERANCE):g} % of
problems or more; it is undecided where the count leaves that open, or where the model has not learned its own
training domain to {100 * GATE:g} %. With relative positions theory predicts addition and the dividing modulus
alone, and small models follow it less closely; the rest shows what came out.

Next: lengthwise predict add%151 --train D4 --test B1..9      what a real model will do, in a second
      lengthwise ask {{example}} "333 + 1"
      lengthwise train add --train D4 --test D1..9 --size mini    the paper's own model (a GPU helps)
      docs/theory.md says why."""

FAMILIES = {"learned": "absolute", "coupled": "relative"}


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Train eight small models on this machine and see which predictions hold. Takes about three minutes."""

    out: Path = Path("runs/demo")
    """Folder that holds the run folders. Finished runs in it are not trained again."""
    json: bool = False
    """Print the rows as JSON."""

    def run(self) -> None:
        from lengthwise.recipes.presets import demo_configs
        from lengthwise.records.view import RunView
        from lengthwise.report.page import Report
        from lengthwise.runs.launch import train

        console = Console(highlight=False, stderr=self.json)
        console.print(INTRODUCTION, soft_wrap=True)
        configs, start = demo_configs(), time.perf_counter()
        folders = train(configs, self.out, device="cpu", console=console)
        seconds = time.perf_counter() - start
        rows = [(config, RunView(folder).verdicts()) for config, folder in zip(configs, folders, strict=True)]
        if self.json:
            return print(json.dumps([row_json(config, verdicts) for config, verdicts in rows], indent=2))
        console.print(demo_table(rows))
        console.print(CONCLUSION.format(example=folders[0].path), soft_wrap=True)
        page = self.out / "report.html"
        Report.of([folder.path for folder in folders]).write(page)
        console.print(f"{seconds:.0f} s; run folders in {self.out}", soft_wrap=True)
        return console.print(f"To look at all of it, open {page} in a browser", soft_wrap=True)


def demo_table(rows: "Sequence[tuple[RunConfig, list[Verdict]]]") -> Table:
    lengths = [str(verdict.prediction.domain)[1:] for verdict in rows[0][1]]
    columns = [f"{n} digit{'s' if n != '1' else ''}" for n in lengths]
    table = new_table(
        "positions", "task", *columns, "verdict", "theory", title="Table 1 of the paper, in miniature"
    )
    for config, verdicts in rows:
        word = row_verdict(verdicts)
        table.add_row(
            FAMILIES[config.encoding],
            config.task,
            *(f"{percent(v.accuracy.share)} ({percent(v.expected, EXACT)})" for v in verdicts),
            f"[{STYLES[word]}]{word}[/]" if word else "–",
            MARKS[verdicts[-1].prediction.generalizes],
        )
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
