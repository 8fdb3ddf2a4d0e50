"""The report on runs: one self-contained HTML page, made from run folders."""

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache, cached_property
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from lengthwise import __version__
from lengthwise.arithmetic import Domain
from lengthwise.errors import InputError
from lengthwise.records.evidence import evidence_of
from lengthwise.records.files import printable, write_output
from lengthwise.records.folder import RunSource, is_packed, runs_below
from lengthwise.records.spec import RunSpec
from lengthwise.records.verdicts import FAILS, GATE, HOLDS, TOLERANCE, UNDECIDED, Verdict
from lengthwise.records.view import RunView
from lengthwise.report import group_by, words
from lengthwise.report.page.plots import Plot, length_plots, setting_plots
from lengthwise.report.queries import Point
from lengthwise.report.run_tables import QUANTITIES, told_apart, verdict_cells
from lengthwise.report.tables import EXACT, percent
from lengthwise.theory.predict import Prediction

RUN_PLACES = "a run folder, packed results such as results/addition.json, or a folder that contains them"
UNFINISHED = ("running", "stopped", "interrupted", "failed")

NO_PREDICTION = "no prediction"
COUNTED = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NO_PREDICTION: "without prediction"}
"""Verdicts as words after a number: 18 hold."""
SEEDS_DIFFER = "seeds differ"


# What a report shows -------------------------------------------------------------------------------------------


class ShownRun(NamedTuple):
    view: RunView
    label: str
    step: int
    """The step of the last complete evaluation, which is shown."""
    verdicts: list[Verdict]
    standing: str
    """Why its numbers are not final; empty for a finished run."""
    environment: Any


def _runs(path: Path) -> list[RunSource]:
    try:
        if not path.exists() and not is_packed(path.parent):
            raise InputError(f"no folder {path} (name {RUN_PLACES})")
        found = runs_below(path.resolve())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if not found:
        raise InputError(f"no run in {path} (a run folder has config.json and records.jsonl)")
    return found


def _shown(view: RunView, label: str) -> ShownRun:
    _ = view.spec
    if not view.records:
        raise InputError("it has no records yet")
    step, verdicts = view.last_whole()
    status, standing = view.source.state(), ""
    if status in UNFINISHED or step < view.last_step:
        why = status if status in UNFINISHED else "last evaluation incomplete"
        standing = f"{why}, shown as of step {step:,}"
    return ShownRun(view, label, step, verdicts, standing, view.source.environment())


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with as many parent folders as needed to make them unique.

    >>> _labels([Path("/x/a/s1"), Path("/x/b/s1"), Path("/x/b/s2")])
    ['a/s1', 'b/s1', 'b/s2']
    """
    depth = 1
    while len({folder.parts[-depth:] for folder in folders}) < len(folders):
        depth += 1
    return [printable("/".join(folder.parts[-depth:])) for folder in folders]


@dataclass(frozen=True)
class SettingRuns:
    """Runs that were trained alike, but for the seed."""

    runs: tuple[ShownRun, ...]
    name: str
    """What sets it apart from the question's other settings; empty where it is the only one."""

    @property
    def label(self) -> str:
        seeds = sorted({run.view.seed for run in self.runs})
        again = f", {len(self.runs)} runs" if len(self.runs) > len(seeds) else ""
        named = f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}{again}"
        return f"{self.name} ({named})" if self.name else named


@dataclass(frozen=True)
class Question:
    """Runs of one task, training domain, encoding and layout."""

    number: int
    settings: tuple[SettingRuns, ...]

    @property
    def runs(self) -> list[ShownRun]:
        return [run for setting in self.settings for run in setting.runs]

    @property
    def spec(self) -> RunSpec:
        return self.runs[0].view.spec

    @cached_property
    def predictions(self) -> dict[Domain, Prediction]:
        """Of every test domain that any of the runs has, the most tested list first."""
        specs = sorted((run.view.spec for run in self.runs), key=lambda spec: -len(spec.tests))
        return {row.domain: row for spec in specs for row in spec.predictions()}

    @property
    def domains(self) -> list[Domain]:
        return list(self.predictions)

    @property
    def predicted(self) -> bool:
        """Whether there is a prediction for any domain."""
        return any(row.hypothesis is not None for row in self.predictions.values())

    @property
    def trained(self) -> list[int]:
        """The places of domains that are trained lengths."""
        return [k for k, domain in enumerate(self.predictions) if self.spec.case(domain).in_distribution]


def _json_text(content: object) -> Markup:
    """JSON as the text of an element, where quotes need no escape: they would be a quarter of it.

    >>> print(_json_text(["<b>", "&"]))
    [
      "&lt;b&gt;",
      "&amp;"
    ]
    """
    return Markup(escape(json.dumps(content, indent=2), quote=False))


