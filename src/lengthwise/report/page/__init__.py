"""The report on runs: one self-contained HTML page, made from run folders."""

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from lengthwise import __version__
from lengthwise.arithmetic import Domain
from lengthwise.records.evidence import evidence_of
from lengthwise.records.files import write_output
from lengthwise.records.spec import RunSpec
from lengthwise.records.verdicts import GATE, TOLERANCE, Verdict
from lengthwise.report import words
from lengthwise.report.collection import (
    COUNTED,
    NO_PREDICTION,
    Question,
    Setting,
    ShownRun,
    find_runs,
    group_by,
    questions,
    verdict_counts,
)
from lengthwise.report.page.plots import Plot, length_plots, setting_plots
from lengthwise.report.queries import Point
from lengthwise.report.run_tables import QUANTITIES, verdict_cells
from lengthwise.report.tables import EXACT, percent

SEEDS_DIFFER = "seeds differ"


@dataclass(frozen=True)
class Report:
    runs: list[ShownRun]
    left_out: dict[str, str]
    written: date = field(default_factory=lambda: datetime.now(UTC).date())

    @classmethod
    def of(cls, paths: Sequence[Path | str]) -> "Report":
        """A report on these run folders, or on those inside these folders."""
        return cls(*find_runs([Path(path) for path in paths]))

    @cached_property
    def questions(self) -> list[Question]:
        return questions(self.runs)

    @property
    def counts(self) -> dict[str, int]:
        return verdict_counts(self.runs)

    @property
    def unfinished(self) -> list[ShownRun]:
        return [run for run in self.runs if run.standing]

    @property
    def summary(self) -> str:
        runs, unfinished = len(self.runs), len(self.unfinished)
        counts = [f"{count} {COUNTED[word]}" for word, count in self.counts.items() if count]
        note = f" ({unfinished} not finished)" if unfinished else ""
        return f"{runs} run{'s' * (runs > 1)}{note}, {', '.join(counts)}"

    def html(self) -> str:
        loader = PackageLoader("lengthwise.report.page", ".")
        environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters["json"] = partial(json.dumps, indent=2)
        # The page's script draws a plot when it comes into view, and its table of numbers when it is opened.
        plots: list[Plot] = []
        tables = verdict_tables(self.questions)
        html = environment.get_template("report.html").render(
            report=self,
            version=__version__,
            words=words,
            counted=COUNTED,
            tables=tables,
            filters=row_filters([row for rows in tables.values() for row in rows]),
            sections=[_section(question, plots) for question in self.questions],
            tolerance=f"{100 * (1 - TOLERANCE):g}",
            gate=f"{100 * GATE:g}",
            verdict_cells=verdict_cells,
            quantities=[*QUANTITIES],
            setups=group_by(self.runs, lambda run: json.dumps([run.view.spec.question, run.environment])).values(),
            plotly=packed_plotly(),
            plots=packed(json.dumps([plot.as_json() for plot in plots], separators=(",", ":"))),
        )
        # JSON may contain lone surrogates, which UTF-8 cannot.
        return html.encode(errors="backslashreplace").decode()

    def write(self, path: Path) -> None:
        write_output(path, self.html().encode())


def report_html(paths: Sequence[Path | str]) -> str:
    return Report.of(paths).html()


def _section(question: Question, plots: list[Plot]) -> dict[str, Any]:
    def numbered(group: Sequence[Plot]) -> list[tuple[int, Plot]]:
        plots.extend(group)
        return list(enumerate(group, start=len(plots) - len(group)))

    runs = question.runs
    trained = [run.view.history("exact", run.view.train)[run.step] for run in runs]
    return {
        "question": question,
        "theory": group_by(question.predictions.values(), lambda row: (row.hypothesis, row.rule)).values(),
        "right": _between([(record.correct or 0) / record.total for record in trained]),
        "agreeing": _between([row.agreement.share for run in runs for row in run.verdicts if row.agreement]),
        "evidence": _evidence(question.spec),
        "undecided": [run.label for run in runs if not run.view.converged_at(run.step)],
        "plots": numbered(length_plots(question)),
        "settings": [
            (setting, [numbered(group) for group in setting_plots(question, setting)])
            for setting in question.settings
        ],
    }


def _evidence(spec: RunSpec) -> str | None:
    """The evidence of our own models on longer operands; only models with standard attention count."""
    hypothesis = spec.predicted_hypothesis(spec.beyond().test)
    if hypothesis is None or spec.positions != spec.encoding:
        return None
    return words.evidence_words(evidence_of(spec.beyond(), hypothesis))


def _between(shares: Sequence[float]) -> str:
    if not shares:
        return ""
    low, high = percent(min(shares)), percent(max(shares))
    return f"{low} %" if low == high else f"{low} to {high} %"


@lru_cache(maxsize=1)
def packed_plotly() -> str:
    """plotly.js, compressed to a third."""
    return packed(get_plotlyjs())


def packed(text: str) -> str:
    """Compressed text, which the page unpacks when it first draws."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


# The verdicts at the top: tables of settings by test domain, with all seeds of a setting in one row ------------


class Cell(NamedTuple):
    word: str
    predicted: str
    measured: str
    reach: str | None
    """The range over seeds, if they differ."""
    agreement: str | None


class VerdictRow(NamedTuple):
    question: Question
    setting: Setting
    """A setting of the question, with only the runs of this row."""
    cells: list[Cell]


def verdict_tables(asked: Sequence[Question]) -> dict[tuple[str, tuple[Domain, ...]], list[VerdictRow]]:
    """A table for each family of tasks and list of test domains."""
    tables: dict[tuple[str, tuple[Domain, ...]], list[VerdictRow]] = {}
    for question in asked:
        for setting in question.settings:
            # Runs tested on the same domains share a row; an unfinished run has its own.
            comparable = group_by(setting.runs, lambda run: (_domains(run), run.label if run.standing else ""))
            for (domains, _), runs in comparable.items():
                cells = [verdict_cell(rows) for rows in zip(*(run.verdicts for run in runs), strict=True)]
                row = VerdictRow(question, Setting(tuple(runs), setting.name), cells)
                tables.setdefault((words.task_words(question.spec.task, "p"), domains), []).append(row)
    return tables


def row_filters(rows: Sequence[VerdictRow]) -> dict[str, list[str]]:
    """The filters of rows and their options, in order of appearance."""
    found = {
        "task": [str(row.question.spec.task) for row in rows],
        "encoding": [row.question.spec.encoding for row in rows],
        "verdict": [cell.word for row in rows for cell in row.cells],
    }
    return {name: list(dict.fromkeys(options)) for name, options in found.items()}


def _domains(run: ShownRun) -> tuple[Domain, ...]:
    return tuple(row.prediction.domain for row in run.verdicts)


def verdict_cell(seeds: Sequence[Verdict]) -> Cell:
    """The cell of one test domain: the mean over seeds, and the lowest and highest."""
    shares = [row.accuracy.share for row in seeds]
    found = {row.word or NO_PREDICTION for row in seeds}
    agreements = [100 * row.agreement.share for row in seeds if row.agreement is not None]
    return Cell(
        word=found.pop() if len(found) == 1 else SEEDS_DIFFER,
        predicted=percent(seeds[0].expected, EXACT),
        measured=percent(fmean(shares)),
        reach=None if min(shares) == max(shares) else f"{percent(min(shares))} to {percent(max(shares))}",
        agreement=Point.of(agreements).text if agreements else None,
    )
