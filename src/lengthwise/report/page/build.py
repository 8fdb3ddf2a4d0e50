"""The report of runs: one HTML page with everything in it, made from run folders alone."""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from plotly.offline import get_plotlyjs

from lengthwise.records.files import replace_file
from lengthwise.records.verdicts import GATE, HOLDS, TOLERANCE
from lengthwise.report.page.answers import answer_figures
from lengthwise.report.page.dependence import dependence_figures
from lengthwise.report.page.figure import Figure
from lengthwise.report.page.lengths import length_figures, spread
from lengthwise.report.page.questions import COUNTED, NO_PREDICTION, Question, Setting, questions, verdict_counts
from lengthwise.report.page.runs import FoundRuns, ShownRun, find_runs
from lengthwise.report.page.training import digit_figures, training_figures
from lengthwise.report.page.verdict_table import CLASSES, SIGNS, full_table, verdict_tables
from lengthwise.report.tables import percent
from lengthwise.report.words import (
    domain_words,
    grouped_predictions,
    hypothesis_words,
    joined_domains,
    position_words,
    task_words,
)
from lengthwise.theory.predict import Prediction

HERE = files("lengthwise.report.page")
OPEN_QUESTIONS = 4
"""So many questions are shown unfolded; with more, a reader chooses."""


@dataclass(frozen=True)
class Report:
    found: FoundRuns

    @classmethod
    def of(cls, paths: Sequence[Path | str]) -> "Report":
        return cls(find_runs([Path(path) for path in paths]))

    @cached_property
    def questions(self) -> list[Question]:
        return questions(self.found.runs)

    @property
    def counts(self) -> dict[str, int]:
        return verdict_counts(self.found.runs)

    @property
    def unfinished(self) -> list[ShownRun]:
        return [run for run in self.found.runs if run.standing]

    @property
    def summary(self) -> str:
        runs, unfinished = len(self.found.runs), len(self.unfinished)
        counts = [f"{count} {COUNTED[word]}" for word, count in self.counts.items() if count]
        note = f" ({unfinished} not finished)" if unfinished else ""
        return f"{runs} run{'s' * (runs > 1)}{note}, {', '.join(counts)}"

    def html(self) -> str:
        environment = Environment(
            loader=PackageLoader("lengthwise.report.page", "."),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        shelf = Shelf()
        sections = [_section(question, shelf) for question in self.questions]
        return environment.get_template("report.html").render(
            runs=self.found.runs,
            left_out=self.found.left_out,
            unfinished=self.unfinished,
            counts=self.counts,
            counted=COUNTED,
            signs=SIGNS,
            classes=CLASSES,
            tables=verdict_tables(self.questions),
            sections=sections,
            unfolded=len(sections) <= OPEN_QUESTIONS,
            tolerance=f"{100 * (1 - TOLERANCE):g}",
            gate=f"{100 * GATE:g}",
            full_table=full_table,
            setups=_setups(self.found.runs),
            settings_of=_settings_of,
            style=HERE.joinpath("style.css").read_text(),
            script=HERE.joinpath("plots.js").read_text(),
            plotly=packed_plotly(),
            figures=packed(shelf.json()),
        )

    def write(self, path: Path) -> None:
        html = self.html()
        replace_file(path, lambda aside: aside.write_text(html, encoding="utf-8"))


def report_html(paths: Sequence[Path | str]) -> str:
    """The page on these run folders, or on those inside these folders."""
    return Report.of(paths).html()


class Shelf:
    """The figures of a page, by number: the page's script draws a plot when it comes into view, and writes down
    its numbers when these are unfolded."""

    def __init__(self) -> None:
        self.plots: list[dict[str, Any]] = []

    def put(self, figures: Sequence[Figure]) -> list[tuple[int, Figure]]:
        first = len(self.plots)
        self.plots += [
            {"data": figure.data, "layout": figure.layout, "table": vars(figure.table)} for figure in figures
        ]
        return list(enumerate(figures, start=first))

    def json(self) -> str:
        return json.dumps(self.plots, separators=(",", ":"))


def _section(question: Question, shelf: Shelf) -> dict[str, Any]:
    return {
        "id": f"question-{question.number}",
        "title": f"{task_words(question.task)}, trained on {question.train}, {_positions(question)}",
        "question": question,
        "positions": position_words(question.encoding),
        "trained_on": domain_words(question.train),
        "tested_on": joined_domains(question.domains),
        "theory": [_theory(question, rows) for rows in grouped_predictions(question.predictions.values())],
        "measured": list(_measured(question)),
        "figures": shelf.put(length_figures(question)),
        "settings": [
            (setting, [shelf.put(group) for group in _setting_figures(question, setting)])
            for setting in question.settings
        ],
    }


def _positions(question: Question) -> str:
    return position_words(question.encoding) + question.positions.removeprefix(question.encoding)


def _theory(question: Question, rows: Sequence[Prediction]) -> dict[str, Any]:
    first = rows[0]
    return {
        "domains": joined_domains(row.domain for row in rows),
        "words": hypothesis_words(first.hypothesis, question.task),
        "hypothesis": first.hypothesis,
        "rule": first.rule,
    }


def _setting_figures(question: Question, setting: Setting) -> list[list[Figure]]:
    """Pairs that belong side by side, then the rest."""
    over_seeds = spread(question, setting)
    measured_beside_theory = [training_figures(question, setting), dependence_figures(setting)]
    pairs = [group for group in measured_beside_theory if len(group) > 1]
    rest = [figure for group in measured_beside_theory if len(group) == 1 for figure in group]
    rest += [*digit_figures(question, setting), *answer_figures(setting), *([over_seeds] if over_seeds else [])]
    return [*pairs, rest] if rest else pairs


def _measured(question: Question) -> Iterator[str]:
    """Sentences on what came out."""
    runs, counts = question.runs, question.counts
    judged = sum(counts.values()) - counts[NO_PREDICTION]
    if judged:
        yield f"{counts[HOLDS]} of {judged} predictions hold."
    yield f"{_between([run.trained.share for run in runs])} right on the training domain."
    unfinished = [f"{run.label} ({run.standing})" for run in runs if run.standing]
    if unfinished:
        yield f"Not finished: {'; '.join(unfinished)}."
    short = [run.label for run in runs if not run.converged]
    if short:
        yield f"Not yet surely at {100 * GATE:g} % there, so nothing is decided by: {', '.join(short)}."
    agreements = [row.agreement.share for run in runs for row in run.verdicts if row.agreement is not None]
    if agreements:
        yield f"The answer was the predicted function's on {_between(agreements)} of problems, by test domain."


def _between(shares: Sequence[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _setups(runs: Sequence[ShownRun]) -> list[list[ShownRun]]:
    """Runs whose configs differ in the seed alone, made in one environment, together: one is shown for all."""
    groups: dict[str, list[ShownRun]] = {}
    for run in runs:
        groups.setdefault(json.dumps([run.view.spec.question, run.environment]), []).append(run)
    return list(groups.values())


def _settings_of(run: ShownRun) -> list[tuple[str, str]]:
    """What a run folder says of itself, for the end of the page."""
    found = {"config.json": run.view.config, "environment.json": run.environment}
    return [(name, json.dumps(content, indent=2)) for name, content in found.items() if content is not None]


@lru_cache(maxsize=1)
def packed_plotly() -> str:
    """plotly.js, compressed to a third."""
    return packed(get_plotlyjs())


def packed(text: str) -> str:
    """Compressed; the page unpacks it when it first draws."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