def verdict_counts(runs: Iterable[ShownRun]) -> dict[str, int]:
    words = [row.word or NO_PREDICTION for run in runs for row in run.verdicts]
    return {word: words.count(word) for word in COUNTED}


def _order(run: ShownRun) -> tuple[Any, ...]:
    """A key that sorts by question, seed and name."""
    spec, task = run.view.spec, run.view.spec.task
    asked = (task.operation, task.modulus or 0, task.base, spec.train.length, str(spec.train))
    return (*asked, spec.encoding, spec.layout, spec.seed, run.label)


def _settings(runs: Sequence[ShownRun]) -> tuple[SettingRuns, ...]:
    names = told_apart({run.label: run.view.config for run in runs})
    groups = group_by(runs, lambda run: names[run.label])
    return tuple(SettingRuns(tuple(group), name) for name, group in groups.items())


def _setup(run: ShownRun) -> str:
    """Equal for runs whose configs differ only outside of sections, in the task, the seed and the like."""
    shared = {name: value if isinstance(value, dict) else None for name, value in run.view.config.items()}
    return json.dumps([shared, run.environment])


def _differing(runs: Sequence[ShownRun]) -> list[str]:
    """The names of values in which their configs differ."""
    first, *others = (run.view.config for run in runs)
    return [name for name in first if any(other[name] != first[name] for other in others)]


# The page ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    runs: list[ShownRun]
    left_out: dict[str, str]
    """Why other runs at the same places cannot be shown."""
    written: date = field(default_factory=lambda: datetime.now(UTC).date())

    @classmethod
    def of(cls, paths: Sequence[Path | str]) -> "Report":
        """A report on these run folders, or on those inside these folders."""
        if not paths:
            raise InputError(f"no run given (name {RUN_PLACES})")
        found = {run.path: run for path in paths for run in _runs(Path(path))}
        places = sorted(found)
        shown: list[ShownRun] = []
        left_out: dict[str, str] = {}
        for place, name in zip(places, _labels(places), strict=True):
            try:
                shown.append(_shown(RunView(found[place]), name))
            except (InputError, OSError) as error:
                # The page may be sent to others, so it must not contain paths of this machine.
                left_out[name] = str(error).replace(f"{place}/", "")
        if not shown:
            why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            raise InputError(f"nothing to report: {why}")
        return cls(shown, left_out)

    @cached_property
    def questions(self) -> list[Question]:
        groups = group_by(sorted(self.runs, key=_order), lambda run: _order(run)[:-2])
        return [Question(number, _settings(group)) for number, group in enumerate(groups.values(), start=1)]

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
        environment.filters["json"] = _json_text
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
            setups=group_by(self.runs, _setup).values(),
            differing=_differing,
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
        "counts": verdict_counts(runs),
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


@cache
def packed_plotly() -> str:
    """plotly.js, compressed to a third."""
    return packed(get_plotlyjs())


def packed(text: str) -> str:
    """Compressed text, which the page unpacks when it first draws."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


# The verdicts at the top: tables of settings by test domain, with all seeds of a setting in one row ------------


class Cell(NamedTuple):
    """The verdict on one test domain, and percentages over seeds."""

    word: str
    predicted: str
    accuracy: str
    agreement: str | None


class VerdictRow(NamedTuple):
    question: Question
    setting: SettingRuns
    """A setting of the question, with only the runs of this row."""
    cells: list[Cell]


def verdict_tables(asked: Sequence[Question]) -> dict[tuple[str, tuple[Domain, ...]], list[VerdictRow]]:
    """A table for each family of tasks and list of test domains."""
    tables: dict[tuple[str, tuple[Domain, ...]], list[VerdictRow]] = {}
    for question in asked:
        for setting in question.settings:
            # Runs tested on the same domains share a row; an unfinished run has its own.
            comparable = group_by(setting.runs, lambda run: (run.view.tests, run.label if run.standing else ""))
            for (domains, _), runs in comparable.items():
                cells = [verdict_cell(rows) for rows in zip(*(run.verdicts for run in runs), strict=True)]
                row = VerdictRow(question, SettingRuns(tuple(runs), setting.name), cells)
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


def verdict_cell(seeds: Sequence[Verdict]) -> Cell:
    shares = [row.accuracy.share for row in seeds]
    reach = f" ({percent(min(shares))} to {percent(max(shares))})" if min(shares) < max(shares) else ""
    found = {row.word or NO_PREDICTION for row in seeds}
    agreements = [100 * row.agreement.share for row in seeds if row.agreement is not None]
    return Cell(
        word=found.pop() if len(found) == 1 else SEEDS_DIFFER,
        predicted=percent(seeds[0].expected, EXACT),
        accuracy=percent(fmean(shares)) + reach,
        agreement=Point.of(agreements).text if agreements else None,
    )
